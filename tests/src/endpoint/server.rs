//! The HTTP side: requests from bytes, and answers from script to bytes.

use std::collections::BTreeMap;
use std::future;
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use tokio::net::TcpSocket;

use super::{Answer, Broker, Protocol, Request, json, query};
use crate::http::{Dropped, Response, Server, respond};

/// Answers what comes in there as the broker says.
pub(super) fn start(socket: TcpSocket, broker: &Arc<Broker>) -> Server {
    let broker = Arc::clone(broker);
    Server::start(socket, move |request| serve(request, Arc::clone(&broker)))
}

async fn serve(
    request: hyper::Request<Incoming>,
    broker: Arc<Broker>,
) -> Result<Response, Dropped> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
    let Some(request) = read(&head.headers, &body) else {
        return Ok(denied(&head.headers));
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
            answer => {
                let mut response = write(&request, answer);
                let id = format!("request-{}", request.number);
                let id = id.parse().expect("letters and digits are a header value");
                response.headers_mut().insert("x-amzn-requestid", id);
                return Ok(response);
            }
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

/// The endpoint's policy lets send, and do nothing else.
fn denied(headers: &HeaderMap) -> Response {
    let text = "only SendMessageBatch and PublishBatch are allowed here";
    match headers.get("x-amz-target") {
        Some(_) => respond(403, json::error("AccessDeniedException", text)),
        None => respond(403, query::error("AuthorizationError", text)),
    }
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
