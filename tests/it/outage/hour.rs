//! An outage of an hour, a run each minute: what it costs, and that it kills nothing and holds back nobody else.
//!
//! The hour is simulated: after each run everything in the database is a minute older.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aws_sdk_sqs::config::{AsyncSleep, SharedAsyncSleep, Sleep};
use outbox::{Destination, Entry, Outcome, RunPolicy};
use outbox_publish::{AwsPublisher, Publish};
use outbox_relay::{Relay, RunReport};
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, destinations, eventually, queue_at};
use tokio_util::sync::CancellationToken;

/// Most attempts of one call, by the SDK.
const ATTEMPTS_OF_A_CALL: usize = 3;

/// Publishes to `orders` through a healthy endpoint and to `dead` through one that fails, and counts the calls to that.
struct Publisher {
    healthy: AwsPublisher,
    failing: AwsPublisher,
    calls: Arc<AtomicUsize>,
}

impl Publish for Publisher {
    async fn publish(&self, destination: &Destination, request: &[Entry]) -> Vec<Outcome> {
        if destination.name == "orders" {
            return self.healthy.publish(destination, request).await;
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.failing.publish(destination, request).await
    }
}

/// The SDK's pauses between attempts, which last a second or two, pass at once; its time-outs stay.
#[derive(Debug)]
struct WithoutPauses;

impl AsyncSleep for WithoutPauses {
    fn sleep(&self, duration: Duration) -> Sleep {
        let is_pause = duration < Duration::from_secs(3);
        Sleep::new(tokio::time::sleep(if is_pause { Duration::ZERO } else { duration }))
    }
}

/// Two destinations, one of which is about to fail, and the relay between.
struct Stage {
    db: Database,
    healthy: Endpoint,
    failing: Endpoint,
    relay: Relay<Publisher>,
    calls: Arc<AtomicUsize>,
}

impl Stage {
    async fn new(policy: RunPolicy) -> Self {
        let db = Database::fresh().await;
        let (healthy, failing) = (Endpoint::start(), Endpoint::start());
        let to = destinations([
            queue_at("orders", &healthy.queue_url("orders")),
            queue_at("dead", &failing.queue_url("dead")),
        ]);
        let [through_healthy, through_failing] = [&healthy, &failing].map(|endpoint| {
            let config = endpoint.sdk_config().into_builder();
            let config = config.sleep_impl(SharedAsyncSleep::new(WithoutPauses)).build();
            AwsPublisher::new(&config)
        });
        let calls = Arc::default();
        let publisher = Publisher {
            healthy: through_healthy,
            failing: through_failing,
            calls: Arc::clone(&calls),
        };
        let relay = Relay::new(db.store(), publisher, to, policy, "test".to_owned());
        db.insert(200, "'dead'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 20 END").await;
        Self { db, healthy, failing, relay, calls }
    }

    /// A run, and how many calls it made to the one that fails. Nothing is dead after it, and no attempt spent.
    async fn run(&self, deadline: Option<Instant>) -> (RunReport, usize) {
        let before = self.calls.load(Ordering::SeqCst);
        let report = self.relay.run(deadline, &CancellationToken::new()).await.unwrap();
        let spent =
            "SELECT coalesce(max(attempts), 0) FROM outbox.message WHERE dispatched_at IS NULL";
        assert_eq!((self.db.count("dead").await, self.db.value::<i32>(spent).await), (0, 0));
        (report, self.calls.load(Ordering::SeqCst) - before)
    }

    /// Messages that are not dispatched.
    async fn left(&self, destination: &str) -> i64 {
        let left =
            "SELECT count(*) FROM outbox.message WHERE dispatched_at IS NULL AND destination";
        self.db.value(&format!("{left} = '{destination}'")).await
    }

    /// Minutes of the outage, with new messages for the healthy destination in each.
    async fn minutes_pass(&self, n_minutes: u32) {
        for minute in 1..=n_minutes {
            self.db.insert(3, "'orders'", "NULL").await;
            let (_, calls) = self.run(None).await;
            assert_eq!(self.left("orders").await, 0, "in minute {minute}");
            let most = if minute == 1 { 10 } else { 10 / ATTEMPTS_OF_A_CALL };
            assert!(calls <= most, "{calls} calls in minute {minute}");
            self.db.time_passes(60).await;
        }
        assert_eq!(self.left("dead").await, 200);
    }

    /// All is well again: a few minutes later nothing is left.
    async fn recovers(&self) {
        for _ in 0..3 {
            self.run(None).await;
            self.db.time_passes(60).await;
        }
        assert_eq!((self.left("dead").await, self.left("orders").await), (0, 0));
        assert_eq!(self.failing.accepted().len(), 200);
        let n_healthy = "SELECT count(*) FROM outbox.message WHERE destination = 'orders'";
        let n_healthy: i64 = self.db.value(n_healthy).await;
        assert_eq!(self.healthy.accepted().len(), usize::try_from(n_healthy).unwrap());
    }

    async fn an_hour_of(&self, answer: Answer) {
        self.failing.answer_always(move |_| answer.clone());
        self.minutes_pass(60).await;
        self.failing.answer_always(|_| Answer::Accept);
        self.recovers().await;
    }
}

/// Case R07.
#[tokio::test]
async fn an_hour_of_an_unreachable_destination_kills_nothing_and_holds_back_nobody() {
    let stage = Stage::new(RunPolicy::default()).await;
    stage.failing.down().await;
    stage.minutes_pass(60).await;
    stage.failing.up();
    stage.recovers().await;
}

/// Case R07, with a grant that was taken away.
#[tokio::test]
async fn an_hour_without_permission_kills_nothing_and_holds_back_nobody() {
    let stage = Stage::new(RunPolicy::default()).await;
    stage.an_hour_of(Answer::error(403, "AccessDenied", "not authorised")).await;
}

/// Case R07, throttled.
#[tokio::test]
async fn an_hour_of_throttling_kills_nothing_and_holds_back_nobody() {
    let stage = Stage::new(RunPolicy::default()).await;
    stage.an_hour_of(Answer::error(403, "RequestThrottled", "too fast")).await;
}

/// Case R07, behind a load balancer that has nobody to send to.
#[tokio::test]
async fn an_hour_of_html_pages_kills_nothing_and_holds_back_nobody() {
    let stage = Stage::new(RunPolicy::default()).await;
    stage.an_hour_of(Answer::raw(500, "<html>sorry</html>")).await;
}

/// Case R07, with a destination that takes requests and never answers. What is committed while they hang is delivered by the
/// same run.
#[tokio::test]
async fn a_destination_that_never_answers_kills_nothing_and_keeps_nobody_waiting() {
    let margin = Duration::from_secs(1);
    let stage = Stage::new(RunPolicy { deadline_margin: margin, ..RunPolicy::default() }).await;
    stage.failing.answer_always(|_| Answer::Hang);
    for minute in 1..=3 {
        let n_before = stage.failing.calls();
        let run = async {
            let (_, calls) = stage.run(Some(Instant::now() + Duration::from_secs(6))).await;
            (calls, Instant::now())
        };
        let meanwhile = async {
            stage.failing.calls_reached(n_before + 1).await;
            stage.db.insert(3, "'orders'", "NULL").await;
            let delivered = async || (stage.left("orders").await == 0).then_some(Instant::now());
            eventually("what was committed meanwhile", delivered).await
        };
        let ((calls, ended_at), delivered_at) = tokio::join!(run, meanwhile);
        assert!(delivered_at + margin < ended_at, "only when the requests had ended");
        assert!(calls <= 3, "{calls} calls in minute {minute}");
        stage.db.time_passes(60).await;
    }
    assert_eq!(stage.left("dead").await, 200);
    stage.failing.answer_always(|_| Answer::Accept);
    stage.recovers().await;
}
