//! What can be typed to measure.

use std::ops::RangeInclusive;

#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// Messages of a round, from 100 to 10000000
    #[arg(long, value_name = "N", default_value_t = 100_000, allow_negative_numbers = true,
          value_parser = |text: &str| whole(text, 100..=10_000_000, "100000"))]
    pub(crate) messages: u32,
    /// Bytes of each payload, from 1 to 262144
    #[arg(long, value_name = "N", default_value_t = 300, allow_negative_numbers = true,
          value_parser = |text: &str| whole(text, 1..=262_144, "300"))]
    pub(crate) payload_bytes: u32,
    /// Message groups, from 1 to 1000000; without groups if left out
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = |text: &str| whole(text, 1..=1_000_000, "1000"))]
    pub(crate) groups: Option<u32>,
    /// Most messages of a claim, from 1 to 10000; OUTBOX_BATCH_SIZE (500) if left out
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = |text: &str| whole(text, 1..=10_000, "500"))]
    pub(crate) batch_size: Option<u32>,
    /// Rounds, from 1 to 100; the medians are told
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true,
          value_parser = |text: &str| whole(text, 1..=100, "3"))]
    pub(crate) rounds: u32,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A number of that range; what else is given is refused with the range and an example.
fn whole(text: &str, range: RangeInclusive<u32>, example: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        format!("allowed: {} to {}, for example {example}", range.start(), range.end())
    })
}
