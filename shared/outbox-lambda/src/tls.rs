//! TLS to the database: where there is TLS, certificate and host name are verified.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, crypto};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Error;
use crate::settings::Security;

mod roots;

/// What the driver needs to speak TLS, if this database is to be spoken to so.
pub(crate) fn connector(security: &Security) -> Result<MakeRustlsConnect, Error> {
    let roots = match security {
        Security::Plain => RootCertStore::empty(),
        Security::Verified { ca_file: None } => roots::built_in(),
        Security::Verified { ca_file: Some(path) } => read_roots(path)?,
    };
    // The provider is named here, so that no program has to install one for the whole process first.
    let config =
        ClientConfig::builder_with_provider(Arc::new(crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("aws-lc-rs has the cipher suites of TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The file's authorities, and no others: whoever names his own does not want those that are built in.
fn read_roots(path: &Path) -> Result<RootCertStore, Error> {
    let refuse = |problem: String| Error::CaFile { path: path.to_owned(), problem };
    let pem = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    add(&mut roots, &pem).map_err(refuse)?;
    if roots.is_empty() { Err(refuse("it holds no certificate".to_owned())) } else { Ok(roots) }
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), String> {
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_file_those_built_in_are_trusted() {
        assert!(connector(&Security::Verified { ca_file: None }).is_ok());
        assert!(connector(&Security::Plain).is_ok());
    }

    #[test]
    fn a_file_that_holds_no_authority_is_refused_by_its_name() {
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (name, text) in [
            ("absent", None),
            ("empty", Some("")),
            ("key", Some(key)),
            ("broken", Some(broken)),
            ("cut", Some("-----BEGIN CERTIFICATE-----\nAAAA\n")),
        ] {
            let file = format!("outbox-ca-{}-{name}.pem", std::process::id());
            let path = std::env::temp_dir().join(file);
            if let Some(text) = text {
                std::fs::write(&path, text).expect("the temporary directory takes files");
            }
            let error = connector(&Security::Verified { ca_file: Some(path.clone()) });
            let error = error.err().expect(name).to_string();
            assert!(error.contains(path.to_str().expect("ASCII")), "{error}");
            assert!(error.contains("OUTBOX_DATABASE_CA_FILE"), "{error}");
            drop(std::fs::remove_file(path));
        }
    }
}
