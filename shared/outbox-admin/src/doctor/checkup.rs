//! What is found of settings, indexes, triggers and rights: what can harm though every statement works.

use outbox_store::Fact;

use super::finding::Finding;

/// From this age of the oldest row on, in transactions, vacuum is late. The server starts to free rows at 200 million,
/// and takes no writes from about 2,100 million on.
const VACUUM_IS_LATE: u64 = 500_000_000;
/// From this age on little time is left.
const NO_WRITES_SOON: u64 = 1_500_000_000;

/// What the facts mean. A group of facts without anything to tell has one finding that says so.
pub(super) fn judge(facts: &[Fact], schema: &str) -> Vec<Finding> {
    let mut findings: Vec<_> = facts.iter().filter_map(|fact| finding(fact, schema)).collect();
    let n_valid =
        facts.iter().filter(|fact| fact.aspect == "index" && fact.value == "valid").count();
    let n_indexes = facts.iter().filter(|fact| fact.aspect == "index").count();
    if n_indexes > 0 && n_valid == n_indexes {
        let said = format!("the {n_indexes} indexes of message are there and valid");
        findings.insert(0, Finding::ok("indexes", said));
    }
    if !findings.iter().any(|finding| finding.subject == "settings") {
        findings.push(Finding::ok("settings", "none of the server's harms an outbox"));
    }
    findings
}

fn finding(fact: &Fact, schema: &str) -> Option<Finding> {
    let Fact { aspect, name, value } = fact;
    match aspect.as_str() {
        "setting" => setting(name, value),
        "index" => index(name, value, schema),
        "trigger" if value == "disabled" => Some(Finding::problem(
            "triggers",
            format!(
                "{name} on message is disabled: `ALTER TABLE {schema}.message ENABLE TRIGGER {name}`"
            ),
        )),
        "trigger" => Some(Finding::note(
            "triggers",
            format!(
                "{name} on message is no trigger of the outbox: what it refuses, a relay can't do, \
                 and it runs for every claim and mark; if nothing needs it, `DROP TRIGGER {name} \
                 ON {schema}.message`"
            ),
        )),
        "rule" => Some(Finding::problem(
            "rules",
            format!(
                "{name} rewrites statements on message, so that the outbox's do something else: \
                 `DROP RULE {name} ON {schema}.message`"
            ),
        )),
        "row_security" => Some(Finding::problem(
            "row security",
            format!(
                "it is on for {name}, and hides rows from a relay: `ALTER TABLE {schema}.{name} \
                 DISABLE ROW LEVEL SECURITY`"
            ),
        )),
        "autovacuum" => Some(Finding::problem(
            "autovacuum",
            format!(
                "it is off for {name}, which then grows without end: `ALTER TABLE {schema}.{name} \
                 RESET (autovacuum_enabled)`"
            ),
        )),
        "too_many" => Some(Finding::note(
            "rights",
            format!(
                "this login may {name} on {value}, which no relay needs: find who granted it with \
                 `\\dp {schema}.{value}`, and revoke it"
            ),
        )),
        "tls" => Some(Finding::ok("connection", tls(name, value))),
        "login" => Some(Finding::note(
            "login",
            format!(
                "{name} has the rights of a {value}, far more than a relay needs: give programs a \
                 login of their own, `GRANT outbox_relay TO that_login`"
            ),
        )),
        "age" => age(name, value),
        _ => None,
    }
}

/// The server sees the connection that ends at it: behind a pooler that is the pooler's.
fn tls(protocol: &str, cipher: &str) -> String {
    if protocol == "none" {
        return "no TLS at the server (it is the pooler's connection, if there is one)".to_owned();
    }
    format!("{protocol} at the server, cipher {cipher}")
}

fn setting(name: &str, value: &str) -> Option<Finding> {
    let (allowed, harm) = match (name, value) {
        ("synchronous_commit", "off") => {
            ("on", "a crash of the server loses commits, and with them messages and marks")
        }
        ("autovacuum", "off") => ("on", "message grows without end, and claims get slower"),
        ("track_counts", "off") => ("on", "autovacuum does not know what to vacuum"),
        ("default_transaction_isolation", isolation) if isolation != "read committed" => {
            ("read committed", "claims at once fail with 40001 where they would pass each other by")
        }
        _ => return None,
    };
    let mend = match name {
        "autovacuum" | "track_counts" => format!("`ALTER SYSTEM SET {name} = '{allowed}'`"),
        _ => format!("`ALTER ROLE ... SET {name} = '{allowed}'`"),
    };
    let advice = format!("{name} is {value}, and has to be {allowed}: {harm}; {mend}");
    Some(Finding::problem("settings", advice))
}

fn index(name: &str, value: &str, schema: &str) -> Option<Finding> {
    let mend = match value {
        "invalid" => format!("`REINDEX INDEX CONCURRENTLY {schema}.{name}`"),
        "missing" => "make it again as the migrations in sql/migrations have it".to_owned(),
        _ => return None,
    };
    Some(Finding::problem("indexes", format!("{name} is {value}: {mend}")))
}

fn age(database: &str, value: &str) -> Option<Finding> {
    let age: u64 = value.parse().ok()?;
    let advice = format!(
        "the oldest row of {database} is {age} transactions old, and at about 2100000000 the server \
         takes no more writes: end old transactions, then `VACUUM (FREEZE)`"
    );
    match age {
        NO_WRITES_SOON.. => Some(Finding::problem("wraparound", advice)),
        VACUUM_IS_LATE.. => Some(Finding::note("wraparound", advice)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity::{self, Note, Ok, Problem};
    use super::*;

    fn judged(aspect: &str, name: &str, value: &str) -> (Severity, String) {
        let [aspect, name, value] = [aspect, name, value].map(str::to_owned);
        let finding = judge(&[Fact { aspect, name, value }], "outbox").swap_remove(0);
        (finding.severity, finding.advice)
    }

    #[test]
    fn each_fact_is_judged_with_what_mends_it() {
        for (aspect, name, value, severity, said) in [
            ("setting", "synchronous_commit", "off", Problem, "has to be on"),
            ("setting", "synchronous_commit", "local", Ok, "none"),
            ("setting", "track_counts", "off", Problem, "ALTER SYSTEM"),
            ("setting", "default_transaction_isolation", "read committed", Ok, "none"),
            ("index", "message_fresh_idx", "invalid", Problem, "REINDEX"),
            ("index", "message_fresh_idx", "missing", Problem, "migrations"),
            ("index", "message_fresh_idx", "valid", Ok, "valid"),
            ("tls", "TLSv1.3", "AES", Ok, "TLSv1.3"),
            ("login", "boss", "superuser", Note, "boss"),
            ("age", "shop", "499999999", Ok, "none"),
            ("age", "shop", "500000000", Note, "FREEZE"),
            ("age", "shop", "1500000000", Problem, "FREEZE"),
        ] {
            let (found, advice) = judged(aspect, name, value);
            assert_eq!(found, severity, "{advice}");
            assert!(advice.contains(said), "{advice}");
        }
    }
}
