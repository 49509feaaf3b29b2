//! The way to a database that is not there yet.

use std::net::Ipv4Addr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use url::Url;

/// A port of the loopback interface where nobody answers, until it opens.
pub(super) enum Door {
    /// Nothing listens.
    Refuses(TcpSocket),
    /// The kernel accepts connections, and nobody else.
    Silent(TcpListener),
}

impl Door {
    pub(super) fn refuses() -> Self {
        Self::Refuses(bound())
    }

    pub(super) fn is_silent() -> Self {
        Self::Silent(bound().listen(16).unwrap())
    }

    /// Host and port.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Refuses(socket) => socket.local_addr(),
            Self::Silent(listener) => listener.local_addr(),
        }
        .unwrap()
        .to_string()
    }

    /// The URL, with this door in the place of its host and port.
    pub(super) fn url(&self, url: &str) -> String {
        let (mut url, address) = (Url::parse(url).unwrap(), self.address());
        let (host, port) = address.split_once(':').unwrap();
        url.set_host(Some(host)).unwrap();
        url.set_port(Some(port.parse().unwrap())).unwrap();
        url.into()
    }

    /// From now on connections lead to the server of that URL.
    pub(super) fn opens_to(self, url: &str) {
        let url = Url::parse(url).unwrap();
        let server = format!("{}:{}", url.host().unwrap(), url.port().unwrap_or(5432));
        let listener = match self {
            Self::Refuses(socket) => socket.listen(16).unwrap(),
            Self::Silent(listener) => listener,
        };
        tokio::spawn(async move {
            while let Ok((mut here, _)) = listener.accept().await {
                let mut there = TcpStream::connect(&server).await.unwrap();
                // Either side may go away as it likes.
                tokio::spawn(async move { copy_bidirectional(&mut here, &mut there).await });
            }
        });
    }
}

fn bound() -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    socket
}
