//! Where the database is, and who signs in.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::settings::Program;
use crate::settings::database_url::{self, Source};
use crate::settings::reader::Reader;
use crate::settings::security::Security;
use crate::settings::setting::Setting;
use crate::settings::table;

/// How to reach the database. Neither its text nor its `Debug` form shows the password.
#[derive(Clone, Debug)]
pub struct Database {
    /// Everything the driver has to know; its `Debug` form leaves out the password (case L13).
    pub(crate) connection: Config,
    pub(crate) security: Security,
    /// Longest time to open one connection, all of its steps together.
    pub(crate) connect_timeout: Duration,
}

/// Host, port, database and role: what a person needs in order to know which one is meant.
impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.connection.get_ports();
        for (i, host) in self.connection.get_hosts().iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let port = ports.get(i).or(ports.first()).unwrap_or(&5432);
            match host {
                Host::Tcp(name) if name.contains(':') => write!(f, "{comma}[{name}]:{port}")?,
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                Host::Unix(directory) => write!(f, "{comma}{}:{port}", directory.display())?,
            }
        }
        let name = self.connection.get_dbname().unwrap_or_default();
        let user = self.connection.get_user().unwrap_or_default();
        write!(f, "/{name} as {user}")
    }
}

impl Database {
    pub(super) fn read(reader: &mut Reader, program: Program) -> Self {
        let source = source(reader);
        let connect_timeout = Duration::from_secs(reader.whole(&table::CONNECT_TIMEOUT).into());
        let security = Security::read(reader, &source);
        let mut connection = source.connection;
        connection
            .ssl_mode(if security == Security::Plain { SslMode::Disable } else { SslMode::Require })
            // For each address: of two, the second gets its turn when the first does not answer.
            .connect_timeout(connect_timeout / 2)
            // A firewall drops what is idle for minutes; the system's own first probe comes after two hours.
            .keepalives_idle(Duration::from_secs(30))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3)
            .tcp_user_timeout(Duration::from_secs(10));
        if connection.get_application_name().is_none() {
            connection.application_name(format!("outbox-{}", program.name()));
        }
        Self { connection, security, connect_timeout }
    }
}

/// The URL, or the parts, or else the URL that other tools read.
fn source(reader: &mut Reader) -> Source {
    check_auth(reader);
    let parts = [
        &table::DATABASE_HOST,
        &table::DATABASE_PORT,
        &table::DATABASE_NAME,
        &table::DATABASE_USER,
    ];
    let has_parts = parts.iter().any(|part| reader.text(part).is_some());
    if reader.text(&table::DATABASE_URL).is_some() {
        for part in parts {
            if reader.text(part).is_some() {
                reader.refuse(part, "is given beside OUTBOX_DATABASE_URL, and one of them must go");
            }
        }
        from_url(reader, &table::DATABASE_URL)
    } else if has_parts {
        from_parts(reader)
    } else if reader.text(&table::PLAIN_DATABASE_URL).is_some() {
        from_url(reader, &table::PLAIN_DATABASE_URL)
    } else {
        let problem =
            "is not set, nor are DATABASE_URL, or OUTBOX_DATABASE_HOST, _NAME, _USER and _PASSWORD";
        reader.refuse(&table::DATABASE_URL, problem);
        Source::default()
    }
}

fn check_auth(reader: &mut Reader) {
    match reader.text(&table::DATABASE_AUTH) {
        Some("iam" | "secret") => reader.refuse(&table::DATABASE_AUTH, "is not supported yet"),
        _ => _ = reader.word(&table::DATABASE_AUTH),
    }
}

fn from_url(reader: &mut Reader, setting: &Setting) -> Source {
    let url = reader.text(setting).unwrap_or_default();
    let mut url = match database_url::parse(url) {
        Ok(url) => url,
        Err(problem) => {
            reader.refuse(setting, &problem);
            return Source::default();
        }
    };
    match reader.text(&table::DATABASE_PASSWORD) {
        Some(_) if url.connection.get_password().is_some() => {
            let problem = format!("is given beside {}, which holds a password too", setting.name);
            reader.refuse(&table::DATABASE_PASSWORD, &problem);
        }
        Some(password) => _ = url.connection.password(password),
        None => {}
    }
    url
}

fn from_parts(reader: &mut Reader) -> Source {
    let mut connection = Config::new();
    if let Some(host) = part(reader, &table::DATABASE_HOST) {
        if is_host(&host) {
            connection.host(host);
        } else {
            reader.refuse(&table::DATABASE_HOST, "is not a plain host");
        }
    }
    let port = reader.whole(&table::DATABASE_PORT);
    connection.port(u16::try_from(port).unwrap_or_default());
    if let Some(name) = part(reader, &table::DATABASE_NAME) {
        connection.dbname(name);
    }
    if let Some(user) = part(reader, &table::DATABASE_USER) {
        connection.user(user);
    }
    if let Some(password) = part(reader, &table::DATABASE_PASSWORD) {
        connection.password(password);
    }
    Source { connection, ..Source::default() }
}

fn part(reader: &mut Reader, setting: &Setting) -> Option<String> {
    let value = reader.text(setting).map(str::to_owned);
    if value.is_none() {
        reader.refuse(setting, "is not set, though other parts of the database are");
    }
    value
}

/// `host:port` and a whole URL are what people put here by mistake.
fn is_host(host: &str) -> bool {
    let is_name = !host.contains([':', '/', '@', ',', '?']) && !host.contains(char::is_whitespace);
    is_name || host.starts_with('/') || host.parse::<IpAddr>().is_ok()
}
