//! A function whose wall clock is wrong: time is the database's, so nothing comes of it.

use std::path::PathBuf;
use std::time::Duration;

use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, Function, eventually};
use serde_json::json;
use tokio::process::Command;

use crate::claim::quota;
use crate::function::{MINUTE, set_up};

const TEN_MINUTES: i32 = 600;

/// A library that shifts the wall clock of a program into which it is loaded; removed when dropped. The compiler that
/// builds the tests builds it, so that nothing has to be installed for it.
struct Shift(PathBuf);

impl Shift {
    async fn build() -> Self {
        let name = format!("outbox-clock-{}.so", uuid::Uuid::new_v4().simple());
        let library = std::env::temp_dir().join(name);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/it/clock/shift.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]);
        let output = compiler.output().await.expect("Rust links with cc, so it is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(library)
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// How far the clock of a function's log lines is ahead of the database's.
async fn seconds_ahead(db: &Database, relay: &Function) -> f64 {
    let finished = async || relay.process.logged("run finished");
    let line = eventually("the run's log line", finished).await;
    let written = line["timestamp"].as_str().unwrap();
    let ahead =
        format!("SELECT extract(epoch FROM timestamptz '{written}' - clock_timestamp())::float8");
    db.value(&ahead).await
}

async fn a_run_with_its_clock_ahead_by(seconds: i32) {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let held = db.pending(2).await;
    let lease = Duration::from_mins(1);
    let quotas = [quota("orders", 2)];
    let claim = db.store().claim(&quotas, 0..=i32::MAX, lease, "another").await.unwrap();
    assert_eq!(claim.messages.len(), 2);
    db.run(&format!(
        "UPDATE outbox.message SET locked_until = now() - interval '1 second' WHERE id = {}",
        held[1]
    ))
    .await;
    let others = db.pending(3).await;
    db.run(&format!(
        "UPDATE outbox.message SET available_at = now() + interval '5 minutes' WHERE id = {}",
        others[0]
    ))
    .await;

    let shift = Shift::build().await;
    let mut command = set_up("relay", &db.url(), &endpoint);
    command.env("LD_PRELOAD", &shift.0).env("CLOCK_SHIFT_SECONDS", seconds.to_string());
    let relay = Function::start(command).await;
    // Lambda tells the deadline by the function's own clock.
    let time = MINUTE + Duration::from_secs(seconds.max(0).unsigned_abs().into());
    endpoint.answer_next([Answer::fail(["0"], "InternalError")]);
    let report = relay.invoke(&json!({}), time).await.unwrap();
    let off = seconds_ahead(&db, &relay).await - f64::from(seconds);
    assert!(off.abs() < 60.0, "its clock is not shifted, but {off} s off");

    assert_eq!((&report["claimed"], &report["dispatched"]), (&json!(3), &json!(2)), "{report}");
    assert_eq!(db.status(held[0]).await, "claimed", "a live lease is not stolen");
    assert_eq!(db.status(others[0]).await, "pending", "nothing goes early");
    assert_eq!(
        db.status(held[1]).await,
        "pending",
        "an expired lease is reclaimed; its first try failed"
    );
    let waits = format!(
        "SELECT available_at BETWEEN now() - interval '1 minute' AND now() + interval '1 minute'
                         FROM outbox.message WHERE id = {}",
        held[1]
    );
    assert!(db.value::<bool>(&waits).await, "a retry is not late, nor early");
    let marked = "SELECT bool_and(dispatched_at BETWEEN created_at AND clock_timestamp())
                  FROM outbox.message WHERE dispatched_at IS NOT NULL";
    assert!(db.value::<bool>(marked).await);

    db.everything_is_due().await;
    assert_eq!(relay.invoke(&json!({}), time).await.unwrap()["dispatched"], 2);
    assert_eq!(db.status(held[0]).await, "claimed");
}

/// Case P09.
#[tokio::test]
async fn a_clock_ten_minutes_fast_steals_no_lease_and_sends_nothing_early() {
    a_run_with_its_clock_ahead_by(TEN_MINUTES).await;
}

/// Case P09.
#[tokio::test]
async fn a_clock_ten_minutes_slow_reclaims_an_expired_lease_at_once() {
    a_run_with_its_clock_ahead_by(-TEN_MINUTES).await;
}
