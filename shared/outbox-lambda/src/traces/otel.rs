//! Spans by OpenTelemetry: kept until a run ends, then exported in one request.
//!
//! The SDK's own batches are sent by a thread, at times of its choosing: a function is frozen between its runs, and nothing
//! of it may go on in the background then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::trace::{Span as _, TraceContextExt, TracerProvider};
use opentelemetry::{Context, Key, KeyValue};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor,
};
use outbox::telemetry::attribute;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;

use crate::invocation;
use crate::logs::{DynLayer, is_own};
use crate::settings::Program;

/// Most spans kept of a run, some megabytes; of more, the later ones are dropped and counted.
const MOST_SPANS: usize = 4_096;

/// Time to export. A collector is beside the function, and answers in milliseconds.
const LONGEST_EXPORT: Duration = Duration::from_secs(2);

/// Keeps spans, and exports them when told.
#[derive(Debug)]
pub(super) struct Exporter {
    provider: SdkTracerProvider,
    ended: Ended,
    otlp: SpanExporter,
}

impl Exporter {
    /// # Errors
    /// What is wrong with the variables.
    pub(super) fn from_env(program: Program) -> Result<Option<Self>, String> {
        let is_disabled = std::env::var("OTEL_SDK_DISABLED");
        if is_disabled.is_ok_and(|disabled| disabled.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder().with_http().build();
        let mut otlp = exporter.map_err(|error| error.to_string())?;
        let resource = resource(program);
        otlp.set_resource(&resource);
        let ended = Ended::default();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_span_processor(ended.clone())
            .build();
        Ok(Some(Self { provider, ended, otlp }))
    }

    pub(super) fn layer(&self) -> DynLayer {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("outbox"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_filter(filter_fn(|it| it.is_span() && is_own(it.target())))
            .boxed()
    }

    pub(super) async fn flush(&self, deadline: Instant) {
        let Kept { spans, n_dropped } = self.ended.take();
        if n_dropped > 0 {
            tracing::warn!(n_dropped, "spans beyond the limit of a run are not exported");
        }
        if spans.is_empty() {
            return;
        }
        let n_spans = spans.len();
        let time = LONGEST_EXPORT.min(deadline.saturating_duration_since(Instant::now()) / 2);
        match tokio::time::timeout(time, self.otlp.export(spans)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(n_spans, %error, "spans were not exported"),
            Err(_) => {
                let timeout_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                tracing::warn!(n_spans, timeout_ms, "spans were not exported in time");
            }
        }
    }
}

/// Who the spans are of: what `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` says, or else the function.
fn resource(program: Program) -> Resource {
    let given = Resource::builder().build();
    let name = given.get(&Key::from_static_str("service.name"));
    if name.is_some_and(|name| !name.as_str().starts_with("unknown_service")) {
        return given;
    }
    let function = std::env::var("AWS_LAMBDA_FUNCTION_NAME");
    let name = function.unwrap_or_else(|_| program.name().to_owned());
    Resource::builder().with_service_name(name).build()
}

/// The spans that have ended and are not exported yet.
#[derive(Clone, Debug, Default)]
struct Ended(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    spans: Vec<SpanData>,
    n_dropped: usize,
}

impl Ended {
    fn take(&self) -> Kept {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SpanProcessor for Ended {
    /// A span without a parent is a run: it tells of which invocation.
    fn on_start(&self, span: &mut Span, parent: &Context) {
        if !parent.has_active_span()
            && let Some(invocation) = invocation::current()
        {
            let id = invocation.request_id.clone();
            span.set_attribute(KeyValue::new(attribute::INVOCATION_ID, id));
            span.set_attribute(KeyValue::new(attribute::COLD_START, invocation.is_cold_start));
        }
    }

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.spans.len() < MOST_SPANS {
            kept.spans.push(span);
        } else {
            kept.n_dropped += 1;
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
