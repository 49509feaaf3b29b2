//! A scripted Lambda: it starts one of the functions as its own child, and speaks the runtime protocol with it.
//!
//! ```text
//! let function = Function::start(program("relay")).await;     // returns when the function waits for its first event
//! let report = function.invoke(&json!({}), MINUTE).await;     // Ok(answer) or Err(error)
//! function.process.freeze();                                  // between invocations, as Lambda does
//! ```
//!
//! As with Lambda, one event is in hand at a time, and an answer after the deadline is none: the test fails.

mod api;

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use uuid::Uuid;

use crate::http::{self, Server};
use crate::program::{Ended, Process};
use api::Api;

/// How long a function may take to ask for its first event, as long as Lambda gives it.
const INIT: Duration = Duration::from_secs(10);

/// A function that runs, its process and its side of the protocol. It is killed when dropped.
pub struct Function {
    /// Its process, to be frozen, thawed or ended.
    pub process: Process,
    api: Arc<Api>,
    _server: Server,
}

impl Function {
    /// Starts it and waits until it asks for its first event.
    ///
    /// # Panics
    /// If it ends instead, or takes too long for Lambda.
    pub async fn start(program: Command) -> Self {
        let function = Self::spawn(program);
        tokio::select! {
            () = function.api.polled() => function,
            ended = function.process.end() => panic!("it ended before it asked: {ended:?}"),
            () = tokio::time::sleep(INIT) => {
                panic!("it has not asked within {INIT:?}: {}", function.process.output())
            }
        }
    }

    /// Starts one that is to refuse its settings, and waits until it has ended.
    ///
    /// # Panics
    /// If it asks for an event.
    pub async fn refused(program: Command) -> Ended {
        let function = Self::spawn(program);
        tokio::select! {
            () = function.api.polled() => panic!("it started: {}", function.process.output()),
            ended = function.process.ended() => ended,
        }
    }

    fn spawn(mut program: Command) -> Self {
        let api = Arc::new(Api::default());
        let socket = http::bind((Ipv4Addr::LOCALHOST, 0).into());
        let address = socket.local_addr().expect("a bound socket has an address").to_string();
        let server = api::start(socket, &api);
        let name = Path::new(program.as_std().get_program()).file_name().unwrap().to_owned();
        let container = Uuid::new_v4().simple();
        program.env("AWS_LAMBDA_FUNCTION_NAME", name).envs([
            ("AWS_LAMBDA_RUNTIME_API", address),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256".to_owned()),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
            ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/test".to_owned()),
            ("AWS_LAMBDA_LOG_STREAM_NAME", format!("2026/11/30/[$LATEST]{container}")),
            ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
        ]);
        Self { process: Process::start(program), api, _server: server }
    }

    /// Sends it an event, with a deadline that far away, and waits for what it answers: an `Err` is the error that it
    /// reports.
    ///
    /// # Panics
    /// If it ends, or if the deadline passes without an answer.
    ///
    /// # Cancellation
    /// A dropped future leaves the event with the function.
    pub async fn invoke(&self, event: &Value, time: Duration) -> Result<Value, Value> {
        tokio::select! {
            answer = self.api.invoke(event, time) => answer,
            ended = self.process.end() => panic!("it ended without an answer: {ended:?}"),
            () = tokio::time::sleep(time) => {
                panic!("no answer within {time:?}: {}", self.process.output())
            }
        }
    }
}
