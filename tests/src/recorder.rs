//! A way to AWS, or to what stands for it, that keeps what a program asks for: each call as IAM sees it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// A call as a policy has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// `sqs:SendMessage`: the permission that it needs.
    pub action: String,
    /// The ARN that it is for.
    pub resource: String,
}

impl Call {
    /// A call of that action on that resource.
    pub fn new(action: &str, resource: &str) -> Self {
        Self { action: action.to_owned(), resource: resource.to_owned() }
    }
}

/// It passes bytes on in both directions, until the test's runtime ends.
pub struct Recorder {
    url: String,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Recorder {
    /// A recorder before that endpoint, `http://HOST:PORT`.
    pub async fn before(endpoint_url: &str) -> Self {
        let there = endpoint_url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Ok((here, _)) = listener.accept().await {
                let (from_program, to_program) = here.into_split();
                let (from_aws, to_aws) = TcpStream::connect(&there).await.unwrap().into_split();
                tokio::spawn(pass(from_program, to_aws, Some(Arc::clone(&kept))));
                tokio::spawn(pass(from_aws, to_program, None));
            }
        });
        Self { url, calls }
    }

    /// The value for `AWS_ENDPOINT_URL`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Every call so far, each once, sorted.
    pub fn calls(&self) -> Vec<Call> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        calls.sort();
        calls.dedup();
        calls
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    calls: Option<Arc<Mutex<Vec<Call>>>>,
) {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
    loop {
        let Ok(n @ 1..) = from.read(&mut buffer).await else { return };
        if let Some(calls) = &calls {
            bytes.extend_from_slice(&buffer[..n]);
            // Before anybody can have answered the last of it.
            while let Some(call) = take_call(&mut bytes) {
                calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
            }
        }
        if to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}

/// Takes the first request off the bytes, if all of it is there.
fn take_call(bytes: &mut Vec<u8>) -> Option<Call> {
    let end_of_head = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end_of_head].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let request_line = lines.next().unwrap().to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    assert!(!headers.contains_key("transfer-encoding"), "a body of unknown length: {head}");
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let end = end_of_head + 4 + length;
    if bytes.len() < end {
        return None;
    }
    let body = bytes[end_of_head + 4..end].to_vec();
    bytes.drain(..end);
    Some(call(&request_line, &headers, &body))
}

fn call(request_line: &str, headers: &HashMap<String, String>, body: &[u8]) -> Call {
    // `AWS4-HMAC-SHA256 Credential=KEY/DATE/REGION/SERVICE/aws4_request, ...`
    let scope: Vec<&str> = headers["authorization"].split('/').collect();
    let [_, _, region, service, ..] = scope[..] else { panic!("not signed: {headers:?}") };
    let name = headers.get("x-amz-target").and_then(|target| target.rsplit('.').next());
    match (service, name) {
        ("sqs", Some(name)) => {
            let body: Value = serde_json::from_slice(body).unwrap();
            Call::new(
                &of_sqs(name),
                &queue_arn(region, body["QueueUrl"].as_str().unwrap_or_default()),
            )
        }
        ("secretsmanager", Some(name)) => {
            let body: Value = serde_json::from_slice(body).unwrap();
            Call::new(&format!("{service}:{name}"), body["SecretId"].as_str().unwrap_or_default())
        }
        ("s3", _) => of_s3(request_line),
        _ => {
            let form: HashMap<String, String> =
                url::form_urlencoded::parse(body).into_owned().collect();
            let text = |name: &str| form.get(name).cloned().unwrap_or_default();
            let action = match text("Action").as_str() {
                "PublishBatch" => "Publish".to_owned(),
                action => action.to_owned(),
            };
            Call::new(&format!("{service}:{action}"), &text("TopicArn"))
        }
    }
}

/// A batch needs the permission for one.
fn of_sqs(name: &str) -> String {
    format!("sqs:{}", name.strip_suffix("Batch").unwrap_or(name))
}

/// `http://HOST:PORT/ACCOUNT/NAME`
fn queue_arn(region: &str, url: &str) -> String {
    let mut parts = url.rsplit('/');
    let (name, account) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("arn:aws:sqs:{region}:{account}:{name}")
}

/// `PUT /BUCKET/KEY?x-id=PutObject HTTP/1.1`; only a plain one of these is known.
fn of_s3(request_line: &str) -> Call {
    let mut words = request_line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let action = match (method, query) {
        ("PUT", "" | "x-id=PutObject") => "s3:PutObject".to_owned(),
        _ => format!("s3:{method}?{query}"),
    };
    Call::new(&action, &format!("arn:aws:s3:::{}", path.trim_start_matches('/')))
}
