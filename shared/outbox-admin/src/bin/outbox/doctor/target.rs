//! What is found of a destination: its settings against what the queue or topic says of itself.

use std::time::Duration;

use outbox::{Destination, Failure, FailureClass, MAX_ATTRIBUTES, Target};
use outbox_admin::{Finding, Severity, age_in_words};
use outbox_publish::Properties;

/// From this retention on a consumer has time for a repair.
const SHORT_RETENTION: Duration = Duration::from_hours(24);

/// Compares a destination's settings with what its queue or topic told, and with what it said of a request to send.
pub(super) fn judge(
    destination: &Destination,
    told: &Result<Properties, Failure>,
    knocked: &Result<(), Failure>,
) -> Vec<Finding> {
    let target = &destination.target;
    let (mut found, fine) = match told {
        Ok(properties) => (compare(destination, properties), is_there(target, properties)),
        Err(failure) if is_denied(failure) => {
            let fine = format!("its {} was reached", kind(target));
            (vec![(Severity::Note, not_told(target, failure))], fine)
        }
        Err(failure) => {
            let problem = unanswered(target, failure);
            return vec![Finding::problem(subject(destination), problem)];
        }
    };
    found.extend(knocked.as_ref().err().map(|failure| refused(target, failure)));

    let has_problem = found.iter().any(|(severity, _)| *severity == Severity::Problem);
    let fine = match knocked {
        Ok(()) => format!("{fine}; a request to send, with no message, was not refused"),
        Err(_) => fine,
    };
    let is_fine = (!has_problem).then(|| Finding::ok(subject(destination), fine));
    let found = found.into_iter().map(|(severity, advice)| match severity {
        Severity::Problem => Finding::problem(subject(destination), advice),
        _ => Finding::note(subject(destination), advice),
    });
    is_fine.into_iter().chain(found).collect()
}

fn subject(destination: &Destination) -> String {
    format!("destination {}", destination.name)
}

/// What the queue or topic is like.
fn is_there(target: &Target, told: &Properties) -> String {
    let is = if told.is_fifo { "FIFO" } else { "standard" };
    let mut like = vec![is.to_owned()];
    if told.has_sqs_key {
        like.push("encrypted with SQS's own key".to_owned());
    }
    if let Some(keeping) = &told.keeping {
        let keeps = |what: &str, time: Option<Duration>| {
            Some(format!("{what} {}", age_in_words(time?.as_secs_f64())))
        };
        like.extend(keeps("retention", keeping.retention));
        like.extend(keeps("visibility time-out", keeping.visibility_timeout));
        like.extend(keeping.dead_letter_queue.as_ref().map(|arn| format!("dead letters to {arn}")));
    }
    let (kind, like) = (kind(target), like.join(", "));
    format!("its {kind} is there, and takes what the settings say ({like})")
}

fn is_denied(failure: &Failure) -> bool {
    ["AccessDenied", "AuthorizationError", "AccessFailure", "NotAuthorized"]
        .contains(&failure.code.as_str())
}

/// The permissions to look and to send.
fn permissions(target: &Target) -> (&'static str, &'static str) {
    match target {
        Target::Queue { .. } => ("sqs:GetQueueAttributes", "sqs:SendMessage"),
        Target::Topic { .. } => ("sns:GetTopicAttributes", "sns:Publish"),
    }
}

/// A relay need not look, and by its template may not.
fn not_told(target: &Target, failure: &Failure) -> String {
    let (kind, address, code) = (kind(target), address(target), &failure.code);
    let (look, _) = permissions(target);
    format!(
        "the {kind} {address} may not be looked at ({code}), which no relay needs: allow {look} to \
         have max_bytes and the rest compared"
    )
}

/// Why a request to send was refused, and what to do about it.
fn refused(target: &Target, failure: &Failure) -> (Severity, String) {
    let (kind, address, code) = (kind(target), address(target), &failure.code);
    let (_, send) = permissions(target);
    if is_denied(failure) {
        let advice = format!(
            "the {kind} {address} may not be sent to ({code}): allow {send} to the relay, and in \
             the {kind}'s own policy if it is another account's"
        );
        return (Severity::Problem, advice);
    }
    if is_missing(failure) {
        return (Severity::Problem, unanswered(target, failure));
    }
    let advice = format!(
        "whether the {kind} {address} may be sent to is not known ({code}): run this again"
    );
    (Severity::Note, advice)
}

fn is_missing(failure: &Failure) -> bool {
    ["NonExistentQueue", "QueueDoesNotExist", "QueueDeletedRecently", "NotFound"]
        .contains(&failure.code.as_str())
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
    match failure.class {
        _ if is_missing(failure) => format!(
            "the {kind} {address} does not exist: create it, or correct its target in \
             OUTBOX_DESTINATIONS"
        ),
        FailureClass::Throttled => {
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
    if let Some(keeping) = &told.keeping {
        if told.kms_key.is_none() && !told.has_sqs_key {
            note("it is not encrypted at rest: set its SqsManagedSseEnabled to true".to_owned());
        }
        if keeping.dead_letter_queue.is_none() {
            note(
                "it has no redrive policy: what a consumer can't handle comes back until its \
                 retention ends; give it a dead-letter queue"
                    .to_owned(),
            );
        }
        if let Some(retention) = keeping.retention.filter(|kept| *kept < SHORT_RETENTION) {
            note(format!(
                "it keeps messages for {}: those that no consumer takes by then are gone, though \
                 they are dispatched; raise its MessageRetentionPeriod",
                age_in_words(retention.as_secs_f64())
            ));
        }
        if let Some(delay) = keeping.delay.filter(|delay| !delay.is_zero()) {
            note(format!(
                "it withholds each message for {}, which no figure of the outbox shows: that is its \
                 DelaySeconds",
                age_in_words(delay.as_secs_f64())
            ));
        }
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
    use outbox_publish::Keeping;

    use super::Severity::{Note, Ok as Fine, Problem};
    use super::*;

    const QUEUE: &str = "https://sqs.eu-west-1.amazonaws.com/1/orders";
    const TOPIC: &str = "arn:aws:sns:eu-west-1:1:orders";

    fn judged(target: &str, told: &Result<Properties, Failure>) -> Vec<(Severity, String)> {
        let destination = Destination::new("orders", Target::parse(target).unwrap());
        let findings = judge(&destination, told, &Ok(())).into_iter();
        assert!(findings.clone().all(|finding| finding.subject == "destination orders"));
        findings.map(|finding| (finding.severity, finding.advice)).collect()
    }

    fn queue() -> Properties {
        let (max_bytes, has_sqs_key) = (Some(1_048_576), true);
        let keeping = Some(keeping());
        Properties { max_bytes, has_sqs_key, keeping, ..Properties::default() }
    }

    fn keeping() -> Keeping {
        Keeping {
            dead_letter_queue: Some("arn:aws:sqs:eu-west-1:1:dead".into()),
            retention: Some(Duration::from_hours(96)),
            delay: Some(Duration::ZERO),
            visibility_timeout: Some(Duration::from_secs(30)),
        }
    }

    /// A queue that keeps messages so.
    fn keeps(keeping: Keeping) -> Properties {
        Properties { keeping: Some(keeping), ..queue() }
    }

    fn refusal(code: &str) -> Failure {
        let (class, scope) = (FailureClass::DestinationFault, Scope::Request);
        Failure { class, scope, code: code.to_owned(), detail: "said".to_owned() }
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
        let findings = judge(&destination, &Ok(topic()), &Ok(()));
        assert_eq!(findings[0].severity, Problem, "a topic that does not tell takes 256 KiB");
    }

    #[test]
    fn what_is_good_to_know_is_a_note_beside_that_all_is_well() {
        for (target, told, named) in [
            (QUEUE, Properties { content_based_deduplication: true, ..queue() }, "message id"),
            (QUEUE, Properties { kms_key: Some("alias/k".into()), ..queue() }, "key alias/k"),
            (QUEUE, Properties { has_sqs_key: false, ..queue() }, "SqsManagedSseEnabled"),
            (QUEUE, keeps(Keeping { dead_letter_queue: None, ..keeping() }), "dead-letter"),
            (
                QUEUE,
                keeps(Keeping { retention: Some(Duration::from_hours(23)), ..keeping() }),
                "for 23 h 0 min",
            ),
            (
                QUEUE,
                keeps(Keeping { delay: Some(Duration::from_secs(7)), ..keeping() }),
                "for 7 s, which",
            ),
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

    /// Cases B09 and B17, before the first message meets them.
    #[test]
    fn a_target_that_does_not_tell_is_a_problem_that_says_what_to_do() {
        for (target, class, code, named) in [
            (QUEUE, FailureClass::DestinationFault, "NonExistentQueue", "create it"),
            (QUEUE, FailureClass::DestinationFault, "QueueDoesNotExist", "create it"),
            (TOPIC, FailureClass::DestinationFault, "NotFound", "create it"),
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

    /// Case B11: what a relay need not do is a note, what it has to do a problem.
    #[test]
    fn a_refused_look_is_a_note_and_a_refused_request_to_send_a_problem() {
        for (target, properties, code, look, send) in [
            (
                QUEUE,
                queue(),
                "AccessDenied",
                "allow sqs:GetQueueAttributes",
                "allow sqs:SendMessage",
            ),
            (
                TOPIC,
                topic(),
                "AuthorizationError",
                "allow sns:GetTopicAttributes",
                "allow sns:Publish",
            ),
        ] {
            let destination = Destination::new("orders", Target::parse(target).unwrap());
            for (told, knocked, expected) in [
                (Ok(properties.clone()), Ok(()), &[(Fine, "was not refused")][..]),
                (Ok(properties.clone()), Err(code), &[(Problem, send)]),
                (Ok(properties), Err("connect_failed"), &[(Fine, "is there"), (Note, "not known")]),
                (Err(code), Ok(()), &[(Fine, "was reached"), (Note, look)]),
                (Err(code), Err(code), &[(Note, look), (Problem, send)]),
                (Err(code), Err("NotFound"), &[(Note, look), (Problem, "does not exist")]),
                (Err("connect_failed"), Err("connect_failed"), &[(Problem, "did not answer")]),
            ] {
                let found = judge(&destination, &told.map_err(refusal), &knocked.map_err(refusal));
                assert_eq!(found.len(), expected.len(), "{found:?}");
                for (finding, (severity, said)) in found.iter().zip(expected) {
                    assert_eq!(finding.severity, *severity, "{finding:?}");
                    assert!(finding.advice.contains(said), "{finding:?}");
                }
            }
        }
    }

    #[test]
    fn what_a_queue_is_like_is_told_beside_that_it_is_there() {
        let said = judged(QUEUE, &Ok(queue())).swap_remove(0).1;
        let like = "(standard, encrypted with SQS's own key, retention 4 d 0 h, \
                    visibility time-out 30 s, dead letters to arn:aws:sqs:eu-west-1:1:dead)";
        assert!(said.contains(like), "{said}");
    }
}
