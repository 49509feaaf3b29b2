//! Settings of the relay: where messages go, and how a run claims, retries and stops.

use std::time::Duration;

use outbox::{Backoff, Destinations, RunPolicy};

use crate::settings::reader::Reader;
use crate::settings::{Program, table};

/// Settings of the relay.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Where messages go. A relay's is never empty; another program's may be.
    pub destinations: Destinations,
    /// How a run claims, retries and stops.
    pub policy: RunPolicy,
    /// The kill switch: whether runs do anything at all.
    pub enabled: bool,
}

impl Relay {
    pub(super) fn read(reader: &mut Reader, program: Program) -> Self {
        Self {
            destinations: destinations(reader, program),
            policy: policy(reader),
            enabled: reader.word(&table::ENABLED) == "true",
        }
    }
}

fn destinations(reader: &mut Reader, program: Program) -> Destinations {
    let inline = reader.text(&table::DESTINATIONS).map(str::to_owned);
    let file = reader.text(&table::DESTINATIONS_FILE).map(str::to_owned);
    let (setting, text) = match (inline, file) {
        (Some(text), None) => (&table::DESTINATIONS, Ok(text)),
        (None, Some(path)) => (&table::DESTINATIONS_FILE, std::fs::read_to_string(path)),
        (Some(_), Some(_)) => {
            let problem = "is given beside OUTBOX_DESTINATIONS, and one of them must go";
            reader.refuse(&table::DESTINATIONS_FILE, problem);
            return Destinations::default();
        }
        (None, None) => {
            if program == Program::Relay {
                let problem = "is not set, nor is OUTBOX_DESTINATIONS_FILE";
                reader.refuse(&table::DESTINATIONS, problem);
            }
            return Destinations::default();
        }
    };
    match text {
        Err(problem) => reader.refuse(setting, &format!("cannot be read ({problem})")),
        Ok(text) if text.starts_with("ssm:") => {
            reader.refuse(setting, "names a parameter of SSM, which is not supported yet");
        }
        Ok(text) => match Destinations::from_json(&text) {
            Ok(destinations) => return destinations,
            Err(problem) => reader.complain(setting, &problem),
        },
    }
    Destinations::default()
}

fn policy(reader: &mut Reader) -> RunPolicy {
    let seconds = |number: u32| Duration::from_secs(number.into());
    let millis = |number: u32| Duration::from_millis(number.into());
    let policy = RunPolicy {
        batch_size: reader.whole(&table::BATCH_SIZE),
        concurrency: reader.whole(&table::CONCURRENCY) as usize,
        lease: seconds(reader.whole(&table::LEASE)),
        max_attempts: reader.whole(&table::MAX_ATTEMPTS),
        backoff: Backoff {
            base: millis(reader.whole(&table::BACKOFF_BASE)),
            max: millis(reader.whole(&table::BACKOFF_MAX)),
        },
        linger: seconds(reader.whole(&table::LINGER)),
        poll: millis(reader.whole(&table::POLL)),
        deadline_margin: millis(reader.whole(&table::DEADLINE_MARGIN)),
    };
    check_together(reader, &policy);
    policy
}

/// What no single range can say.
fn check_together(reader: &mut Reader, policy: &RunPolicy) {
    if policy.backoff.max < policy.backoff.base {
        let base = policy.backoff.base.as_millis();
        let problem = format!("is less than {}, {base}", table::BACKOFF_BASE.name);
        reader.refuse(&table::BACKOFF_MAX, &problem);
    }
    if let Some(timeout) = reader.whole_if_given(&table::FUNCTION_TIMEOUT) {
        check_timeout(reader, policy, timeout);
    }
}

/// A run ends with its function, that many seconds after it began.
fn check_timeout(reader: &mut Reader, policy: &RunPolicy, timeout: u32) {
    let (run, name) = (Duration::from_secs(timeout.into()), table::FUNCTION_TIMEOUT.name);
    // A run that outlives its leases sends again what the next relay has claimed (case L21).
    if policy.lease < run {
        let problem = format!(
            "is shorter than a run may last ({name}, {timeout}), and messages would go out twice"
        );
        let (range, example) =
            (format!("{} to 3600 seconds", timeout.max(10)), timeout.max(10).to_string());
        reader.refuse_within(&table::LEASE, &problem, &range, &example);
    }
    // Nothing is claimed within the margin, so a run that is all margin would send nothing at all.
    if policy.deadline_margin >= run {
        let problem = format!(
            "is not less than a run may last ({name}, {timeout}), and nothing would be sent"
        );
        let (range, example) =
            (format!("500 to {} milliseconds", timeout * 1_000 - 1), (timeout * 500).to_string());
        reader.refuse_within(&table::DEADLINE_MARGIN, &problem, &range, &example);
    }
}
