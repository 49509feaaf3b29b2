//! No exporter: what stands in for it without the feature `otel`.

use std::time::Instant;

use crate::logs::DynLayer;
use crate::settings::Program;

/// There is none, and never will be.
#[derive(Debug)]
pub(super) enum Exporter {}

#[expect(clippy::unnecessary_wraps, clippy::unused_async, reason = "as with the feature")]
impl Exporter {
    pub(super) fn from_env(_: Program) -> Result<Option<Self>, String> {
        Ok(None)
    }

    pub(super) fn layer(&self) -> DynLayer {
        match *self {}
    }

    pub(super) async fn flush(&self, _: Instant) {
        match *self {}
    }
}
