//! `outbox doctor`: the database, and every destination against the real queue or topic.
//!
//! Facts are gathered here, by the store and by the publisher; what they mean is decided in the modules below, which
//! touch nothing and are tested by tables.

mod checkup;
mod database;
mod finding;
mod target;

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::{StreamExt, stream};
use outbox_lambda::{Program, aws_config, describe};
use outbox_publish::AwsPublisher;
use outbox_store::Store;
use serde::Serialize;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Output;

use finding::{Finding, Severity};

/// Destinations that are asked at once.
const CONCURRENCY: usize = 8;

#[derive(Serialize)]
struct Report {
    /// Whether there is no problem; notes do not count.
    healthy: bool,
    findings: Vec<Finding>,
}

pub(crate) async fn run(output: Output) -> Result<Exit, Failure> {
    let context = Context::quiet(Program::Relay)?;
    let mut findings = examine_database(&context, &context.store()?).await?;
    findings.extend(inspect_destinations(&context).await);

    let healthy = findings.iter().all(|finding| finding.severity != Severity::Problem);
    let report = Report { healthy, findings };
    output.show_list(&report, &report.findings, || text(&report.findings))?;
    Ok(if healthy { Exit::Ok } else { Exit::Problem })
}

/// A database that is away ends the examination; one that refuses a statement is a finding.
async fn examine_database(context: &Context, store: &Store) -> Result<Vec<Finding>, Failure> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let asked = now();
    let examination = store.examine().await.map_err(|error| context.store_failure(&error))?;
    let mut findings = database::judge_server(&examination, asked..=now());

    let facts = store.checkup().await.map_err(|error| context.store_failure(&error))?;
    findings.extend(checkup::judge(&facts, context.schema.name()));

    let version = store.check_version().await;
    let backlog = match &version {
        Ok(()) => store.backlog().await,
        Err(_) => Ok(Vec::new()),
    };
    for error in [version.as_ref().err(), backlog.as_ref().err()].into_iter().flatten() {
        if describe(&context.settings.database, error).is_transient() {
            return Err(context.store_failure(error));
        }
        findings.push(Finding::problem("outbox", error.to_string()));
    }
    if version.is_ok() {
        findings.push(database::outbox_is_there());
        let known = &context.settings.relay.destinations;
        findings.extend(database::judge_backlog(&backlog.unwrap_or_default(), known));
    }
    Ok(findings)
}

/// In the order of their names.
async fn inspect_destinations(context: &Context) -> Vec<Finding> {
    let publisher = AwsPublisher::new(&aws_config().await);
    let destinations = context.settings.relay.destinations.iter();
    let judged = destinations.map(|destination| async {
        let told = publisher.inspect(&destination.target).await;
        target::judge(destination, &told)
    });
    let judged: Vec<_> = stream::iter(judged).buffered(CONCURRENCY).collect().await;
    judged.into_iter().flatten().collect()
}

/// A line for each finding, and how many there are of each kind.
fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.subject.chars().count()).max().unwrap_or(0);
    let mut lines: Vec<String> = findings
        .iter()
        .map(|Finding { severity, subject, advice }| {
            format!("{:<8} {subject:<width$}  {advice}", severity.as_str())
        })
        .collect();
    let count = |of: Severity| findings.iter().filter(|finding| finding.severity == of).count();
    let (n_problems, n_notes) = (count(Severity::Problem), count(Severity::Note));
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    lines.push(format!(
        "{n_problems} problem{}, {n_notes} note{}",
        plural(n_problems),
        plural(n_notes)
    ));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_a_line_for_each_finding_and_the_counts() {
        let findings = [
            Finding::ok("outbox", "is there"),
            Finding::note("destination a", "is encrypted"),
            Finding::problem("destination b", "does not exist"),
        ];
        let expected = "ok       outbox         is there\n\
                        note     destination a  is encrypted\n\
                        problem  destination b  does not exist\n\
                        1 problem, 1 note";
        assert_eq!(text(&findings), expected);
    }
}
