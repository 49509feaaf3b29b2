//! A scripted collector of OpenTelemetry: it takes spans by OTLP over HTTP and keeps them.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Incoming;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
pub use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::http::{self, Dropped, Response, Server, respond};

/// What it does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Takes it.
    Takes,
    /// Answers with an error that no retry mends.
    Refuses,
    /// Never answers.
    Keeps,
}

/// A collector on a port of its own.
pub struct Collector {
    url: String,
    received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    _server: Server,
}

impl Collector {
    /// Starts it.
    pub fn start(manner: Manner) -> Self {
        let socket = http::bind((Ipv4Addr::LOCALHOST, 0).into());
        let url = format!("http://{}", socket.local_addr().expect("a bound socket has an address"));
        let received = Arc::default();
        let taken = Arc::clone(&received);
        let server =
            Server::start(socket, move |request| take(request, manner, Arc::clone(&taken)));
        Self { url, received, _server: server }
    }

    /// The value for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many requests it has had.
    pub fn calls(&self) -> usize {
        self.received().len()
    }

    /// All spans so far, in order of their ends.
    pub fn spans(&self) -> Vec<Span> {
        let resources = self.received().into_iter().flat_map(|request| request.resource_spans);
        resources.flat_map(|of| of.scope_spans).flat_map(|of| of.spans).collect()
    }

    /// Attributes of whoever sent the first request.
    pub fn resource(&self) -> Resource {
        self.received()[0].resource_spans[0].resource.clone().expect("who the spans are of")
    }

    fn received(&self) -> Vec<ExportTraceServiceRequest> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The value of an attribute as text; empty if there is none of that name.
pub fn text(attributes: &[KeyValue], name: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == name);
    match found.and_then(|it| it.value.clone()) {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => text,
        Some(AnyValue { value: Some(Value::IntValue(number)) }) => number.to_string(),
        Some(AnyValue { value: Some(Value::BoolValue(is)) }) => is.to_string(),
        Some(other) => format!("{other:?}"),
        None => String::new(),
    }
}

async fn take(
    request: Request<Incoming>,
    manner: Manner,
    received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
) -> Result<Response, Dropped> {
    let is_traces = request.uri().path() == "/v1/traces";
    let body = request.into_body().collect().await.map_err(|_| Dropped)?.to_bytes();
    let Ok(request) = ExportTraceServiceRequest::decode(body) else {
        return Ok(respond(400, "not OTLP"));
    };
    if !is_traces {
        return Ok(respond(404, "only /v1/traces"));
    }
    received.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    match manner {
        Manner::Takes => Ok(respond(200, "")),
        Manner::Refuses => Ok(respond(400, "")),
        Manner::Keeps => std::future::pending().await,
    }
}
