//! A port of the loopback interface and what answers on it, for the scripted endpoint and the scripted runtime.

use std::convert::Infallible;
use std::net::SocketAddr;

use http_body_util::Full;
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) type Response = hyper::Response<Full<Bytes>>;

/// A connection that ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("dropped by the script")]
pub(crate) struct Dropped;

/// Takes an address, without listening on it: connections are refused.
pub(crate) fn bind(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("there is a free socket");
    // Connections of before may linger on the same port.
    socket.set_reuseaddr(true).expect("the option exists");
    socket.bind(address).expect("the address is free");
    socket
}

/// A listening port and its connections; both are closed when it is dropped.
pub(crate) struct Server(JoinHandle<Infallible>);

impl Server {
    /// Listens there, on the current tokio runtime, and answers every request so.
    pub(crate) fn start<A, F>(socket: TcpSocket, answer: A) -> Self
    where
        A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response, Dropped>> + Send + 'static,
    {
        let listener = socket.listen(1024).expect("the port is bound and ours");
        Self(tokio::spawn(listen(listener, answer)))
    }

    /// Closes the port and waits until it is closed.
    pub(crate) async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn listen<A, F>(listener: TcpListener, answer: A) -> Infallible
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response, Dropped>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let answer = answer.clone();
        connections.spawn(async move {
            // An error here is a sender that went away, or a connection dropped by the script.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
    }
}

/// An answer with that body and nothing else.
pub(crate) fn respond(status: u16, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status.try_into().expect("the script names an HTTP status");
    response
}
