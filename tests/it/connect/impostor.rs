//! A server between a program and its database, with a certificate of its own: it reads all that passes.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::PASSWORD;
use super::server::{Certificate, Server};

/// Postgres' request for TLS: eight bytes, and this number.
const REQUEST_FOR_TLS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// It stops with the test's runtime.
pub(super) struct Impostor {
    port: u16,
}

impl Impostor {
    pub(super) async fn before(server: &Server, certificate: &Certificate) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (acceptor, connector) = (acceptor(certificate), connector(&server.ca_file()));
        let there = server.port;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass(stream, there, acceptor.clone(), connector.clone()));
            }
        });
        Self { port }
    }

    pub(super) fn url(&self, host: &str) -> String {
        format!("postgres://postgres:{PASSWORD}@{host}:{}/postgres", self.port)
    }
}

async fn pass(mut here: TcpStream, there: u16, acceptor: TlsAcceptor, connector: TlsConnector) {
    let mut request = [0; 8];
    here.read_exact(&mut request).await.unwrap();
    assert_eq!(request, REQUEST_FOR_TLS);
    here.write_all(b"S").await.unwrap();
    // The other side may hang up at any time.
    let Ok(mut here) = acceptor.accept(here).await else { return };

    let mut there = TcpStream::connect(("127.0.0.1", there)).await.unwrap();
    there.write_all(&REQUEST_FOR_TLS).await.unwrap();
    assert_eq!(there.read_u8().await.unwrap(), b'S');
    let name = ServerName::try_from("localhost").unwrap();
    let Ok(mut there) = connector.connect(name, there).await else { return };
    let _ = copy_bidirectional(&mut here, &mut there).await;
}

fn acceptor(certificate: &Certificate) -> TlsAcceptor {
    let chain = vec![CertificateDer::from_pem_slice(certificate.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn connector(ca_file: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca_file).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}
