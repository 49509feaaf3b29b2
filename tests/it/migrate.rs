//! Migrations: by the program, by psql alone, and by both.

use outbox_store::{Migration, Schema, migrate, migrations, pending_migrations};
use outbox_tests::Database;

#[tokio::test]
async fn migrate_applies_what_is_missing_and_then_nothing() {
    let db = Database::empty().await;
    let mut client = db.connect().await;
    let schema = Schema::default();
    let all: Vec<_> = migrations(&schema).into_iter().map(|migration| migration.name).collect();
    assert_eq!(pending_migrations(&client, &schema).await.unwrap(), all);
    assert_eq!(migrate(&mut client, &schema).await.unwrap(), all);
    assert!(pending_migrations(&client, &schema).await.unwrap().is_empty());
    assert!(migrate(&mut client, &schema).await.unwrap().is_empty());
    db.store().check_version().await.unwrap();
}

#[tokio::test]
async fn two_programs_that_migrate_at_once_make_one_outbox() {
    let db = Database::empty().await;
    let (mut one, mut two) = (db.connect().await, db.connect().await);
    let schema = Schema::default();
    let (one, two) = tokio::join!(migrate(&mut one, &schema), migrate(&mut two, &schema));
    assert_eq!(one.unwrap().len() + two.unwrap().len(), migrations(&schema).len());
}

/// The files are plain SQL: a database administrator may apply them by hand, the first ones or all.
#[tokio::test]
async fn an_outbox_that_psql_made_is_taken_over_as_it_is() {
    let files = migrations(&Schema::default());
    for n_by_hand in [1, files.len()] {
        let db = Database::empty().await;
        for Migration { name, .. } in &files[..n_by_hand] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/migrations");
            db.run(&std::fs::read_to_string(format!("{folder}/{name}.sql")).unwrap()).await;
        }
        db.pending(1).await;

        let mut client = db.connect().await;
        let applied = migrate(&mut client, &Schema::default()).await.unwrap();
        assert_eq!(applied.len(), files.len() - n_by_hand);
        assert!(migrate(&mut client, &Schema::default()).await.unwrap().is_empty());
        db.store().check_version().await.unwrap();
        assert_eq!(db.count("pending").await, 1);
    }
}

/// In a database of another encoding, one message with a character that it lacks would fail every claim or mark.
#[tokio::test]
async fn a_database_of_another_encoding_is_refused() {
    let db =
        Database::with("TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'").await;
    let error = migrate(&mut db.connect().await, &Schema::default()).await.unwrap_err();
    assert!(error.to_string().contains("SQL_ASCII"), "{error}");
}

#[tokio::test]
async fn a_failed_migration_says_what_the_server_said() {
    let db = Database::empty().await;
    db.run("CREATE SCHEMA outbox; CREATE TABLE outbox.message (id int)").await;
    let error = migrate(&mut db.connect().await, &Schema::default()).await.unwrap_err().to_string();
    assert!(error.contains("V1__outbox") && error.contains("42P07"), "{error}");
}

#[tokio::test]
async fn a_program_refuses_a_database_without_outbox_or_of_another_version() {
    let db = Database::empty().await;
    let error = db.store().check_version().await.unwrap_err();
    assert_eq!(error.code(), "schema_version");
    assert!(error.to_string().contains("outbox migrate"), "{error}");

    migrate(&mut db.connect().await, &Schema::default()).await.unwrap();
    become_version(&db, 999, 999).await;
    let error = db.store().check_version().await.unwrap_err().to_string();
    assert!(error.contains("999") && error.contains("newer program"), "{error}");
}

/// As a migration does that this program does not know.
async fn become_version(db: &Database, version: i32, serves_since: i32) {
    for (function, number) in [("schema_version", version), ("serves_since", serves_since)] {
        db.run(&format!(
            "CREATE OR REPLACE FUNCTION outbox.{function}() RETURNS integer LANGUAGE sql IMMUTABLE RETURN {number}"
        ))
        .await;
    }
}

/// The order of an upgrade: first the migration, then the functions, one after the other.
#[tokio::test]
async fn a_program_goes_on_with_a_newer_outbox_that_says_it_still_serves_it() {
    let db = Database::fresh().await;
    let this = outbox_store::SCHEMA_VERSION;
    for (serves_since, is_served) in [(this - 1, true), (this, true), (this + 1, false)] {
        become_version(&db, this + 1, serves_since).await;
        let checked = db.store().check_version().await;
        assert_eq!(checked.is_ok(), is_served, "{checked:?}");
    }
    become_version(&db, this - 1, this - 1).await;
    let error = db.store().check_version().await.unwrap_err().to_string();
    assert!(error.contains("run `outbox migrate`"), "{error}");
}
