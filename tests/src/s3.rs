//! A scripted S3 that takes objects: it records each `PutObject` and answers as it is told.

use std::collections::{BTreeMap, VecDeque};
use std::future;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Request};
use outbox_archive::Archive;
use tokio::sync::watch;

use crate::bucket::lines;
use crate::endpoint::Answer;
use crate::http::{self, Dropped, Response, Server, respond};

/// How long a test waits for a request before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running endpoint; it stops when dropped.
pub struct ScriptedS3 {
    url: String,
    script: Arc<Script>,
    _server: Server,
}

struct Script {
    next: Mutex<VecDeque<Answer>>,
    stored: Mutex<BTreeMap<String, Vec<String>>>,
    calls: watch::Sender<usize>,
}

impl ScriptedS3 {
    /// Starts one on a free port of the loopback interface; it stores whatever it is sent.
    pub fn start() -> Self {
        let script = Arc::new(Script {
            next: Mutex::default(),
            stored: Mutex::default(),
            calls: watch::Sender::new(0),
        });
        let socket = http::bind((Ipv4Addr::LOCALHOST, 0).into());
        let url = format!("http://{}", socket.local_addr().expect("a bound socket has an address"));
        let answering = Arc::clone(&script);
        let server = Server::start(socket, move |request| serve(request, Arc::clone(&answering)));
        Self { url, script, _server: server }
    }

    /// The value for `AWS_ENDPOINT_URL_S3`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// An archive in its bucket `archive`, under the prefix `outbox`.
    pub fn archive(&self) -> Archive {
        let credentials = Credentials::new("test", "s3cret", None, None, "test");
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(&self.url)
            .build();
        let location = outbox::ArchiveLocation::parse("s3://archive/outbox").unwrap();
        Archive::new(&config, location)
    }

    /// Answers the next requests with these, one each; then stores again.
    pub fn answer_next(&self, answers: impl IntoIterator<Item = Answer>) {
        self.script.next.lock().unwrap_or_else(PoisonError::into_inner).extend(answers);
    }

    /// Every object that was stored, by its path, `/archive/outbox/...`: its lines.
    pub fn objects(&self) -> BTreeMap<String, Vec<String>> {
        self.script.stored().clone()
    }

    /// How many requests have arrived.
    pub fn calls(&self) -> usize {
        *self.script.calls.borrow()
    }

    /// Waits until so many requests have arrived, and their objects are stored where the script says so.
    ///
    /// # Panics
    /// If they have not within half a minute.
    pub async fn calls_reached(&self, count: usize) {
        let mut calls = self.script.calls.subscribe();
        let reached = calls.wait_for(|calls| *calls >= count);
        let is_reached = matches!(tokio::time::timeout(PATIENCE, reached).await, Ok(Ok(_)));
        assert!(is_reached, "{} of {count} requests arrived within {PATIENCE:?}", self.calls());
    }
}

impl Script {
    fn stored(&self) -> MutexGuard<'_, BTreeMap<String, Vec<String>>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides the answer and stores what is to be stored: all before the sender can learn of it.
    fn take(&self, path: &str, body: &[u8]) -> Answer {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let answer = next.unwrap_or(Answer::Accept);
        if answer.accepts("") {
            self.stored().insert(path.to_owned(), lines(body));
        }
        self.calls.send_modify(|calls| *calls += 1);
        answer
    }
}

async fn serve(request: Request<Incoming>, script: Arc<Script>) -> Result<Response, Dropped> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    if head.method != Method::PUT {
        return Ok(respond(405, "the endpoint knows PutObject only"));
    }
    let mut answer = script.take(head.uri.path(), &body);
    loop {
        answer = match answer {
            Answer::Behind(gate, then) => {
                gate.passed().await;
                *then
            }
            Answer::After(delay, then) => {
                tokio::time::sleep(delay).await;
                *then
            }
            Answer::Drop => return Err(Dropped),
            Answer::Hang => future::pending().await,
            Answer::Error { status, code, text, .. } => {
                let error = format!("<Error><Code>{code}</Code><Message>{text}</Message></Error>");
                return Ok(respond(status, error));
            }
            Answer::Raw { status, body } => return Ok(respond(status, body)),
            Answer::Accept | Answer::Fail(_) => return Ok(respond(200, "")),
        };
    }
}
