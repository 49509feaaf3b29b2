//! A `PgBouncer` of a test's own, in transaction mode: two connections to the server for whoever comes, and nothing
//! of a session survives a transaction.

use std::path::PathBuf;
use std::process::Stdio;

use outbox_tests::{eventually, pgbouncer};
use tokio::process::Child;
use tokio_postgres::{Config, NoTls};
use url::Url;

use crate::connect::server::{as_server, free_port, output, write};

/// A running `PgBouncer`; it is killed and its files removed when dropped.
pub(crate) struct PgBouncer {
    directory: PathBuf,
    port: u16,
    _process: Child,
}

impl PgBouncer {
    /// One that leads to the server of these URLs, for their users.
    pub(crate) async fn start(urls: &[&str]) -> Self {
        let template = std::env::temp_dir().join("outbox-pgbouncer.XXXXXX");
        let directory = output("mktemp", &["-d", template.to_str().unwrap()]).await;
        let directory = PathBuf::from(directory.trim());
        let in_it = |name: &str| directory.join(name).to_str().unwrap().to_owned();
        let (program, port) = (pgbouncer(), free_port().await);
        let program = program.to_str().unwrap();

        let urls: Vec<Url> = urls.iter().map(|url| Url::parse(url).unwrap()).collect();
        let user = |url: &Url| format!("\"{}\" \"{}\"\n", url.username(), url.password().unwrap());
        write(&in_it("users"), &urls.iter().map(user).collect::<String>()).await;
        let (host, server_port) = (urls[0].host_str().unwrap(), urls[0].port().unwrap_or(5432));
        let mut settings = format!(
            "[databases]\n* = host={host} port={server_port}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = scram-sha-256\nauth_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = 2\nmax_db_connections = 2\n",
            in_it("users")
        );
        // From 1.21 on it can keep prepared statements; before that it does not, nor does it know the setting.
        if version(program).await >= [1, 21] {
            settings += "max_prepared_statements = 0\n";
        }
        write(&in_it("pgbouncer.ini"), &settings).await;

        let mut command = as_server(program);
        command.arg(in_it("pgbouncer.ini")).stderr(Stdio::null()).kill_on_drop(true);
        let pgbouncer = Self { directory, port, _process: command.spawn().unwrap() };
        let config: Config = pgbouncer.url(urls[0].as_str()).parse().unwrap();
        let answers = async || config.connect(NoTls).await.ok().map(drop);
        eventually("PgBouncer", answers).await;
        pgbouncer
    }

    /// The same database and user by way of this pooler.
    pub(crate) fn url(&self, url: &str) -> String {
        let mut url = Url::parse(url).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.port)).unwrap();
        url.into()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// `PgBouncer 1.18.0`, and more lines.
async fn version(program: &str) -> [u32; 2] {
    let said = output(program, &["--version"]).await;
    let number = said.split_whitespace().nth(1).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    [parts.next().unwrap_or(0), parts.next().unwrap_or(0)]
}
