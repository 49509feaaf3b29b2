//! One JSON line: flat, under the names of Lambda's own runtimes, with the invocation that it belongs to.

use std::fmt;

use serde_json::{Value, json};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, FormatFields, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent};
use tracing_subscriber::registry::LookupSpan;

use crate::invocation;

/// `timestamp`, `level`, `message`, `target` and the event's fields side by side; during an invocation `requestId`, by which
/// Lambda and Logs Insights know it, and `faas.coldstart` before them.
pub(super) struct Line(Format<Json>);

impl Line {
    pub(super) fn new() -> Self {
        Self(
            Format::default()
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false),
        )
    }
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(invocation) = invocation::current() else {
            return self.0.format_event(context, writer, event);
        };
        let mut object = String::new();
        self.0.format_event(context, Writer::new(&mut object), event)?;
        let request_id: Value = json!(invocation.request_id);
        let members = object.strip_prefix('{').ok_or(fmt::Error)?;
        write!(
            writer,
            "{{\"requestId\":{request_id},\"faas.coldstart\":{},{members}",
            invocation.is_cold_start
        )
    }
}
