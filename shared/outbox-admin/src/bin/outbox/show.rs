//! `outbox show`

use std::io::{self, ErrorKind, Write};

use outbox_admin::{Command, Deed, Reply, Show, Shown, ShownMessage, TimeLimits, execute};
use outbox_lambda::Program;

use crate::args::{self, Which};
use crate::colour::{self, Colour, paint};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, plain};

pub(crate) async fn run(args: &args::Show, output: Output) -> Result<Exit, Failure> {
    let (id, message_id) = match args.which {
        Which::Id(id) => (Some(id), None),
        Which::MessageId(message_id) => (None, Some(message_id)),
    };
    let payload = args.payload || args.payload_only;
    let show = Show { id, message_id, payload, headers: args.headers };
    let context = Context::quiet(Program::CommandLine)?;
    let reply = execute(&context.store()?, &Command::Show(show), "", TimeLimits::default())
        .await
        .map_err(|error| context.failure(error))?;
    let Reply::Shown(shown) = reply else { unreachable!("the reply to a show") };
    if args.payload_only {
        return write_payload(&shown);
    }
    output.show(&shown, || text(&shown, colour::is_wanted()))?;
    Ok(if shown.messages.is_empty() { Exit::Problem } else { Exit::Ok })
}

/// The payload as it is, without a line end that it does not have.
fn write_payload(shown: &Shown) -> Result<Exit, Failure> {
    let payload = match shown.messages.as_slice() {
        [ShownMessage { payload: Some(payload), .. }] => payload,
        [] => return Err(Failure::problem(format!("no such message: {}", advice(shown)))),
        several => {
            let ids: Vec<_> = several.iter().map(|message| message.id.to_string()).collect();
            let ids = ids.join(", ");
            return Err(Failure::usage(format!(
                "several messages have that message id: give one of the ids {ids}"
            )));
        }
    };
    let mut stdout = io::stdout();
    match stdout.write_all(payload.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::problem(format!("cannot write the payload: {error}")))
        }
        _ => Ok(Exit::Ok),
    }
}

fn advice(shown: &Shown) -> &str {
    shown.advice.as_deref().unwrap_or("outbox list shows what is there")
}

fn text(shown: &Shown, is_coloured: bool) -> String {
    let mut parts: Vec<String> =
        shown.messages.iter().map(|message| of_message(message, is_coloured)).collect();
    if shown.messages.is_empty() {
        parts.push(format!("no such message: {}", advice(shown)));
    }
    if !shown.audit.is_empty() {
        let deeds = shown.audit.iter().map(deed).collect::<Vec<_>>();
        parts.push(format!("what operators did, the latest first:\n{}", deeds.join("\n")));
    }
    parts.join("\n\n")
}

fn deed(deed: &Deed) -> String {
    let Deed { acted_at, actor, db_user, action, reason, names_it } = deed;
    let of =
        if *names_it { "" } else { " (of all of its destination or group, perhaps of this one)" };
    format!(
        "  {acted_at}  {action}{of} by {} ({}): {}",
        plain(actor),
        plain(db_user),
        plain(reason)
    )
}

fn of_message(message: &ShownMessage, is_coloured: bool) -> String {
    let mut lines = Vec::new();
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            lines.push(format!(
                "{} {}",
                paint(&format!("{name:<15}"), Colour::Dim, is_coloured),
                plain(value)
            ));
        }
    };
    let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
    say("message", &format!("{} ({})", message.id, message.message_id));
    say("destination", &message.destination);
    say("type", &message.message_type);
    say("group", &or_none(&message.message_group));
    say("correlation id", &or_none(&message.correlation_id));
    say("traceparent", &or_none(&message.traceparent));
    say("content type", &message.content_type);
    say("headers", &message.header_names.join(", "));
    say("payload", &format!("{} bytes", message.payload_bytes));
    say("enqueued", &message.created_at);
    say("available", &or_none(&message.available_at));
    say("attempts", &message.attempts.to_string());
    if message.lost_claims > 0 {
        say("lost claims", &message.lost_claims.to_string());
    }
    say("first failed", &or_none(&message.first_failed_at));
    say("claimed by", &or_none(&message.claimed_by));
    say("lease until", &or_none(&message.locked_until));
    say("dispatched", &or_none(&message.dispatched_at));
    say("broker's id", &or_none(&message.broker_message_id));
    say("dead since", &or_none(&message.dead_at));
    say("dead reason", &or_none(&message.dead_reason));
    let status = &message.status;
    let painted = match colour::of_status(status) {
        Some(colour) => paint(status, colour, is_coloured),
        None => status.clone(),
    };
    lines.insert(
        1,
        format!("{} {painted}", paint(&format!("{:<15}", "status"), Colour::Dim, is_coloured)),
    );
    lines.extend(error_and_what_to_do(message));
    if let Some(headers) = &message.headers {
        lines.push(format!("\nheaders:\n{}", plain(headers.get())));
    }
    if let Some(payload) = &message.payload {
        let shown: Vec<String> = payload.split('\n').map(plain).collect();
        lines.push(format!("\npayload:\n{}", shown.join("\n")));
    }
    lines.join("\n")
}

fn error_and_what_to_do(message: &ShownMessage) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(error) = &message.last_error {
        let code = error.code.as_deref().unwrap_or("without a code");
        let text = error.text.as_deref().unwrap_or("no text");
        lines.push(format!("\nlast error: {}: {}", plain(code), plain(text)));
        lines.push(format!("  it means: {}", error.meaning));
        lines.push(format!("  what to do: {}", error.advice));
    }
    if !message.waits_for.is_empty() {
        lines.push("\nit waits for:".to_owned());
        lines.extend(message.waits_for.iter().map(|what| format!("  {}", plain(what))));
    }
    if !message.next.is_empty() {
        lines.push("\nnext:".to_owned());
        lines.extend(message.next.iter().map(|command| format!("  {}", plain(command))));
    }
    lines
}
