//! A publisher whose HTTP client is a function: the SDK as it is, without a network.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;

/// What a request is answered with.
pub(crate) enum Reply {
    /// A status and a body.
    Http(u16, String),
    /// Nothing, ever.
    Silence,
}

/// Counts the calls and has each answered by a function of the request's body.
#[derive(Clone)]
pub(crate) struct Stub {
    calls: Arc<AtomicUsize>,
    reply: Arc<dyn Fn(&str) -> Reply + Send + Sync>,
}

impl Stub {
    pub(crate) fn new(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self { calls: Arc::default(), reply: Arc::new(reply) }
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// A configuration of this client, with credentials and a region.
    pub(crate) fn sdk_config(&self) -> SdkConfig {
        let credentials = Credentials::new("test", "test", None, None, "test");
        self.bare_config()
            .into_builder()
            .region(Region::from_static("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build()
    }

    /// The same, without credentials and region.
    pub(crate) fn bare_config(&self) -> SdkConfig {
        let connector = SharedHttpConnector::new(self.clone());
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .build()
    }
}

impl HttpConnector for Stub {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let body = request.body().bytes().unwrap_or_default();
        match (self.reply)(&String::from_utf8_lossy(body)) {
            Reply::Http(status, body) => {
                let status = status.try_into().expect("an HTTP status");
                HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
            }
            Reply::Silence => HttpConnectorFuture::new(std::future::pending()),
        }
    }
}

impl fmt::Debug for Stub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stub").finish_non_exhaustive()
    }
}
