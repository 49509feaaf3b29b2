//! Where the database is, and who signs in.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::settings::Program;
use crate::settings::auth::Auth;
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
    pub(crate) auth: Auth,
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
        let slash = if name.is_empty() { "" } else { "/" };
        write!(f, "{slash}{name}")?;
        match &self.auth {
            // Its user is the one that counts, whatever the settings say.
            Auth::Secret { arn } if self.connection.get_hosts().is_empty() && name.is_empty() => {
                write!(f, "of the secret {arn}")
            }
            Auth::Secret { arn } => write!(f, " of the secret {arn}"),
            _ => write!(f, " as {}", self.connection.get_user().unwrap_or_default()),
        }
    }
}

impl Database {
    pub(super) fn read(reader: &mut Reader, program: Program) -> Self {
        let auth = Auth::read(reader);
        let source = source(reader, &auth);
        let connect_timeout = Duration::from_secs(reader.whole(&table::CONNECT_TIMEOUT).into());
        let security = Security::read(reader, &source, &auth);
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
        Self { connection, security, auth, connect_timeout }
    }
}

/// The URL, or the parts, or else the URL that other tools read.
fn source(reader: &mut Reader, auth: &Auth) -> Source {
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
        from_url(reader, &table::DATABASE_URL, auth)
    } else if has_parts || auth.may_name_place() {
        from_parts(reader, auth)
    } else if reader.text(&table::PLAIN_DATABASE_URL).is_some() {
        from_url(reader, &table::PLAIN_DATABASE_URL, auth)
    } else {
        let problem =
            "is not set, nor are DATABASE_URL, or OUTBOX_DATABASE_HOST, _NAME, _USER and _PASSWORD";
        reader.refuse(&table::DATABASE_URL, problem);
        Source::default()
    }
}

fn from_url(reader: &mut Reader, setting: &Setting, auth: &Auth) -> Source {
    let url = reader.text(setting).unwrap_or_default();
    let mut url = match database_url::parse(url, auth) {
        Ok(url) => url,
        Err(problem) => {
            reader.refuse(setting, &problem);
            return Source::default();
        }
    };
    auth.check_url(reader, setting, &url.connection);
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

fn from_parts(reader: &mut Reader, auth: &Auth) -> Source {
    let mut connection = Config::new();
    if let Some(host) = part(reader, &table::DATABASE_HOST, auth) {
        if is_host(&host) {
            connection.host(host);
        } else {
            reader.refuse(&table::DATABASE_HOST, "is not a plain host");
        }
    }
    if reader.text(&table::DATABASE_PORT).is_some() || !auth.may_name_place() {
        let port = reader.whole(&table::DATABASE_PORT);
        connection.port(u16::try_from(port).unwrap_or_default());
    }
    if let Some(name) = part(reader, &table::DATABASE_NAME, auth) {
        connection.dbname(name);
    }
    if let Some(user) = part(reader, &table::DATABASE_USER, auth) {
        connection.user(user);
    }
    if *auth == Auth::Password
        && let Some(password) = part(reader, &table::DATABASE_PASSWORD, auth)
    {
        connection.password(password);
    }
    auth.check_host(reader, &table::DATABASE_HOST, &connection);
    Source { connection, ..Source::default() }
}

/// A secret may hold what is left out here.
fn part(reader: &mut Reader, setting: &Setting, auth: &Auth) -> Option<String> {
    let value = reader.text(setting).map(str::to_owned);
    if value.is_none() && !auth.may_name_place() {
        reader.refuse(setting, "is not set, though other parts of the database are");
    }
    // It would be in every error as the name of the database or the user, password and all.
    if !setting.is_secret && value.as_ref().is_some_and(|value| value.contains("://")) {
        reader.refuse(setting, "is a URL, which goes into OUTBOX_DATABASE_URL");
        return None;
    }
    value
}

/// `host:port` and a whole URL are what people put here by mistake.
fn is_host(host: &str) -> bool {
    let is_name = !host.contains([':', '/', '@', ',', '?']) && !host.contains(char::is_whitespace);
    is_name || host.starts_with('/') || host.parse::<IpAddr>().is_ok()
}
