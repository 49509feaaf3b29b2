//! Commands and their replies.

use std::fmt;

use outbox_store::{Store, TimeLimits};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::doctor::{Diagnosis, Doctor};
use crate::error::Error;
use crate::list::{List, Page};
use crate::operation::{Action, Discarded, Operation, Preview, Redriven};
use crate::pause::{Pause, Paused, Resume, Resumed};
use crate::show::{Show, Shown};
use crate::status::{Status, StatusOptions, status};

/// What an operator asks for; in JSON an object with the verb as its `command`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// How much waits where, what ran, and whether anybody has to look.
    Status(StatusOptions),
    /// Whether the database and the login are as they should be.
    Doctor(Doctor),
    /// The messages that match, a page at a time.
    List(Box<List>),
    /// All about one message.
    Show(Show),
    /// Make dead messages pending again.
    Redrive(Operation),
    /// Delete dead messages for good.
    Discard(Operation),
    /// Leave a destination, or all, out of all claims.
    Pause(Pause),
    /// Let claims take it again, or a message group that a dead message holds.
    Resume(Resume),
}

/// Whatever somebody sends in place of a command, read: a command, or why it is none.
///
/// Reading never fails, not even at an empty text: a runtime that reads a function's event for it would
/// answer in words of its own, and nobody would learn which commands there are.
#[derive(Debug)]
pub struct Request {
    /// The command, or why there is none.
    pub command: Result<Command, Error>,
    /// The person who asks, if the field `operator` says so; for the audit.
    pub operator: Option<String>,
}

/// Verbs of the command line that a function does not answer.
const ONLY_TYPED: [&str; 5] = ["tail", "migrate", "enqueue", "relay", "bench"];

/// What came of it; in JSON the object of the verb.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// Of [`Command::Status`].
    Status(Box<Status>),
    /// Of [`Command::Doctor`].
    Diagnosis(Diagnosis),
    /// Of [`Command::List`].
    Page(Page),
    /// Of [`Command::Show`].
    Shown(Box<Shown>),
    /// Of [`Command::Redrive`].
    Redriven(Redriven),
    /// Of [`Command::Discard`].
    Discarded(Discarded),
    /// Of either, as a dry run.
    Preview(Preview),
    /// Of [`Command::Pause`].
    Paused(Paused),
    /// Of [`Command::Resume`].
    Resumed(Resumed),
}

/// For whoever got one wrong.
const EXAMPLES: [&str; 10] = [
    r#"{"command": "status"}"#,
    r#"{"command": "doctor"}"#,
    r#"{"command": "list", "status": "dead", "destination": "orders", "limit": 20}"#,
    r#"{"command": "show", "id": 7, "payload": true}"#,
    r#"{"command": "redrive", "ids": [7], "reason": "queue repaired"}"#,
    r#"{"command": "redrive", "destination": "orders", "all": true, "reason": "queue repaired"}"#,
    r#"{"command": "discard", "destination": "orders", "code": "too_large", "dry_run": true}"#,
    r#"{"command": "pause", "destination": "orders", "reason": "consumer is being repaired"}"#,
    r#"{"command": "resume", "destination": "orders", "reason": "consumer is back"}"#,
    r#"{"command": "resume", "destination": "orders", "message_group": "customer-7", "reason": "order 42 is void"}"#,
];

impl Command {
    /// Reads a command.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong and shows every command there is.
    pub fn from_json(value: Value) -> Result<Self, Error> {
        if let Some(verb) = value["command"].as_str().filter(|verb| ONLY_TYPED.contains(verb)) {
            let instead = if verb == "tail" { "; list shows what is there" } else { "" };
            return Err(Error::Usage(format!("{verb} is for the command line{instead}")));
        }
        serde_json::from_value(value).map_err(|problem| not_a_command(&problem))
    }
}

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer).map_err(|problem| not_a_command(&problem));
        let mut value = match value {
            Ok(value) => value,
            Err(problem) => return Ok(Self { command: Err(problem), operator: None }),
        };
        let operator = value.as_object_mut().and_then(|object| object.remove("operator"));
        let (operator, problem) = match operator {
            Some(Value::String(name)) => match operator_name(&name) {
                Ok(name) => (Some(name), None),
                Err(problem) => (None, Some(problem)),
            },
            Some(other) => (None, Some(wrong_operator(&other.to_string()))),
            None => (None, None),
        };
        let command = problem.map_or_else(|| Command::from_json(value), |p| Err(Error::Usage(p)));
        Ok(Self { command, operator })
    }
}

/// The name of the person who asks, as the audit keeps it.
///
/// # Errors
/// A sentence, if it is none.
pub fn operator_name(name: &str) -> Result<String, String> {
    let name = name.trim();
    let is_name = (1..=128).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if is_name { Ok(name.to_owned()) } else { Err(wrong_operator(&format!("{name:?}"))) }
}

fn wrong_operator(given: &str) -> String {
    format!(
        "the operator {given} is not allowed; allowed: 1 to 128 characters, for example \"ada\""
    )
}

fn not_a_command(problem: &dyn fmt::Display) -> Error {
    let allowed = EXAMPLES.join(" or ");
    Error::Usage(format!("not a command: {problem}; allowed: {allowed}"))
}

/// Carries a command out. `actor` is who asks for it, for the audit. A redrive or a discard keeps to the limits; the others
/// are single statements, bounded in time as they are.
///
/// # Errors
/// [`Error::Usage`] if the command makes no sense; [`Error::Store`] is the database's; [`Error::Interrupted`] says how much
/// of a redrive or a discard was done when the database failed or the time was up.
pub async fn execute(
    store: &Store,
    command: &Command,
    actor: &str,
    limits: TimeLimits,
) -> Result<Reply, Error> {
    Ok(match command {
        Command::Status(options) => Reply::Status(status(store, *options).await?.into()),
        Command::Doctor(doctor) => Reply::Diagnosis(doctor.examine(store).await?.findings.into()),
        Command::List(list) => Reply::Page(list.execute(store).await?),
        Command::Show(show) => Reply::Shown(Box::new(show.execute(store).await?)),
        Command::Redrive(operation) => {
            operation.check(Action::Redrive)?;
            if operation.dry_run {
                return Ok(Reply::Preview(operation.preview(store).await?));
            }
            Reply::Redriven(operation.redrive(store, actor, limits).await?)
        }
        Command::Discard(operation) => {
            operation.check(Action::Discard)?;
            if operation.dry_run {
                return Ok(Reply::Preview(operation.preview(store).await?));
            }
            Reply::Discarded(operation.discard(store, actor, limits).await?)
        }
        Command::Pause(pause) => Reply::Paused(pause.execute(store, actor).await?),
        Command::Resume(resume) => Reply::Resumed(resume.execute(store, actor).await?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_are_commands() {
        for text in EXAMPLES {
            let command = Command::from_json(serde_json::from_str(text).unwrap());
            assert!(command.is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_refused_with_the_commands_there_are() {
        for (value, named) in [
            (json!({"command": "stats"}), "`stats`"),
            (json!({"command": "status", "destination": "orders"}), "`destination`"),
            (json!({"command": "doctor", "as": "owner"}), "`owner`"),
            (json!({"command": "redrive", "id": 7, "reason": "r"}), "`id`"),
            (json!({"command": "redrive", "ids": "7", "reason": "r"}), "\"7\""),
            (json!({"command": "redrive", "dead_before": "2", "reason": "r"}), "the age \"2\""),
            (json!({"command": "list", "status": "lost"}), "`lost`"),
            (json!({"command": "list", "since": "2"}), "the time \"2\""),
            (json!({"command": "show", "id": "7"}), "\"7\""),
            (json!({"command": "resume", "key": "customer-7", "reason": "r"}), "`key`"),
            (json!({}), "`command`"),
            (json!(null), "null"),
        ] {
            let error = Command::from_json(value).unwrap_err();
            assert_eq!(error.code(), "usage");
            let text = error.to_string();
            assert!(text.contains(named), "{text}");
            assert!(EXAMPLES.iter().all(|example| text.contains(example)), "{text}");
        }
    }

    /// As the runtime reads an event.
    fn read(event: &str) -> Request {
        Request::deserialize(&mut serde_json::Deserializer::from_str(event)).unwrap()
    }

    #[test]
    fn an_event_that_is_no_json_is_refused_with_the_commands_there_are() {
        for event in ["", "status", r#"{"command": "status""#] {
            let Request { command, .. } = read(event);
            let text = command.unwrap_err().to_string();
            assert!(text.starts_with("not a command: "), "{text}");
            assert!(EXAMPLES.iter().all(|example| text.contains(example)), "{text}");
        }
        let Request { command, .. } = read(EXAMPLES[0]);
        assert_eq!(command.unwrap(), Command::Status(StatusOptions::default()));
    }

    #[test]
    fn an_operator_is_read_beside_the_command_and_what_is_no_name_is_refused() {
        let Request { command, operator } = read(r#"{"command": "status", "operator": " ada "}"#);
        let status = Command::Status(StatusOptions::default());
        assert_eq!((command.unwrap(), operator.as_deref()), (status, Some("ada")));
        for wrong in ["7", "null", "\" \"", "\"a\\nb\""] {
            let Request { command, operator } =
                read(&format!(r#"{{"command": "status", "operator": {wrong}}}"#));
            let text = command.unwrap_err().to_string();
            assert!(text.contains("the operator ") && text.contains("for example"), "{text}");
            assert_eq!(operator, None);
        }
    }

    #[test]
    fn a_verb_of_the_command_line_alone_is_named_as_such() {
        for verb in ONLY_TYPED {
            let error = Command::from_json(json!({ "command": verb })).unwrap_err().to_string();
            assert!(error.contains("is for the command line"), "{error}");
        }
    }

    #[test]
    fn a_group_has_the_name_of_the_command_line_too_and_is_given_once() {
        for verb in ["redrive", "discard", "resume"] {
            let named =
                |name: &str| json!({"command": verb, "destination": "orders", name: "customer-7"});
            let read = |name: &str| Command::from_json(named(name)).unwrap();
            assert_eq!(read("group"), read("message_group"));
            let mut both = named("group");
            both["message_group"] = json!("customer-8");
            let error = Command::from_json(both).unwrap_err().to_string();
            assert!(error.contains("duplicate field"), "{error}");
        }
    }

    #[test]
    fn a_command_survives_the_way_to_json_and_back() {
        let operation = Operation {
            ids: vec![7, 8],
            dead_before: Some("2h".parse().unwrap()),
            rate: Some(50),
            reason: "queue repaired".into(),
            ..Operation::default()
        };
        for command in [
            Command::Status(StatusOptions { oldest_due_limit: Some("10m".parse().unwrap()) }),
            Command::Redrive(operation.clone()),
            Command::Discard(Operation { rate: None, ..operation }),
        ] {
            let json = serde_json::to_value(&command).unwrap();
            assert_eq!(Command::from_json(json).unwrap(), command);
        }
    }
}
