//! Whether the connection is encrypted.

use std::net::IpAddr;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::settings::auth::Auth;
use crate::settings::database_url::Source;
use crate::settings::reader::Reader;
use crate::settings::table;

/// Whether the connection is encrypted. There is no third way: encryption that does not verify whom
/// it talks to keeps out nobody who can reach the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Security {
    /// No TLS.
    Plain,
    /// TLS, with certificate and host name verified.
    Verified {
        /// The only authorities to trust, if given.
        ca_file: Option<PathBuf>,
    },
}

impl Security {
    /// The settings win over the URL's own options.
    pub(super) fn read(reader: &mut Reader, source: &Source, auth: &Auth) -> Self {
        let ca_file = reader.text(&table::DATABASE_CA_FILE).map(PathBuf::from);
        let ca_file = ca_file.or_else(|| source.ca_file.clone());
        let mode = reader.word_if_given(&table::DATABASE_SSLMODE).or(source.sslmode.as_deref());
        let is_plain = match mode {
            Some(mode) => mode == "disable",
            None => *auth != Auth::Iam && ca_file.is_none() && is_local(&source.connection),
        };
        if is_plain && *auth == Auth::Iam && !is_local(&source.connection) {
            let problem = "is disable, and whoever reads a token of OUTBOX_DATABASE_AUTH=iam can sign in with it; \
                           only a loopback address may do without TLS";
            reader.refuse(&table::DATABASE_SSLMODE, problem);
        }
        if is_plain && ca_file.is_some() {
            let problem = "is disable though a file of certificate authorities is given";
            reader.refuse(&table::DATABASE_SSLMODE, problem);
        }
        if is_plain { Self::Plain } else { Self::Verified { ca_file } }
    }
}

/// Whether no byte of the connection leaves this machine.
fn is_local(connection: &Config) -> bool {
    let is_local_host = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    };
    // Where a secret is to name the host, it may be anywhere.
    !connection.get_hosts().is_empty()
        && connection.get_hosts().iter().all(is_local_host)
        && connection.get_hostaddrs().iter().all(IpAddr::is_loopback)
}
