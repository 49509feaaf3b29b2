//! As much of a Postgres server as a sign-in takes: it asks for a password in the clear, as RDS does for a token, keeps
//! it, and refuses it.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A listening server; it stops with the test's runtime.
pub(super) struct PasswordServer {
    /// Host and port.
    pub(super) address: String,
    passwords: Arc<Mutex<Vec<String>>>,
}

impl PasswordServer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let passwords = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&passwords);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let password = refused(stream).await;
                kept.lock().unwrap().push(password);
            }
        });
        Self { address, passwords }
    }

    /// What it has been sent so far, one for each connection.
    pub(super) fn passwords(&self) -> Vec<String> {
        self.passwords.lock().unwrap().clone()
    }
}

/// Takes the startup message, then one password, and refuses it.
async fn refused(mut stream: TcpStream) -> String {
    rest_of_message(&mut stream).await;
    // Authentication, of kind 3: a password in the clear.
    stream.write_all(b"R\0\0\0\x08\0\0\0\x03").await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), b'p');
    let password = rest_of_message(&mut stream).await;
    let fields = b"SFATAL\0C28P01\0MPAM authentication failed\0\0";
    stream.write_all(b"E").await.unwrap();
    stream.write_u32(u32::try_from(fields.len()).unwrap() + 4).await.unwrap();
    stream.write_all(fields).await.unwrap();
    String::from_utf8(password).unwrap().trim_end_matches('\0').to_owned()
}

/// What comes behind a message's length, which counts itself.
async fn rest_of_message(stream: &mut TcpStream) -> Vec<u8> {
    let length = stream.read_u32().await.unwrap();
    let mut rest = vec![0; usize::try_from(length).unwrap() - 4];
    stream.read_exact(&mut rest).await.unwrap();
    rest
}
