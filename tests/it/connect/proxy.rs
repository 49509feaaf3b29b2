//! A way to a server that can go silent, as a firewall makes it that forgets an idle connection.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Passes bytes on in both directions.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    silence: Arc<Notify>,
}

impl Proxy {
    pub(crate) async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let silence = Arc::new(Notify::new());
        let silenced = silence.clone();
        tokio::spawn(async move {
            while let Ok((here, _)) = listener.accept().await {
                let there = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(pass(here, there, silenced.clone()));
            }
        });
        Self { port, silence }
    }

    /// From now on the connections there are stay open, and no byte passes. New ones are not affected.
    pub(crate) fn silence(&self) {
        self.silence.notify_waiters();
    }
}

async fn pass(mut here: TcpStream, mut there: TcpStream, silenced: Arc<Notify>) {
    tokio::select! {
        _ = copy_bidirectional(&mut here, &mut there) => {}
        () = silenced.notified() => std::future::pending().await,
    }
}
