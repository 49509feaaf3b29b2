//! What is found of a destination: its settings against what the queue or topic says of itself.

use outbox::{Destination, Failure, FailureClass, MAX_ATTRIBUTES, Target};
use outbox_publish::Properties;

use super::finding::{Finding, Severity};

/// Compares a destination's settings with what its queue or topic told.
pub(super) fn judge(destination: &Destination, told: &Result<Properties, Failure>) -> Vec<Finding> {
    let found = match told {
        Ok(properties) => compare(destination, properties),
        Err(failure) => vec![(Severity::Problem, unanswered(&destination.target, failure))],
    };
    let subject = format!("destination {}", destination.name);
    let has_problem = found.iter().any(|(severity, _)| *severity == Severity::Problem);
    let as_it_should =
        format!("its {} is there, and takes what the settings say", kind(&destination.target));
    let is_fine = (!has_problem).then(|| Finding::ok(subject.as_str(), as_it_should));
    let found = found.into_iter().map(|(severity, advice)| match severity {
        Severity::Problem => Finding::problem(subject.as_str(), advice),
        _ => Finding::note(subject.as_str(), advice),
    });
    is_fine.into_iter().chain(found).collect()
}

fn kind(target: &Target) -> &'static str {
    match target {
        Target::Queue { .. } => "queue",
        Target::Topic { .. } => "topic",
    }
}

fn address(target: &Target) -> &str {
    match target {
        Target::Queue { url, .. } => url,
        Target::Topic { arn, .. } => arn,
    }
}

/// Why nothing was told, and what to do about it.
fn unanswered(target: &Target, failure: &Failure) -> String {
    let (kind, address, code) = (kind(target), address(target), &failure.code);
    let (ask, send) = match target {
        Target::Queue { .. } => ("sqs:GetQueueAttributes", "sqs:SendMessage"),
        Target::Topic { .. } => ("sns:GetTopicAttributes", "sns:Publish"),
    };
    match code.as_str() {
        "NonExistentQueue" | "QueueDoesNotExist" | "QueueDeletedRecently" | "NotFound" => format!(
            "the {kind} {address} does not exist: create it, or correct its target in \
             OUTBOX_DESTINATIONS"
        ),
        "AccessDenied" | "AuthorizationError" | "AccessFailure" | "NotAuthorized" => format!(
            "the {kind} {address} may not be asked ({code}): allow {ask}, and {send} to the relay"
        ),
        _ if failure.class == FailureClass::Throttled => {
            format!("the {kind} {address} was asked too often ({code}): run this again")
        }
        _ => format!("the {kind} {address} did not answer ({code}): {}", failure.detail),
    }
}

fn compare(destination: &Destination, told: &Properties) -> Vec<(Severity, String)> {
    let kind = kind(&destination.target);
    let mut found: Vec<_> = size(destination, told).into_iter().collect();
    let mut note = |advice: String| found.push((Severity::Note, advice));
    if told.content_based_deduplication {
        note(
            "its content-based deduplication is on, which changes nothing: the relay sends the \
             message id as deduplication id"
                .to_owned(),
        );
    }
    if let Some(key) = &told.kms_key {
        note(format!(
            "it is encrypted with the KMS key {key}: the relay's role needs kms:GenerateDataKey \
             and kms:Decrypt for that key"
        ));
    }
    if told.has_redrive_policy == Some(false) {
        note(
            "it has no redrive policy: what a consumer can't handle comes back until its \
             retention ends; give it a dead-letter queue"
                .to_owned(),
        );
    }
    if told.subscriptions == Some(0) {
        note(
            "it has no confirmed subscription: what is dispatched to it reaches nobody".to_owned(),
        );
    }
    match told.raw_queues {
        Some(0) => {}
        Some(n_queues) => note(format!(
            "it has raw delivery to queues ({n_queues}), where a message of more than \
             {MAX_ATTRIBUTES} attributes would be lost: the relay sends none to any topic"
        )),
        None if told.subscriptions.is_some() => note(
            "its subscriptions may not be asked: allow sns:ListSubscriptionsByTopic to have them \
             checked"
                .to_owned(),
        ),
        None => {}
    }
    if told.is_fifo != destination.target.is_fifo() {
        let is = if told.is_fifo {
            "is FIFO, but its name does not end"
        } else {
            "is not FIFO, but its name ends"
        };
        found.push((
            Severity::Problem,
            format!(
                "the {kind} {is} in .fifo, by which the relay tells: correct its target in \
                 OUTBOX_DESTINATIONS"
            ),
        ));
    }
    found
}

/// The limit in the settings against the real one. A topic that does not tell has what AWS gives it.
fn size(destination: &Destination, told: &Properties) -> Option<(Severity, String)> {
    let is_topic = matches!(destination.target, Target::Topic { .. });
    let default = is_topic.then(|| destination.target.default_max_bytes());
    let real = told.max_bytes.or(default)?;
    let (kind, set) = (kind(&destination.target), destination.max_bytes);
    let name = &destination.name;
    if set > real {
        let advice = format!(
            "max_bytes is {set}, and the {kind} takes {real}: larger messages would be refused; \
             set \"max_bytes\": {real} for {name} in OUTBOX_DESTINATIONS, or raise the {kind}'s \
             MaximumMessageSize to {set}"
        );
        return Some((Severity::Problem, advice));
    }
    (set < real).then(|| {
        let advice = format!(
            "max_bytes is {set}, and the {kind} takes {real}: messages between would be dead with \
             too_large, though they could be sent"
        );
        (Severity::Note, advice)
    })
}

#[cfg(test)]
mod tests {
    use outbox::Scope;

    use super::Severity::{Note, Ok as Fine, Problem};
    use super::*;

    const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/1/orders";
    const TOPIC: &str = "arn:aws:sns:eu-west-1:1:orders";

    fn judged(target: &str, told: &Result<Properties, Failure>) -> Vec<(Severity, String)> {
        let destination = Destination::new("orders", Target::parse(target).unwrap());
        let findings = judge(&destination, told).into_iter();
        assert!(findings.clone().all(|finding| finding.subject == "destination orders"));
        findings.map(|finding| (finding.severity, finding.advice)).collect()
    }

    fn queue() -> Properties {
        let (max_bytes, has_redrive_policy) = (Some(1_048_576), Some(true));
        Properties { max_bytes, has_redrive_policy, ..Properties::default() }
    }

    fn topic() -> Properties {
        Properties { subscriptions: Some(1), raw_queues: Some(0), ..Properties::default() }
    }

    #[test]
    fn a_queue_and_a_topic_as_the_settings_say_are_fine() {
        for (target, told) in [(QUEUE, queue()), (TOPIC, topic())] {
            let judged = judged(target, &Ok(told));
            assert_eq!(judged.len(), 1, "{judged:?}");
            assert_eq!(judged[0].0, Fine);
        }
    }

    /// Case A06.
    #[test]
    fn a_limit_over_the_real_one_is_a_problem_with_the_value_to_set_and_one_under_it_a_note() {
        for (target, real, severity, named) in [
            (QUEUE, Some(2_048), Problem, "\"max_bytes\": 2048 for orders"),
            (QUEUE, Some(262_144), Problem, "\"max_bytes\": 262144 for orders"),
            (QUEUE, Some(2_000_000), Note, "max_bytes is 1048576"),
            (QUEUE, None, Fine, "is there"),
            (TOPIC, Some(1_048_576), Note, "max_bytes is 262144"),
            (TOPIC, Some(1_024), Problem, "\"max_bytes\": 1024 for orders"),
        ] {
            let properties = if target == QUEUE { queue() } else { topic() };
            let judged = judged(target, &Ok(Properties { max_bytes: real, ..properties }));
            let (found, advice) = judged.last().unwrap();
            assert_eq!(*found, severity, "{advice}");
            assert!(advice.contains(named), "{advice}");
        }
        let mut destination = Destination::new("orders", Target::parse(TOPIC).unwrap());
        destination.max_bytes = 300_000;
        let findings = judge(&destination, &Ok(topic()));
        assert_eq!(findings[0].severity, Problem, "a topic that does not tell takes 256 KiB");
    }

    #[test]
    fn what_is_good_to_know_is_a_note_beside_that_all_is_well() {
        for (target, told, named) in [
            (QUEUE, Properties { content_based_deduplication: true, ..queue() }, "message id"),
            (QUEUE, Properties { kms_key: Some("alias/k".into()), ..queue() }, "key alias/k"),
            (QUEUE, Properties { has_redrive_policy: Some(false), ..queue() }, "dead-letter"),
            (TOPIC, Properties { subscriptions: Some(0), ..topic() }, "reaches nobody"),
            (TOPIC, Properties { raw_queues: Some(2), ..topic() }, "more than 10 attributes"),
            (TOPIC, Properties { raw_queues: None, ..topic() }, "ListSubscriptionsByTopic"),
        ] {
            let judged = judged(target, &Ok(told));
            assert_eq!(judged.iter().map(|found| found.0).collect::<Vec<_>>(), [Fine, Note]);
            assert!(judged[1].1.contains(named), "{judged:?}");
        }
    }

    #[test]
    fn a_kind_that_its_name_does_not_tell_is_a_problem() {
        let fifo = Properties { is_fifo: true, ..queue() };
        assert_eq!(judged(QUEUE, &Ok(fifo.clone()))[0].0, Problem);
        assert_eq!(
            judged("https://sqs.eu-west-1.amazonaws.com/1/o.fifo", &Ok(queue()))[0].0,
            Problem
        );
        assert_eq!(judged("https://sqs.eu-west-1.amazonaws.com/1/o.fifo", &Ok(fifo))[0].0, Fine);
    }

    /// Cases B09, B11 and B17, before the first message meets them.
    #[test]
    fn a_target_that_does_not_tell_is_a_problem_that_says_what_to_do() {
        for (target, class, code, named) in [
            (QUEUE, FailureClass::DestinationFault, "NonExistentQueue", "create it"),
            (QUEUE, FailureClass::DestinationFault, "QueueDoesNotExist", "create it"),
            (TOPIC, FailureClass::DestinationFault, "NotFound", "create it"),
            (
                QUEUE,
                FailureClass::DestinationFault,
                "AccessDenied",
                "allow sqs:GetQueueAttributes, and sqs:SendMessage",
            ),
            (
                TOPIC,
                FailureClass::DestinationFault,
                "AuthorizationError",
                "allow sns:GetTopicAttributes, and sns:Publish",
            ),
            (QUEUE, FailureClass::Throttled, "RequestThrottled", "again"),
            (QUEUE, FailureClass::DestinationFault, "connect_failed", "(connect_failed): said"),
            (TOPIC, FailureClass::DestinationFault, "no_credentials", "(no_credentials): said"),
        ] {
            let (code, detail) = (code.to_owned(), "said".to_owned());
            let judged =
                judged(target, &Err(Failure { class, scope: Scope::Request, code, detail }));
            assert_eq!(judged.len(), 1);
            assert_eq!(judged[0].0, Problem);
            assert!(judged[0].1.contains(named) && judged[0].1.contains(target), "{judged:?}");
        }
    }
}
