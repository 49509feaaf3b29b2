//! `outbox doctor`: the database, and every destination against the real queue or topic.
//!
//! The library examines the database. What the publisher tells is gathered here; what it means is decided in the modules
//! below, which touch nothing and are tested by tables.

mod backlog;
mod target;

use futures_util::{StreamExt, future, stream};
use outbox_admin::{Diagnosis, Finding, Role, Severity};
use outbox_lambda::{Program, aws_config};
use outbox_publish::AwsPublisher;

use crate::args::Doctor;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, plain};

/// Destinations that are asked at once.
const CONCURRENCY: usize = 8;

pub(crate) async fn run(args: Doctor, output: Output) -> Result<Exit, Failure> {
    let (context, lacks_destinations) = context(args.role)?;
    let doctor = outbox_admin::Doctor { role: args.role };
    let examined = match (doctor.examine(&context.store()?).await, lacks_destinations) {
        (Ok(examined), _) if examined.role != Role::Relay => examined,
        (Ok(examined), None) => examined,
        (_, Some(failure)) => return Err(failure),
        (Err(error), None) => return Err(context.failure(error)),
    };
    let mut findings = examined.findings;
    if examined.role == Role::Relay {
        findings.extend(backlog::judge(&examined.backlog, &context.settings.relay.destinations));
        findings.extend(inspect_destinations(&context).await);
    }

    let report = Diagnosis::from(findings);
    output.show_list(&report, &report.findings, || text(&report.findings))?;
    Ok(if report.healthy { Exit::Ok } else { Exit::Problem })
}

/// The settings of that login. Only a relay needs destinations, and who is to be judged as what he is may turn out to be
/// one: what the settings lack is kept for then.
fn context(role: Option<Role>) -> Result<(Context, Option<Failure>), Failure> {
    match role {
        Some(Role::Relay) => Ok((Context::quiet(Program::Relay)?, None)),
        Some(_) => Ok((Context::quiet(Program::CommandLine)?, None)),
        None => match Context::quiet(Program::Relay) {
            Ok(context) => Ok((context, None)),
            Err(failure) => match Context::quiet(Program::CommandLine) {
                Ok(context) => Ok((context, Some(failure))),
                Err(_) => Err(failure),
            },
        },
    }
}

/// In the order of their names.
async fn inspect_destinations(context: &Context) -> Vec<Finding> {
    let publisher = AwsPublisher::new(&aws_config().await);
    let destinations = context.settings.relay.destinations.iter();
    let judged = destinations.map(|destination| async {
        let told = publisher.inspect(&destination.target);
        let (told, knocked) = future::join(told, publisher.knock(&destination.target)).await;
        target::judge(destination, &told, &knocked)
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
            plain(&format!("{:<8} {subject:<width$}  {advice}", severity.as_str()))
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
