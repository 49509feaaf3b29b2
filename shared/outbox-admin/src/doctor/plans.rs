//! What is found of plans: a statement of every run that goes past its indexes.

use outbox_store::Plan;

use super::finding::Finding;

/// One finding for each statement that leaves an index out, or one that says that none does.
pub(super) fn judge(plans: &[Plan], schema: &str) -> Vec<Finding> {
    let strays = plans.iter().filter(|plan| !plan.unused_indexes.is_empty());
    let mut findings: Vec<_> = strays.map(|plan| stray(plan, schema)).collect();
    if findings.is_empty() && !plans.is_empty() {
        let names: Vec<_> = plans.iter().map(|plan| plan.statement).collect();
        let said = format!("these go by the indexes made for them: {}", names.join(", "));
        findings.push(Finding::ok("plans", said));
    }
    findings
}

fn stray(Plan { statement, unused_indexes }: &Plan, schema: &str) -> Finding {
    let indexes = unused_indexes.join(", ");
    Finding::problem(
        "plans",
        format!(
            "{statement} goes past {indexes}, and gets slower with every message that is kept: \
             make each as the migrations in sql/migrations have it, or \
             `REINDEX TABLE CONCURRENTLY {schema}.message` if it is there"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    #[test]
    fn a_statement_that_goes_past_an_index_is_a_problem_that_names_both() {
        let plan = |statement, unused: &[&'static str]| Plan {
            statement,
            unused_indexes: unused.to_vec(),
        };
        let findings = judge(&[plan("claim", &["message_fresh_idx"]), plan("backlog", &[])], "o");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Problem);
        assert!(findings[0].advice.starts_with("claim goes past message_fresh_idx"));

        let findings = judge(&[plan("claim", &[]), plan("backlog", &[])], "o");
        assert_eq!(findings[0].severity, Severity::Ok);
        assert!(findings[0].advice.ends_with("for them: claim, backlog"), "{findings:?}");
        assert!(judge(&[], "o").is_empty());
    }
}
