//! A scripted SQS and SNS: a real HTTP endpoint that records what it is sent and answers as it is told.
//!
//! It speaks `SendMessageBatch` as AWS JSON and `PublishBatch` as the query protocol, refuses what AWS
//! would refuse (`rules.rs`), and otherwise follows the test's script. A relay under test reaches it from
//! the same process or from another one, by `AWS_ENDPOINT_URL`.
//!
//! ```text
//! let endpoint = Endpoint::start();
//! endpoint.answer_next([Answer::fail(["3"], "InternalError")]);   // then accept, the default
//!
//! let gate = Gate::closed();                                      // between acceptance and answer
//! endpoint.answer_next([Answer::Accept.behind(&gate)]);
//! endpoint.calls_reached(1).await;                                // accepted; kill or freeze the relay
//! gate.open();
//! ```

mod json;
mod query;
mod request;
mod rules;
mod script;
mod server;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use tokio::net::TcpSocket;
use tokio::sync::watch;
use uuid::Uuid;

use crate::http::{self, Server};

pub use request::{Protocol, Received, Request};
pub use script::{Answer, Gate};

/// The account that queues and topics of the endpoint seem to belong to.
const ACCOUNT: &str = "000000000000";

/// The region of its topics, and of clients of its queues.
const REGION: &str = "us-east-1";

/// How long a test waits for a request before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running endpoint; it stops when dropped.
pub struct Endpoint {
    url: String,
    address: SocketAddr,
    broker: Arc<Broker>,
    port: Mutex<Option<Port>>,
}

/// A closed port stays bound, so that nobody else has it when it is to open again.
enum Port {
    Open(Server),
    Closed(TcpSocket),
}

/// What connections share: the script and the record.
struct Broker {
    state: Mutex<State>,
    calls: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    script: script::Script,
    max_bytes: Option<usize>,
    denies: bool,
    requests: Vec<Request>,
    accepted: Vec<Received>,
}

impl Endpoint {
    /// Starts an endpoint on a free port of the loopback interface, on the current tokio runtime.
    pub fn start() -> Self {
        let broker = Arc::new(Broker { state: Mutex::default(), calls: watch::Sender::new(0) });
        let socket = http::bind((Ipv4Addr::LOCALHOST, 0).into());
        let address = socket.local_addr().expect("a bound socket has an address");
        let port = Mutex::new(Some(Port::Open(server::start(socket, &broker))));
        Self { url: format!("http://{address}"), address, broker, port }
    }

    /// The value for `AWS_ENDPOINT_URL` and its relatives.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A configuration for clients of this endpoint that looks at no environment.
    pub fn sdk_config(&self) -> SdkConfig {
        let credentials = Credentials::new("test", "test", None, None, "test");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(&self.url)
            .build()
    }

    /// The URL of a queue of that name, which need not be created.
    pub fn queue_url(&self, name: &str) -> String {
        format!("{}/{ACCOUNT}/{name}", self.url)
    }

    /// The ARN of a topic of that name, which need not be created.
    pub fn topic_arn(&self, name: &str) -> String {
        format!("arn:aws:sns:{REGION}:{ACCOUNT}:{name}")
    }

    /// Answers the next requests with these, one each; then as before. Not for a request that breaks a
    /// rule of AWS: that one is refused, and takes none of them.
    pub fn answer_next(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state().script.next.extend(answers);
    }

    /// Answers every request by this rule, from now on. The rule must not call the endpoint: it is asked
    /// while the record is locked.
    pub fn answer_always(&self, rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
        let mut state = self.state();
        state.script.next.clear();
        state.script.rule = Arc::new(rule);
    }

    /// Refuses every request to send, whatever it holds, as a policy does that does not allow it.
    pub fn deny(&self) {
        self.state().denies = true;
    }

    /// Limits requests to so many bytes, as a queue made before August 2025 does.
    pub fn limit_bytes(&self, max_bytes: usize) {
        self.state().max_bytes = Some(max_bytes);
    }

    /// Closes the port and every connection; others are refused until [`up`](Self::up).
    pub async fn down(&self) {
        let Some(Port::Open(server)) = self.port().take() else { panic!("already down") };
        server.stop().await;
        *self.port() = Some(Port::Closed(http::bind(self.address)));
    }

    /// Opens the port again.
    pub fn up(&self) {
        let mut port = self.port();
        let Some(Port::Closed(socket)) = port.take() else { panic!("already up") };
        *port = Some(Port::Open(server::start(socket, &self.broker)));
    }

    /// Every request so far, in order of arrival, whatever was answered.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// How many requests have arrived.
    pub fn calls(&self) -> usize {
        *self.broker.calls.borrow()
    }

    /// Waits until so many requests have arrived, and their entries are accepted where the script says so.
    pub async fn calls_reached(&self, count: usize) {
        let mut calls = self.broker.calls.subscribe();
        let reached = calls.wait_for(|calls| *calls >= count);
        let is_reached = matches!(tokio::time::timeout(PATIENCE, reached).await, Ok(Ok(_)));
        assert!(is_reached, "{} of {count} requests arrived within {PATIENCE:?}", self.calls());
    }

    /// Every entry so far, once for each time that it arrived.
    pub fn received(&self) -> Vec<Received> {
        self.state().requests.iter().flat_map(|request| request.entries.clone()).collect()
    }

    /// Every entry that a consumer could see by now, copies included, whether the sender learnt of it or not.
    pub fn accepted(&self) -> Vec<Received> {
        self.state().accepted.clone()
    }

    /// The bodies of the accepted entries in order.
    pub fn bodies(&self) -> Vec<String> {
        self.state().accepted.iter().map(|entry| entry.body.clone()).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.broker.state()
    }

    fn port(&self) -> MutexGuard<'_, Option<Port>> {
        self.port.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Broker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request, decides its answer and accepts what is to be accepted: all before the sender
    /// can learn of it.
    fn take(&self, mut request: Request) -> (Request, Answer) {
        let mut state = self.state();
        request.number = state.requests.len() + 1;
        for entry in &mut request.entries {
            entry.request_number = request.number;
            entry.broker_message_id = Uuid::new_v4().to_string();
        }
        let answer = if state.denies {
            rules::denial(request.protocol)
        } else {
            rules::refusal(&request, state.max_bytes)
                .unwrap_or_else(|| state.script.answer(&request))
        };
        let accepted = request.entries.iter().filter(|entry| answer.accepts(&entry.id)).cloned();
        state.accepted.extend(accepted);
        state.requests.push(request.clone());
        drop(state);
        self.calls.send_modify(|calls| *calls += 1);
        (request, answer)
    }
}
