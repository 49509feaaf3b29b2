//! The HTTP side: connections, and answers from script to bytes.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::{JoinHandle, JoinSet};

use super::{Answer, Broker, Protocol, Request, json, query};

type Response = hyper::Response<Full<Bytes>>;

/// Takes an address, without listening on it: connections are refused.
pub(super) fn bind(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("there is a free socket");
    // Connections of before may linger on the same port.
    socket.set_reuseaddr(true).expect("the option exists");
    socket.bind(address).expect("the address is free");
    socket
}

/// A listening port and its connections; both are closed when it is dropped.
pub(super) struct Server(JoinHandle<Infallible>);

impl Server {
    pub(super) fn start(socket: TcpSocket, broker: &Arc<Broker>) -> Self {
        let listener = socket.listen(1024).expect("the port is bound and ours");
        Self(tokio::spawn(listen(listener, Arc::clone(broker))))
    }

    /// Closes the port and waits until it is closed.
    pub(super) async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn listen(listener: TcpListener, broker: Arc<Broker>) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let broker = Arc::clone(&broker);
        connections.spawn(async move {
            let service = service_fn(|request| serve(request, &broker));
            // An error here is a sender that went away, or a connection dropped by the script.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// A connection that ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("dropped by the script")]
struct Dropped;

async fn serve(request: hyper::Request<Incoming>, broker: &Broker) -> Result<Response, Dropped> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    let Some(request) = read(&head.headers, &body) else {
        return Ok(respond(400, "the endpoint knows SendMessageBatch and PublishBatch only"));
    };
    let (request, mut answer) = broker.take(request);
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
            answer => return Ok(write(&request, answer)),
        };
    }
}

fn read(headers: &HeaderMap, body: &[u8]) -> Option<Request> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (protocol, (target, entries)) = match header("x-amz-target") {
        Some("AmazonSQS.SendMessageBatch") => (Protocol::Json, json::read(body)?),
        Some(_) => return None,
        None => (Protocol::Query, query::read(body)?),
    };
    // `AWS4-HMAC-SHA256 Credential=KEY/DATE/REGION/SERVICE/aws4_request, ...`
    let region = header("authorization").and_then(|signature| signature.split('/').nth(2));
    let region = region.unwrap_or_default().to_owned();
    Some(Request { number: 0, protocol, target, region, entries })
}

fn write(request: &Request, answer: Answer) -> Response {
    match answer {
        Answer::Error { status, code, query_code, text } => {
            let body = match request.protocol {
                Protocol::Json => json::error(&code, &text),
                Protocol::Query => query::error(&code, &text),
            };
            let mut response = respond(status, body);
            if let Some(query_code) = query_code {
                let value =
                    format!("{query_code};Sender").parse().expect("a code is a header value");
                response.headers_mut().insert("x-amzn-query-error", value);
            }
            response
        }
        Answer::Raw { status, body } => respond(status, body),
        Answer::Fail(codes) => write_entries(request, &codes),
        _ => write_entries(request, &BTreeMap::new()),
    }
}

fn write_entries(request: &Request, codes: &BTreeMap<String, String>) -> Response {
    match request.protocol {
        Protocol::Json => respond(200, json::answer(&request.entries, codes)),
        Protocol::Query => respond(200, query::answer(&request.entries, codes)),
    }
}

fn respond(status: u16, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status.try_into().expect("the script names an HTTP status");
    response
}
