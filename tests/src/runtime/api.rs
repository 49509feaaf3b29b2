//! The Runtime API, and as much of the Extensions API as a function needs that wants to hear of SIGTERM.

use std::collections::HashMap;
use std::future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request};
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use crate::http::{Dropped, Response, Server, respond};

/// What the function answers an event with, or the error that it reports.
type Answer = Result<Value, Value>;

/// What both sides share: events on their way to the function, and answers on their way back.
pub(super) struct Api {
    events: mpsc::UnboundedSender<Event>,
    next_event: tokio::sync::Mutex<mpsc::UnboundedReceiver<Event>>,
    answers: Mutex<HashMap<String, oneshot::Sender<Answer>>>,
    polled: watch::Sender<bool>,
}

struct Event {
    request_id: String,
    deadline: SystemTime,
    body: String,
}

impl Default for Api {
    fn default() -> Self {
        let (events, next_event) = mpsc::unbounded_channel();
        let (next_event, answers) = (tokio::sync::Mutex::new(next_event), Mutex::default());
        Self { events, next_event, answers, polled: watch::Sender::new(false) }
    }
}

impl Api {
    /// Waits until the function has asked for an event.
    pub(super) async fn polled(&self) {
        let mut polled = self.polled.subscribe();
        polled.wait_for(|polled| *polled).await.expect("we hold the sender");
    }

    /// Hands it an event and waits for the answer.
    pub(super) async fn invoke(&self, event: &Value, time: Duration) -> Answer {
        let request_id = Uuid::new_v4().to_string();
        let (sender, answer) = oneshot::channel();
        self.answers().insert(request_id.clone(), sender);
        let deadline = SystemTime::now() + time;
        let event = Event { request_id, deadline, body: event.to_string() };
        self.events.send(event).expect("we hold the receiver");
        answer.await.expect("it is answered before it is dropped")
    }

    async fn next(&self) -> Response {
        self.polled.send_replace(true);
        let event = self.next_event.lock().await.recv().await.expect("we hold the sender");
        let deadline = event.deadline.duration_since(SystemTime::UNIX_EPOCH);
        let deadline_ms = deadline.expect("it is later than 1970").as_millis();
        let mut response = respond(200, event.body);
        for (name, value) in [
            ("content-type", "application/json".to_owned()),
            ("lambda-runtime-aws-request-id", event.request_id),
            ("lambda-runtime-deadline-ms", deadline_ms.to_string()),
            ("lambda-runtime-invoked-function-arn", ARN.to_owned()),
            ("lambda-runtime-trace-id", TRACE_ID.to_owned()),
        ] {
            let value = value.parse().expect("these are header values");
            response.headers_mut().insert(name, value);
        }
        response
    }

    fn answer(&self, request_id: &str, answer: Answer) -> Response {
        match self.answers().remove(request_id) {
            Some(sender) => {
                // Nobody waits any more where a test has dropped its invocation.
                let _ = sender.send(answer);
                respond(202, r#"{"status":"OK"}"#)
            }
            None => respond(400, r#"{"errorType":"InvalidRequestID"}"#),
        }
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Answer>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const ARN: &str = "arn:aws:lambda:us-east-1:000000000000:function:test";

const TRACE_ID: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

/// Serves the function there.
pub(super) fn start(socket: TcpSocket, api: &Arc<Api>) -> Server {
    let api = Arc::clone(api);
    Server::start(socket, move |request| serve(request, Arc::clone(&api)))
}

async fn serve(request: Request<Incoming>, api: Arc<Api>) -> Result<Response, Dropped> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    let path: Vec<&str> = head.uri.path().split('/').skip(2).collect();
    Ok(match (head.method, path.as_slice()) {
        (Method::GET, ["runtime", "invocation", "next"]) => api.next().await,
        (Method::POST, ["runtime", "invocation", id, "response"]) => {
            api.answer(id, Ok(read(&body)))
        }
        (Method::POST, ["runtime", "invocation", id, "error"]) => api.answer(id, Err(read(&body))),
        (Method::POST, ["extension", "register"]) => register(),
        // An extension that asks for no kind of event waits for ever.
        (Method::GET, ["extension", "event", "next"]) => future::pending().await,
        _ => respond(404, "no such call"),
    })
}

fn read(body: &Bytes) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(body)))
}

fn register() -> Response {
    let body =
        json!({ "functionName": "test", "functionVersion": "$LATEST", "handler": "bootstrap" });
    let mut response = respond(200, body.to_string());
    let id = Uuid::new_v4().to_string().parse().expect("an id is a header value");
    response.headers_mut().insert("lambda-extension-identifier", id);
    response
}
