//! A dead message and the rest of its group: it goes on without it, or waits for a person.

use outbox::{DeadReason, Destination, Mark, NewMessage, OnDead, RunPolicy};
use outbox_publish::AwsPublisher;
use outbox_relay::Relay;
use outbox_store::{Discard, Marks, Store};
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, destinations, queue_at, relay};
use tokio_util::sync::CancellationToken;

use crate::claim::{claim_of, quota};
use crate::redrive::{redrive, with_ids};

/// A group whose first message the destination refuses, and one message of another group.
struct Scene {
    db: Database,
    endpoint: Endpoint,
    relay: Relay<AwsPublisher>,
    store: Store,
    group: Vec<i64>,
}

impl Scene {
    async fn of(on_dead: OnDead) -> Self {
        let (db, endpoint) = (Database::fresh().await, Endpoint::start());
        let orders = queue_at("orders", &endpoint.queue_url("orders"));
        let to = destinations([Destination { on_dead, ..orders }]);
        let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
        let message =
            |body: &str, group: &str| NewMessage::new("orders", "t", body).in_group(group);
        let of_group = ["g1", "g2", "g3"].map(|body| message(body, "g"));
        let group = db.enqueue(of_group).await;
        db.enqueue([message("h1", "h")]).await;
        endpoint.answer_always(|request| {
            let refused = request.entries.iter().filter(|entry| entry.body == "g1");
            Answer::fail(refused.map(|entry| entry.id.as_str()), "InvalidMessageContents")
        });
        let store = db.store();
        Self { db, endpoint, relay, store, group }
    }

    /// One run; returns what the destination has accepted so far.
    async fn run(&self) -> Vec<String> {
        self.relay.run(None, &CancellationToken::new()).await.unwrap();
        self.endpoint.bodies()
    }

    /// The head is dead and the others wait, in this run and the next, and everybody can see it.
    async fn is_held(&self) {
        for _ in 0..2 {
            assert_eq!(self.run().await, ["h1"]);
        }
        assert_eq!(self.db.status(self.group[0]).await, "dead");
        let backlog = self.store.backlog().await.unwrap();
        assert_eq!((backlog[0].held_groups, backlog[0].held, backlog[0].dead), (1, 2, 1));
        let held = "SELECT message_group FROM outbox.dead_letter WHERE holds_group";
        assert_eq!(self.db.value::<String>(held).await, "g");
    }

    /// Nothing is held any more.
    async fn is_free(&self) {
        let backlog = self.store.backlog().await.unwrap();
        assert!(backlog.iter().all(|backlog| backlog.held_groups == 0), "{backlog:?}");
    }
}

/// Case R27, the default.
#[tokio::test]
async fn a_group_goes_on_without_its_dead_message_unless_it_is_to_hold() {
    assert_eq!(OnDead::default(), OnDead::Continue);
    let scene = Scene::of(OnDead::Continue).await;
    let mut accepted = scene.run().await;
    accepted.sort_unstable();
    assert_eq!(accepted, ["g2", "g3", "h1"]);
    assert_eq!(scene.db.status(scene.group[0]).await, "dead");
    scene.is_free().await;
}

/// Case R27: the head is redriven, and goes out first.
#[tokio::test]
async fn a_held_group_goes_on_with_its_head_when_that_is_redriven() {
    let scene = Scene::of(OnDead::Hold).await;
    scene.is_held().await;
    scene.endpoint.answer_always(|_| Answer::Accept);
    scene.store.redrive(&redrive(with_ids(&scene.group[..1]))).await.unwrap();
    scene.is_free().await;
    assert_eq!(scene.run().await, ["h1", "g1", "g2", "g3"]);
}

/// A redriven head that dies again holds its group again.
#[tokio::test]
async fn a_redriven_head_that_is_refused_again_holds_its_group_again() {
    let scene = Scene::of(OnDead::Hold).await;
    scene.is_held().await;
    scene.store.redrive(&redrive(with_ids(&scene.group[..1]))).await.unwrap();
    scene.is_held().await;
}

/// Case R27: the head is discarded, and the others go on.
#[tokio::test]
async fn a_held_group_goes_on_when_its_dead_message_is_discarded() {
    let scene = Scene::of(OnDead::Hold).await;
    scene.is_held().await;
    let selection = with_ids(&scene.group[..1]);
    let discard = Discard { selection, actor: "ops".into(), reason: "void".into() };
    assert_eq!(scene.store.discard(&discard).await.unwrap().n_messages, 1);
    scene.is_free().await;
    assert_eq!(scene.run().await, ["h1", "g2", "g3"]);
}

/// Case R27: the group goes on without its dead message, which is kept.
#[tokio::test]
async fn a_held_group_goes_on_without_its_dead_message_when_it_is_resumed() {
    let scene = Scene::of(OnDead::Hold).await;
    scene.is_held().await;
    let as_admin = scene.db.store_as(&scene.db.url_as("outbox_admin").await);
    let resume = async |destination: &str, group: &str| {
        as_admin.resume_group(destination, group, "ops", "order 42 is void").await.unwrap()
    };
    assert!(!resume("orders", "h").await && !resume("events", "g").await);
    assert!(resume("orders", "g").await);
    assert!(!resume("orders", "g").await, "nothing holds it any more");
    scene.is_free().await;
    assert_eq!(scene.run().await, ["h1", "g2", "g3"]);
    assert_eq!(scene.db.status(scene.group[0]).await, "dead");
    let audit = "SELECT string_agg(format('%s %s %s %s', actor, action, selection, n_messages), ', ') FROM outbox.audit";
    let expected = r#"ops resume {"destination": "orders", "message_group": "g"} 1"#;
    assert_eq!(scene.db.value::<String>(audit).await, expected);
}

/// The answer to the mark was lost, and a person lets the group go on before the relay marks again.
#[tokio::test]
async fn a_mark_that_is_repeated_does_not_hold_a_group_again_that_was_resumed() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = db
        .enqueue(["g1", "g2"].map(|body| NewMessage::new("orders", "t", body).in_group("g")))
        .await;
    let claim = claim_of(&store, &[quota("orders", 1)]).await;
    let mut marks = Marks::default();
    let (code, detail) = ("too_large".to_owned(), "9 bytes are over the limit".to_owned());
    let dead = Mark::Dead { reason: DeadReason::Defect, code, detail, holds_group: true };
    marks.extend([(ids[0], dead)]);
    let held = "SELECT count(*) FROM outbox.dead_letter WHERE holds_group";

    assert_eq!(store.mark(claim.token, &marks).await.unwrap().dead, 1);
    assert_eq!(db.value::<i64>(held).await, 1);
    assert!(store.resume_group("orders", "g", "ops", "order 42 is void").await.unwrap());
    assert_eq!(store.mark(claim.token, &marks).await.unwrap().dead, 1, "it is still this claim's");
    assert_eq!(db.value::<i64>(held).await, 0);
}

/// A message that can never be sent is found before it is sent; its group is held as well.
#[tokio::test]
async fn a_message_with_a_defect_holds_its_group_too() {
    let scene = Scene::of(OnDead::Hold).await;
    scene.db.run("UPDATE outbox.message SET payload = '' WHERE payload = 'g1'").await;
    scene.is_held().await;
}
