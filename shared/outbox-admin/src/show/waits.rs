//! What a message waits for, in sentences, and the commands that a person may type next.

use outbox_store::{BreakerOf, GroupHead, Message, PauseOf};

use crate::moment::time;
use crate::words::for_a_shell;

/// What it waits for, and what to type.
pub(super) fn judge(message: &Message) -> (Vec<String>, Vec<String>) {
    let id = message.id;
    match message.status.as_str() {
        "dispatched" => (Vec::new(), Vec::new()),
        "dead" => {
            let mut waits = vec!["a person, who redrives or discards it".to_owned()];
            let mut next = vec![
                format!("outbox redrive {id} --reason \"...\""),
                format!("outbox discard {id} --yes --reason \"...\""),
            ];
            if let (true, Some(group)) = (message.holds_group, &message.message_group) {
                waits.push("the rest of its group waits for that, too".to_owned());
                let (destination, group) = (for_a_shell(&message.destination), for_a_shell(group));
                next.push(format!("outbox resume {destination} --group {group} --reason \"...\""));
            }
            (waits, next)
        }
        "claimed" => (vec![claimed(message)], vec![format!("outbox show {id}")]),
        _ => pending(message),
    }
}

fn claimed(message: &Message) -> String {
    let relay = message.claimed_by.as_deref().unwrap_or("a relay");
    let until = message.locked_until_ms.map(time).unwrap_or_default();
    format!(
        "{relay}, which is publishing it; if it does not come back, any relay may from {until} on"
    )
}

fn pending(message: &Message) -> (Vec<String>, Vec<String>) {
    let (mut waits, mut next) = (Vec::new(), Vec::new());
    let destination = for_a_shell(&message.destination);
    if let Some(PauseOf { name, paused_ms, paused_by, reason }) = &message.pause {
        let what = if name == "*" { "all destinations" } else { &message.destination };
        let since = time(*paused_ms);
        let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        waits.push(format!("the end of a pause of {what}, since {since} by {paused_by}{why}"));
        let name = if name == "*" { String::new() } else { format!("{destination} ") };
        next.push(format!("outbox resume {name}--reason \"...\""));
    }
    if let Some(BreakerOf { opened_ms, probe_ms, code }) = &message.breaker {
        let (code, since) = (code.as_deref().unwrap_or("no code"), time(*opened_ms));
        let probe = probe_ms.map(|ms| format!("; the next try is at {}", time(ms)));
        waits.push(format!(
            "its destination: requests fail ({code}), and the breaker is open since {since}{}",
            probe.unwrap_or_default()
        ));
        next.push(format!(
            "outbox resume {destination} --reason \"...\"   # once it is repaired, to try at once"
        ));
    }
    if let Some(GroupHead { id, is_dead }) = message.head {
        let what = if is_dead { ", which is dead and holds it until a person decides" } else { "" };
        waits.push(format!("the message {id} of its group{what}"));
        next.push(format!("outbox show {id}"));
    }
    if let Some(at) = message.available_ms.filter(|&at| at > message.now_ms) {
        let what = if message.first_failed_ms.is_some() { "its next attempt" } else { "its time" };
        waits.push(format!("{what}, at {}", time(at)));
    }
    if waits.is_empty() {
        waits.push("a relay: it is due".to_owned());
        next.push("outbox status".to_owned());
    }
    (waits, next)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn message(status: &str) -> Message {
        Message {
            id: 7,
            message_id: Uuid::nil(),
            destination: "orders".into(),
            message_type: "order.placed.v1".into(),
            message_group: Some("customer 7".into()),
            status: status.into(),
            attempts: 1,
            lost_claims: 0,
            content_type: "application/json".into(),
            correlation_id: None,
            traceparent: None,
            tracestate: None,
            payload_bytes: 2,
            payload: None,
            header_names: vec![],
            headers: None,
            created_ms: 0,
            available_ms: None,
            first_failed_ms: None,
            locked_until_ms: None,
            dispatched_ms: None,
            dead_ms: None,
            now_ms: 60_000,
            claimed_by: None,
            broker_message_id: None,
            dead_reason: None,
            last_error_code: None,
            last_error: None,
            holds_group: false,
            pause: None,
            breaker: None,
            head: None,
        }
    }

    #[test]
    fn a_pending_message_tells_each_thing_that_it_waits_for() {
        let pause = |name: &str| {
            let reason = Some("repair".into());
            Some(PauseOf { name: name.into(), paused_ms: 1_000, paused_by: "ada".into(), reason })
        };
        let breaker = Some(BreakerOf {
            opened_ms: 1_000,
            probe_ms: Some(2_000),
            code: Some("NotFound".into()),
        });
        for (waiting, said, typed) in [
            (message("pending"), "a relay: it is due", "outbox status"),
            (
                Message { pause: pause("orders"), ..message("pending") },
                "a pause of orders, since 1970-01-01T00:00:01.000Z by ada: repair",
                "outbox resume orders --reason",
            ),
            (
                Message { pause: pause("*"), ..message("pending") },
                "a pause of all destinations",
                "outbox resume --reason",
            ),
            (
                Message { breaker, ..message("pending") },
                "(NotFound)",
                "outbox resume orders --reason",
            ),
            (
                Message { head: Some(GroupHead { id: 5, is_dead: true }), ..message("pending") },
                "the message 5 of its group, which is dead",
                "outbox show 5",
            ),
            (
                Message { head: Some(GroupHead { id: 6, is_dead: false }), ..message("pending") },
                "the message 6 of its group",
                "outbox show 6",
            ),
        ] {
            let (waits, next) = judge(&waiting);
            assert_eq!(waits.len(), 1, "{waits:?}");
            assert!(waits[0].contains(said), "{waits:?}");
            assert!(next[0].starts_with(typed), "{next:?}");
        }
        let later = Message { available_ms: Some(61_000), ..message("pending") };
        assert_eq!(judge(&later).0, ["its time, at 1970-01-01T00:01:01.000Z"]);
        let failed = Message { first_failed_ms: Some(1), ..later };
        assert!(judge(&failed).0[0].starts_with("its next attempt"));
        let both = Message { pause: pause("*"), ..failed };
        assert_eq!(judge(&both).0.len(), 2);
    }

    #[test]
    fn a_dead_message_waits_for_a_person_and_one_that_holds_its_group_can_be_gone_around() {
        let (waits, next) = judge(&message("dead"));
        assert_eq!((waits.len(), next.len()), (1, 2));
        assert_eq!(next[0], "outbox redrive 7 --reason \"...\"");
        let (_, next) = judge(&Message { holds_group: true, ..message("dead") });
        assert_eq!(next[2], "outbox resume orders --group 'customer 7' --reason \"...\"");
    }

    #[test]
    fn a_claimed_message_waits_for_its_relay_and_a_dispatched_one_for_nothing() {
        let claimed = Message {
            claimed_by: Some("host/12".into()),
            locked_until_ms: Some(90_000),
            ..message("claimed")
        };
        let (waits, _) = judge(&claimed);
        assert!(waits[0].starts_with("host/12, ") && waits[0].contains("00:01:30"), "{waits:?}");
        assert_eq!(judge(&message("dispatched")), (vec![], vec![]));
    }

    #[test]
    fn what_a_shell_would_read_otherwise_is_quoted() {
        for (text, quoted) in [
            ("customer-7", "customer-7"),
            ("a b", "'a b'"),
            ("$(rm)", "'$(rm)'"),
            ("it's", r"'it'\''s'"),
            ("-x", "'-x'"),
            ("", "''"),
        ] {
            assert_eq!(for_a_shell(text), quoted);
        }
    }
}
