//! Traces: the spans of a function's runs, exported by OTLP at the end of each, if the feature `otel` is compiled in.
//!
//! Without the feature nothing of OpenTelemetry is in the program, [`Traces`] does nothing, and no span is ever made. The spans
//! themselves are in the engine and the publisher; `outbox::telemetry` has their names.

#[cfg(not(feature = "otel"))]
#[path = "traces/none.rs"]
mod exporter;
#[cfg(feature = "otel")]
#[path = "traces/otel.rs"]
mod exporter;

use std::time::Instant;

use crate::logs::DynLayer;
use crate::settings::Program;
use exporter::Exporter;

/// Where a function's spans go.
#[derive(Debug)]
pub struct Traces {
    exporter: Option<Exporter>,
    problem: Option<String>,
}

impl Traces {
    /// Makes ready what the standard variables ask for (`OTEL_EXPORTER_OTLP_ENDPOINT` and its kin); touches no network.
    /// What is wrong with them is told when the logs start, and there are no traces then.
    pub fn start(program: Program) -> Self {
        match Exporter::from_env(program) {
            Ok(exporter) => Self { exporter, problem: None },
            Err(problem) => Self { exporter: None, problem: Some(problem) },
        }
    }

    /// None.
    pub fn off() -> Self {
        Self { exporter: None, problem: None }
    }

    /// Exports the spans that have ended, before the answer freezes the function: within two seconds, and in half of the
    /// time that is left at most. A collector that fails costs its spans and nothing else.
    pub async fn flush(&self, deadline: Instant) {
        if let Some(exporter) = &self.exporter {
            exporter.flush(deadline).await;
        }
    }

    /// Says why there are none, where they were asked for. The logs have started by now.
    pub(crate) fn tell_problem(&self) {
        if let Some(error) = &self.problem {
            tracing::error!(error, "traces are off, the OTEL variables can't be used");
        }
    }

    /// What takes the spans in.
    pub(crate) fn layer(&self) -> Option<DynLayer> {
        self.exporter.as_ref().map(Exporter::layer)
    }
}
