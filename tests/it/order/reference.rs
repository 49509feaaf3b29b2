//! Claims beside a second description of them, which is written in Rust and looks at every row.

use std::ops::RangeInclusive;
use std::time::Duration;

use fastrand::Rng;
use outbox_store::{GroupQuota, Quota, Terms, Wanted};
use outbox_tests::Database;

use crate::claim::ids;

const GROUPS: [Option<&str>; 5] = [None, None, Some("a"), Some("a\u{1}"), Some("ab")];
const DESTINATIONS: [&str; 2] = ["orders", "events"];
const N_ROWS: i64 = 40;
const N_SEEDS: u64 = 150;

/// A row in some state. Times are minutes from now.
#[derive(Debug)]
struct Row {
    id: i64,
    destination: &'static str,
    group: Option<&'static str>,
    available_at: Option<i32>,
    locked_until: Option<i32>,
    lost_claims: i32,
    is_dispatched: bool,
    is_dead: bool,
    holds_group: bool,
}

impl Row {
    fn any(id: i64, rng: &mut Rng) -> Self {
        let group = GROUPS[rng.usize(..GROUPS.len())];
        let is_dispatched = rng.u8(..4) == 0;
        let is_dead = !is_dispatched && rng.u8(..8) == 0;
        let time =
            |rng: &mut Rng, one_in: u8| (rng.u8(..one_in) == 0).then(|| rng.i32(-3..=3) * 20 + 1);
        Self {
            id,
            destination: DESTINATIONS[rng.usize(..2)],
            group,
            available_at: time(rng, 3),
            locked_until: time(rng, 4),
            lost_claims: rng.i32(..8).saturating_sub(4).max(0),
            is_dispatched,
            is_dead,
            holds_group: is_dead && group.is_some() && rng.bool(),
        }
    }

    fn values(&self) -> String {
        let minutes = |time: Option<i32>| {
            time.map_or("NULL".to_owned(), |m| format!("now() + interval '{m} minutes'"))
        };
        let now_if = |is_so: bool| if is_so { "now()" } else { "NULL" };
        format!(
            "({}, '{}', 't', 'p', {}, {}, {}, {}, {}, {}, {}, {})",
            self.id,
            self.destination,
            self.group.map_or("NULL".to_owned(), |group| format!("'{group}'")),
            minutes(self.available_at),
            minutes(self.locked_until),
            self.lost_claims,
            now_if(self.is_dispatched),
            now_if(self.is_dead),
            if self.is_dead { "'refused'" } else { "NULL" },
            self.holds_group,
        )
    }

    fn is_claimable(&self, lost_claims: &RangeInclusive<i32>) -> bool {
        let has_come = |time: Option<i32>| time.is_none_or(|minutes| minutes <= 0);
        let lost = self.lost_claims + i32::from(self.locked_until.is_some());
        !self.is_dispatched
            && !self.is_dead
            && has_come(self.available_at)
            && has_come(self.locked_until)
            && lost_claims.contains(&lost)
    }
}

/// The first unfinished ones, as far as they can be claimed.
fn of_group(rows: &[Row], quota: &GroupQuota, lost_claims: &RangeInclusive<i32>) -> Vec<i64> {
    rows.iter()
        .filter(|row| row.destination == quota.destination)
        .filter(|row| row.group == Some(quota.message_group.as_str()))
        .filter(|row| !row.is_dispatched && (!row.is_dead || row.holds_group))
        .take(quota.n_messages as usize)
        .take_while(|row| row.is_claimable(lost_claims))
        .map(|row| row.id)
        .collect()
}

/// Fresh ones by id and others by their time, in turns.
fn ungrouped(rows: &[Row], quota: &Quota, lost_claims: &RangeInclusive<i32>) -> Vec<i64> {
    let claimable = rows.iter().filter(|row| {
        row.destination == quota.destination && row.group.is_none() && row.is_claimable(lost_claims)
    });
    let (fresh, mut retrying): (Vec<&Row>, Vec<&Row>) =
        claimable.partition(|row| row.available_at.is_none());
    retrying.sort_by_key(|row| (row.available_at, row.id));
    let mut in_turns: Vec<(usize, i64)> = fresh.iter().map(|row| row.id).enumerate().collect();
    in_turns.extend(retrying.iter().map(|row| row.id).enumerate());
    in_turns.sort_unstable();
    in_turns.into_iter().map(|(_, id)| id).take(quota.n_messages as usize).collect()
}

#[tokio::test]
async fn a_claim_takes_what_a_look_at_every_row_would_take() {
    let db = Database::fresh().await;
    let store = db.store();
    for seed in 0..N_SEEDS {
        let mut rng = Rng::with_seed(seed);
        let rows: Vec<Row> = (1..=N_ROWS).map(|id| Row::any(id, &mut rng)).collect();
        let values = rows.iter().map(Row::values).collect::<Vec<_>>().join(", ");
        db.run(&format!(
            "TRUNCATE outbox.message;
             INSERT INTO outbox.message (id, destination, message_type, payload, message_group, available_at,
                 locked_until, lost_claims, dispatched_at, dead_at, dead_reason, holds_group)
             VALUES {values}"
        ))
        .await;
        let lost_claims = [0..=1, 2..=2, 0..=i32::MAX][rng.usize(..3)].clone();
        let mut wanted = Wanted::default();
        for destination in DESTINATIONS.map(str::to_owned) {
            for message_group in GROUPS.iter().flatten().map(|&group| group.to_owned()) {
                let (destination, n_messages) = (destination.clone(), rng.u32(1..6));
                wanted.groups.push(GroupQuota { destination, message_group, n_messages });
            }
            wanted.ungrouped.push(Quota { destination, n_messages: rng.u32(1..10) });
        }
        let mut expected: Vec<i64> = wanted
            .groups
            .iter()
            .flat_map(|quota| of_group(&rows, quota, &lost_claims))
            .chain(wanted.ungrouped.iter().flat_map(|quota| ungrouped(&rows, quota, &lost_claims)))
            .collect();
        expected.sort_unstable();
        let terms = Terms { lease: Duration::from_mins(1), claimed_by: "test" };
        let claim = store.claim(&wanted, lost_claims.clone(), terms).await.unwrap();
        assert_eq!(ids(&claim.messages), expected, "seed {seed}, {lost_claims:?}, {rows:#?}");
    }
}
