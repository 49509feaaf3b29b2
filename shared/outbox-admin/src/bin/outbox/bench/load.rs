//! The load of a bench: what is sent through, and what that costs the server.

use std::time::Duration;

use outbox::RunPolicy;

use crate::args;
use crate::exit::Failure;

/// A few batches are in memory side by side, so one is bounded in bytes too.
const MAX_BATCH_BYTES: u64 = 64 << 20;

/// What one statement of the server inserts: a few seconds of work on a slow one, so that a stop needs no longer.
const FILL_BYTES: u64 = 8 << 20;
const FILL_MESSAGES: u64 = 20_000;

/// Bytes beside the payload: WAL of a message from its insert to its mark, and what a row takes on disk before the table's
/// fill factor of a third, and in the indexes. Measured on Postgres 15 without full page images; of payloads over 2 KB, which
/// are stored apart, the disk takes less.
const WAL_BYTES: u64 = 1_100;
const ROW_BYTES: u64 = 250;
const INDEX_BYTES: u64 = 150;

/// What each round sends through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) messages: u32,
    pub(crate) payload_bytes: u32,
    /// 0: without groups.
    pub(crate) groups: u32,
    pub(crate) batch_size: u32,
    pub(crate) rounds: u32,
}

impl Load {
    /// The load that is asked for; each number by itself has been checked.
    pub(crate) fn new(args: &args::Bench, policy: &RunPolicy) -> Result<Self, Failure> {
        let batch_size = args.batch_size.unwrap_or(policy.batch_size);
        let batch_bytes = u64::from(batch_size) * u64::from(args.payload_bytes);
        if batch_bytes > MAX_BATCH_BYTES {
            let (payload_bytes, most) = (args.payload_bytes, MAX_BATCH_BYTES >> 20);
            return Err(Failure::usage(format!(
                "a batch of {batch_size} messages of {payload_bytes} bytes has {} MiB; allowed: up to {most} MiB, for \
                 example --payload-bytes {payload_bytes} --batch-size {}",
                batch_bytes >> 20,
                MAX_BATCH_BYTES / u64::from(payload_bytes),
            )));
        }
        let &args::Bench { messages, payload_bytes, rounds, .. } = args;
        Ok(Self { messages, payload_bytes, groups: args.groups.unwrap_or(0), batch_size, rounds })
    }

    /// The relay's settings, but for what the load decides.
    pub(crate) fn policy(&self, policy: &RunPolicy) -> RunPolicy {
        RunPolicy { batch_size: self.batch_size, linger: Duration::ZERO, ..policy.clone() }
    }

    /// How many messages are filled in by one statement.
    pub(crate) fn fill_messages(&self) -> u32 {
        let bytes = u64::from(self.payload_bytes) + ROW_BYTES;
        let messages = (FILL_BYTES / bytes).clamp(1, FILL_MESSAGES);
        u32::try_from(messages).expect("it is no more than the bound above")
    }

    /// What it asks of the server, in words.
    pub(crate) fn cost(&self) -> String {
        let (messages, payload) = (u64::from(self.messages), u64::from(self.payload_bytes));
        // Every message is inserted, claimed and marked twice a round.
        let wal = 2 * u64::from(self.rounds) * messages * (payload + WAL_BYTES);
        let disk = messages * ((payload + ROW_BYTES) * 3 + INDEX_BYTES);
        format!(
            "writes about {} of WAL and takes up to {} of disk at a time",
            size(wal),
            size(disk)
        )
    }
}

/// A size in the unit that suits it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        1_048_576..10_737_418_240 => format!("{} MiB", bytes.div_ceil(1 << 20)),
        _ => format!("{} GiB", bytes.div_ceil(1 << 30)),
    }
}

/// A payload of that many bytes that no compression makes smaller: what is stored is what was asked for.
pub(crate) fn payload(n_bytes: u32) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let random = std::iter::repeat_with(uuid::Uuid::new_v4).flat_map(uuid::Uuid::into_bytes);
    let letters = random.map(|byte| char::from(LETTERS[usize::from(byte % 64)]));
    letters.take(n_bytes as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(payload_bytes: u32, batch_size: Option<u32>) -> args::Bench {
        let (messages, groups, rounds, yes) = (1_000, None, 3, true);
        args::Bench { messages, payload_bytes, groups, batch_size, rounds, yes }
    }

    #[test]
    fn the_batch_size_is_that_of_the_settings_unless_given() {
        let policy = RunPolicy { batch_size: 77, ..RunPolicy::default() };
        assert_eq!(Load::new(&args(300, None), &policy).unwrap().batch_size, 77);
        assert_eq!(Load::new(&args(300, Some(5)), &policy).unwrap().policy(&policy).batch_size, 5);
    }

    #[test]
    fn a_batch_that_would_fill_the_memory_is_refused_with_one_that_does_not() {
        let failure = Load::new(&args(262_144, Some(500)), &RunPolicy::default()).unwrap_err();
        assert!(failure.message.contains("125 MiB; allowed: up to 64 MiB"), "{failure:?}");
        assert!(failure.message.contains("--batch-size 256"), "{failure:?}");
        assert!(Load::new(&args(262_144, Some(256)), &RunPolicy::default()).is_ok());
    }

    #[test]
    fn a_statement_inserts_no_more_than_a_few_mebibytes() {
        for (payload_bytes, n_messages) in [(1, 20_000), (300, 15_252), (262_144, 31)] {
            let load = Load::new(&args(payload_bytes, Some(1)), &RunPolicy::default()).unwrap();
            assert_eq!(load.fill_messages(), n_messages);
        }
    }

    #[test]
    fn the_cost_grows_with_messages_payload_and_rounds() {
        let load = Load::new(&args(300, None), &RunPolicy::default()).unwrap();
        assert_eq!(
            load.cost(),
            "writes about 9 MiB of WAL and takes up to 2 MiB of disk at a time"
        );
        let load = Load { messages: 1_000_000, payload_bytes: 1_000, ..load };
        assert!(load.cost().starts_with("writes about 12 GiB of WAL"), "{}", load.cost());
    }

    #[test]
    fn a_payload_has_the_bytes_asked_for_and_no_two_are_alike() {
        assert_eq!(payload(1).len(), 1);
        assert_eq!(payload(300).len(), 300);
        assert_ne!(payload(300), payload(300));
    }
}
