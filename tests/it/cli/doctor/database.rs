//! What it says of the database and the login.

use std::collections::BTreeSet;

use outbox_admin::Role;
use outbox_tests::Database;
use serde_json::{Value, json};
use url::Url;

use super::{findings_as, problem, read, severities};
use crate::cli::{outbox, sentence};
use crate::pooler::PgBouncer;

/// A destination that nobody looks at here.
fn orders() -> Value {
    json!({ "orders": "arn:aws:sqs:us-east-1:000000000000:orders" })
}

/// Privilege, object and columns of each grant to the role in a fresh outbox, those of PUBLIC aside.
async fn granted(db: &Database, group: &str) -> BTreeSet<String> {
    let sql = format!(
        "SELECT coalesce(string_agg(granted.text, '; '), '') FROM (
             SELECT a.privilege_type || ' ' || c.relname AS text
             FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS a
             WHERE c.relnamespace = 'outbox'::regnamespace AND a.grantee = '{group}'::regrole
             UNION ALL
             SELECT a.privilege_type || ' ' || c.relname || '.' || t.attname
             FROM pg_class AS c JOIN pg_attribute AS t ON t.attrelid = c.oid CROSS JOIN aclexplode(t.attacl) AS a
             WHERE c.relnamespace = 'outbox'::regnamespace AND a.grantee = '{group}'::regrole
             UNION ALL
             SELECT a.privilege_type || ' ' || f.proname
             FROM pg_proc AS f CROSS JOIN aclexplode(f.proacl) AS a
             WHERE f.pronamespace = 'outbox'::regnamespace AND a.grantee = '{group}'::regrole
             UNION ALL
             SELECT a.privilege_type || ' '
             FROM pg_namespace AS n CROSS JOIN aclexplode(n.nspacl) AS a
             WHERE n.nspname = 'outbox' AND a.grantee = '{group}'::regrole
         ) AS granted (text)"
    );
    db.value::<String>(&sql).await.split("; ").map(str::to_owned).collect()
}

/// The same of what a role is said to need.
fn needed(role: Role) -> BTreeSet<String> {
    let rights = role.rights().iter().flat_map(|(privilege, object, columns)| {
        let names = columns.split(", ").map(move |column| match column {
            "" => format!("{privilege} {object}"),
            column => format!("{privilege} {object}.{column}"),
        });
        names.collect::<Vec<_>>()
    });
    rights.collect()
}

#[tokio::test]
async fn each_login_needs_what_the_migrations_grant_and_the_purge_a_part_of_the_admins() {
    let db = Database::fresh().await;
    for role in [Role::Relay, Role::Admin, Role::Producer] {
        assert_eq!(needed(role), granted(&db, role.group()).await, "{role:?}");
    }
    assert!(needed(Role::Purge).is_subset(&needed(Role::Admin)));
}

/// Each in a login of its own, with the rights of the table and no role of the outbox.
#[tokio::test]
async fn what_a_purge_is_said_to_need_is_enough_for_it_and_nothing_of_it_can_be_left_out() {
    let db = Database::fresh().await;
    db.pending(3).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '99 days'").await;
    let rights = Role::Purge.rights();
    for left_out in (0..rights.len()).map(Some).chain([None]) {
        let url = db.url_as("pg_read_all_settings").await;
        let login = Url::parse(&url).unwrap().username().to_owned();
        for (n, (privilege, object, columns)) in rights.iter().enumerate() {
            if Some(n) == left_out {
                continue;
            }
            let on = match *privilege {
                "USAGE" => "SCHEMA outbox".to_owned(),
                "EXECUTE" => format!("FUNCTION outbox.{object}"),
                _ => format!("TABLE outbox.{object}"),
            };
            let columns = if columns.is_empty() { String::new() } else { format!("({columns})") };
            db.run(&format!("GRANT {privilege} {columns} ON {on} TO {login}")).await;
        }
        let (found, code) = findings_as("purge", &url, &orders()).await;
        let purged = outbox(&url, &["purge"]).await;
        if let Some(n) = left_out {
            assert_eq!(code, Some(1), "without {:?}: {found:?}", rights[n]);
            let keeps_no_record = rights[n].1 == "record_run";
            assert_eq!(purged.code == Some(0), keeps_no_record, "without {:?}", rights[n]);
            let n_left = if keeps_no_record { 0 } else { 3 };
            assert_eq!(db.count("dispatched").await, n_left, "without {:?}", rights[n]);
            continue;
        }
        assert_eq!(code, Some(0), "{found:?}");
        assert_eq!(severities(&found, "role"), ["ok"], "{found:?}");
        assert_eq!(purged.code, Some(0), "{}", purged.output);
    }
}

#[tokio::test]
async fn a_login_is_judged_by_what_it_is_for_and_needs_no_destinations_but_as_a_relay() {
    let db = Database::fresh().await;
    db.pending(2).await;
    for (member_of, args) in [
        ("outbox_admin", &[][..]),
        ("outbox_admin", &["--as", "purge"]),
        ("outbox_producer", &[]),
        ("outbox_producer", &["--as", "producer"]),
    ] {
        let url = db.url_as(member_of).await;
        let ended = outbox(&url, &[&["doctor", "--output", "ndjson"], args].concat()).await;
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        let found = read(&ended);
        assert_eq!(severities(&found, "role"), ["ok"], "{found:?}");
        assert!(!ended.stdout.contains("destination "), "{}", ended.output);
    }
    let relay = db.url_as("outbox_relay").await;
    let ended = outbox(&relay, &["doctor"]).await;
    assert_eq!(ended.code, Some(2), "{}", ended.output);
    assert!(sentence(&ended).contains("OUTBOX_DESTINATIONS"), "{}", ended.output);
    assert_eq!(db.count("pending").await, 2);

    for role in ["purge", "admin", "producer"] {
        let (found, code) = findings_as(role, &relay, &orders()).await;
        assert_eq!(code, Some(1), "{found:?}");
        let lacks = problem(&found, "role");
        let group = if role == "producer" { "outbox_producer" } else { "outbox_admin" };
        assert!(lacks.contains(&format!("`GRANT {group} TO login_")), "{lacks}");
    }
}

/// A deed of an owner that the roles' members can't mend.
#[tokio::test]
async fn a_right_that_the_role_itself_has_lost_is_named_with_its_grant() {
    let db = Database::fresh().await;
    let url = db.url_as("outbox_admin").await;
    db.run("REVOKE DELETE ON outbox.message FROM outbox_admin").await;
    db.run("REVOKE EXECUTE ON FUNCTION outbox.record_run FROM outbox_admin").await;
    let (found, code) = findings_as("purge", &url, &orders()).await;
    assert_eq!(code, Some(1), "{found:?}");
    let grants = "`GRANT DELETE ON outbox.message TO outbox_admin; \
                  GRANT EXECUTE ON FUNCTION outbox.record_run TO outbox_admin`";
    assert!(problem(&found, "role").contains(grants), "{found:?}");
}

#[tokio::test]
async fn a_statement_that_goes_past_its_index_is_a_problem_though_nothing_is_slow_yet() {
    let db = Database::fresh().await;
    let (relay, admin) = (db.url_as("outbox_relay").await, db.url_as("outbox_admin").await);
    // Of the same name, so that no look at names finds it.
    db.run("DROP INDEX outbox.message_scheduled_idx").await;
    db.run("CREATE INDEX message_scheduled_idx ON outbox.message (claimed_by)").await;
    db.run("DROP INDEX outbox.message_dispatched_idx").await;
    db.run("CREATE INDEX message_dispatched_idx ON outbox.message (claimed_by)").await;
    let (found, code) = findings_as("relay", &relay, &orders()).await;
    assert_eq!(code, Some(1), "{found:?}");
    let said = problem(&found, "plans");
    assert!(said.starts_with("claim goes past message_scheduled_idx"), "{said}");
    assert_eq!(severities(&found, "indexes"), ["ok"], "{found:?}");

    let (found, _) = findings_as("purge", &admin, &orders()).await;
    let said = problem(&found, "plans");
    assert!(said.starts_with("purge goes past message_dispatched_idx"), "{said}");
}

/// With statistics of each kind: of a table that is empty, that has been drained, and that is full.
#[tokio::test]
async fn no_statistics_make_the_plans_a_problem() {
    let db = Database::fresh().await;
    let (relay, admin) = (db.url_as("outbox_relay").await, db.url_as("outbox_admin").await);
    for state in ["dispatched_at = now()", "dispatched_at = NULL"] {
        db.insert(10_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i END").await;
        db.run(&format!("UPDATE outbox.message SET {state}")).await;
        db.run("VACUUM ANALYZE outbox.message").await;
        for (role, url) in [("relay", &relay), ("purge", &admin), ("admin", &admin)] {
            let (found, _) = findings_as(role, url, &orders()).await;
            assert_eq!(severities(&found, "plans"), ["ok"], "{found:?}");
        }
    }
}

/// Two connections at once are what a function has.
#[tokio::test]
async fn a_login_of_one_connection_is_told_so_and_is_no_reason_to_give_up() {
    let db = Database::fresh().await;
    let url = db.url_as("outbox_admin").await;
    let login = Url::parse(&url).unwrap().username().to_owned();
    db.run(&format!("ALTER ROLE {login} CONNECTION LIMIT 1")).await;
    let (found, code) = findings_as("admin", &url, &orders()).await;
    assert_eq!(code, Some(0), "{found:?}");
    assert_eq!(severities(&found, "pooler"), ["note"], "{found:?}");
}

#[tokio::test]
async fn a_transaction_pooler_on_the_way_is_told_and_no_problem() {
    let db = Database::fresh().await;
    let url = db.url_as("outbox_admin").await;
    let pgbouncer = PgBouncer::start(&[&url]).await;
    for (url, said) in [
        (pgbouncer.url(&url), "a transaction pooler is between"),
        (url, "no transaction pooler was seen"),
    ] {
        let ended = outbox(&url, &["doctor", "--output", "ndjson"]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        assert!(ended.stdout.contains(said), "{}", ended.output);
    }
}
