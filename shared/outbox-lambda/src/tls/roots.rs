//! The authorities that are built in: those of RDS and Aurora, and Amazon's own, which sign RDS Proxy.
//!
//! Not the web's: any of a hundred companies could then sign for the database. `roots/README.md` says where the files
//! come from and how to refresh them.

use rustls::RootCertStore;

use super::add;

const RDS: &[u8] = include_bytes!("../../roots/rds.pem");
const AMAZON: &[u8] = include_bytes!("../../roots/amazon.pem");

pub(super) fn built_in() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for pem in [RDS, AMAZON] {
        add(&mut roots, pem).expect("a test reads every certificate that is built in");
    }
    roots
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::time::{Duration, SystemTime};

    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use sha2::{Digest, Sha256};
    use x509_cert::Certificate;
    use x509_cert::der::Decode;

    use super::*;

    const README: &str = include_str!("../../roots/README.md");

    fn certificates(pem: &[u8]) -> Vec<Certificate> {
        let ders = CertificateDer::pem_slice_iter(pem).map(|der| der.expect("a certificate"));
        ders.map(|der| Certificate::from_der(&der).expect("a certificate")).collect()
    }

    /// A row of the table in `roots/README.md`.
    fn row(file: &str) -> &'static str {
        let start = format!("| `{file}` |");
        README.lines().find(|line| line.starts_with(&start)).expect("a row of the table")
    }

    #[test]
    fn the_files_are_those_whose_hashes_and_counts_their_readme_tells() {
        for (file, pem) in [("rds.pem", RDS), ("amazon.pem", AMAZON)] {
            let mut hash = String::new();
            for byte in Sha256::digest(pem) {
                write!(hash, "{byte:02x}").expect("a string takes all text");
            }
            assert!(row(file).contains(&hash), "{file}: {hash}");
            let count = certificates(pem).len();
            assert!(row(file).contains(&format!(" {count} root certificates")), "{file}: {count}");
        }
        assert_eq!(built_in().len(), certificates(RDS).len() + certificates(AMAZON).len());
    }

    /// By the real clock: it is to fail one day, while there is still time to refresh the files.
    #[test]
    fn none_of_them_expires_within_90_days() {
        let soon = SystemTime::now() + Duration::from_hours(90 * 24);
        for certificate in [certificates(RDS), certificates(AMAZON)].concat() {
            let certificate = certificate.tbs_certificate;
            let until = certificate.validity.not_after.to_system_time();
            assert!(until > soon, "{} expires at {until:?}", certificate.subject);
            assert_eq!(certificate.issuer, certificate.subject, "a root signs itself");
        }
    }

    /// Another source, which Mozilla vouches for.
    #[test]
    fn amazons_own_are_those_that_the_web_trusts() {
        let mut roots = RootCertStore::empty();
        add(&mut roots, AMAZON).expect("a test reads them");
        assert_eq!(roots.len(), 5);
        for root in roots.roots {
            assert!(webpki_roots::TLS_SERVER_ROOTS.contains(&root), "{root:?}");
        }
    }

    #[test]
    fn each_region_has_its_three_authorities() {
        let names = certificates(RDS);
        let names: Vec<_> = names.iter().map(|it| it.tbs_certificate.subject.to_string()).collect();
        for region in ["us-east-1", "us-west-2", "eu-central-1", "ap-southeast-4", "sa-east-1"] {
            for kind in ["RSA2048", "RSA4096", "ECC384"] {
                let name = format!("Amazon RDS {region} Root CA {kind} G1");
                assert!(names.iter().any(|subject| subject.contains(&name)), "{name}");
            }
        }
    }
}
