//! A Postgres server of a test's own that speaks TLS, and an authority that signs its certificate.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use outbox_tests::{eventually, postgres_bin};
use rcgen::{
    BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SignatureAlgorithm, date_time_ymd,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};

use super::PASSWORD;

/// An authority that no one trusts who has not been given its file.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A server's certificate and key, as PEM.
pub(super) struct Certificate {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Authority {
    pub(super) fn new() -> Self {
        Self::signing_with(&rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// One that signs whatever it signs with this algorithm.
    pub(super) fn signing_with(algorithm: &'static SignatureAlgorithm) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate_for(algorithm).unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    pub(super) fn certify(
        &self,
        host: &str,
        algorithm: &'static SignatureAlgorithm,
    ) -> Certificate {
        self.certify_until(host, algorithm, 4096)
    }

    /// A certificate that has expired when that year began.
    pub(super) fn certify_until(
        &self,
        host: &str,
        algorithm: &'static SignatureAlgorithm,
        year: i32,
    ) -> Certificate {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Certificate { certificate, key: key.serialize_pem() }
    }
}

/// A running server; it is stopped and its data removed when dropped.
pub(super) struct Server {
    directory: PathBuf,
    pub(super) port: u16,
    process: Child,
}

impl Server {
    /// A server that offers TLS with that certificate, and keeps the authority's own beside its data.
    pub(super) async fn start(authority: &Authority, certificate: &Certificate) -> Self {
        Self::start_with(authority, certificate, &[]).await
    }

    /// The same with further settings, which win.
    pub(super) async fn start_with(
        authority: &Authority,
        certificate: &Certificate,
        settings: &[&str],
    ) -> Self {
        let template = std::env::temp_dir().join("outbox-tls.XXXXXX");
        let directory = output("mktemp", &["-d", template.to_str().unwrap()]).await;
        let directory = PathBuf::from(directory.trim());
        let in_it = |name: &str| directory.join(name).to_str().unwrap().to_owned();
        write(&in_it("password"), PASSWORD).await;
        write(&in_it("ca.pem"), &authority.pem).await;
        write(&in_it("server.pem"), &certificate.certificate).await;
        write(&in_it("server.key"), &certificate.key).await;
        let (data, password) = (in_it("data"), format!("--pwfile={}", in_it("password")));
        let initdb = program("initdb");
        let how = ["-D", &data, "-U", "postgres", "-A", "scram-sha-256", &password, "--no-sync"];
        output(&initdb, &how).await;
        // Whoever comes without TLS is turned away.
        let who = "hostssl all all all scram-sha-256\n";
        write(&in_it("data/pg_hba.conf"), who).await;

        let port = free_port().await;
        let mut command = as_server(&program("postgres"));
        command.args(["-D", &data, "-p", &port.to_string(), "-k", ""]);
        for setting in [
            "listen_addresses=127.0.0.1".to_owned(),
            "fsync=off".to_owned(),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", in_it("server.pem")),
            format!("ssl_key_file={}", in_it("server.key")),
        ] {
            command.args(["-c", &setting]);
        }
        for setting in settings {
            command.args(["-c", setting]);
        }
        let process = command.stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        let server = Self { directory, port, process };
        // Being turned away is an answer, too.
        let mut without_tls = Config::new();
        without_tls.host("127.0.0.1").port(port).user("postgres");
        let turned_away = async || {
            let error = without_tls.connect(NoTls).await.err()?;
            (error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)).then_some(())
        };
        eventually("a server with TLS", turned_away).await;
        server
    }

    /// The superuser's address of it, by this name of this machine.
    pub(super) fn url(&self, host: &str) -> String {
        format!("postgres://postgres:{PASSWORD}@{host}:{}/postgres", self.port)
    }

    /// From now on it shows another certificate, of another authority.
    pub(super) async fn change(&self, authority: &Authority, certificate: &Certificate) {
        let in_it = |name: &str| self.directory.join(name).to_str().unwrap().to_owned();
        write(&in_it("ca.pem"), &authority.pem).await;
        write(&in_it("server.pem"), &certificate.certificate).await;
        write(&in_it("server.key"), &certificate.key).await;
        let id = self.process.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().await.unwrap().success());
    }

    /// The file of the authority that signed its certificate.
    pub(super) fn ca_file(&self) -> String {
        self.directory.join("ca.pem").to_str().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // At once, and its shared memory with it; SIGKILL would leave that behind.
        if let Some(id) = self.process.id() {
            let _ = std::process::Command::new("kill").args(["-QUIT", &id.to_string()]).status();
        }
        let is_gone = |process: &mut Child| !matches!(process.try_wait(), Ok(None));
        let started = Instant::now();
        while !is_gone(&mut self.process) && started.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Postgres and `PgBouncer` refuse to run as root; they are run as nobody then, as the local stack's own server.
pub(crate) fn as_server(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let group = std::process::Command::new("id").args(["-gn", "nobody"]).output().unwrap();
    let group = String::from_utf8(group.stdout).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", &format!("--regid={}", group.trim()), "--clear-groups"]);
    command.arg(program).env("HOME", "/").current_dir("/");
    command
}

pub(crate) async fn output(program: &str, args: &[&str]) -> String {
    let output = as_server(program).args(args).output().await.unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Writes a file that belongs to the server's user alone, as Postgres demands of a key.
pub(crate) async fn write(path: &str, text: &str) {
    let mut command = as_server("sh");
    command.args(["-c", "umask 077; cat > \"$0\"", path]).stdin(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(text.as_bytes()).await.unwrap();
    assert!(process.wait().await.unwrap().success());
}

fn program(name: &str) -> String {
    postgres_bin().join(name).to_str().unwrap().to_owned()
}

pub(crate) async fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port()
}
