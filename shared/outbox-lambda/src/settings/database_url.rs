//! Reads a connection URL: the driver's own syntax, and the TLS options that it does not know.
//!
//! Nothing of the URL is repeated in a problem. Where a password holds a character that should have
//! been escaped, pieces of it turn up as host, port or option.

use std::error::Error as _;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;
use url::form_urlencoded;

use crate::settings::auth::Auth;

/// What a URL says, or the parts in its place.
#[derive(Default)]
pub(super) struct Source {
    pub(super) connection: Config,
    pub(super) sslmode: Option<String>,
    pub(super) ca_file: Option<PathBuf>,
}

/// Reads `postgres://USER:PASSWORD@HOST:PORT/NAME?OPTIONS`.
pub(super) fn parse(url: &str, auth: &Auth) -> Result<Source, String> {
    let url = url.trim();
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("does not begin with postgres://".to_owned());
    }
    if url.matches('@').count() > 1 {
        return Err("has more than one @; inside a user or password it is written %40".to_owned());
    }
    let (url, tls_options) = take_tls_options(url);
    let connection: Config = url.parse().map_err(|error| what_the_driver_says(&error))?;
    check_complete(&connection, auth)?;
    let (sslmode, ca_file) = read_tls_options(tls_options)?;
    Ok(Source { connection, sslmode, ca_file })
}

/// The URL without the options that the driver refuses or reads its own way, and those options.
fn take_tls_options(url: &str) -> (String, Vec<&str>) {
    // A password may hold a ?, so the options begin behind the @.
    let credentials_end = url.find('@').unwrap_or(0);
    let Some(options_start) = url[credentials_end..].find('?').map(|at| credentials_end + at)
    else {
        return (url.to_owned(), Vec::new());
    };
    let (head, options) = (&url[..options_start], &url[options_start + 1..]);
    let is_ours =
        |option: &&str| option.starts_with("sslmode=") || option.starts_with("sslrootcert=");
    let (ours, rest): (Vec<_>, Vec<_>) = options.split('&').partition(is_ours);
    (format!("{head}?{}", rest.join("&")), ours)
}

fn read_tls_options(options: Vec<&str>) -> Result<(Option<String>, Option<PathBuf>), String> {
    let (mut sslmode, mut ca_file) = (None, None);
    for option in options {
        // A plus is a plus here, other than in a form.
        let option = option.replace('+', "%2B");
        for (name, value) in form_urlencoded::parse(option.as_bytes()) {
            match (&*name, &*value) {
                ("sslmode", "disable" | "require" | "verify-full") => {
                    sslmode = Some(value.into_owned());
                }
                ("sslmode", mode) => return Err(what_is_wrong_with_sslmode(mode)),
                // libpq's word for the system's own authorities.
                (_, "system" | "") => {}
                (_, path) => ca_file = Some(PathBuf::from(path)),
            }
        }
    }
    Ok((sslmode, ca_file))
}

fn what_is_wrong_with_sslmode(mode: &str) -> String {
    let problem = match mode {
        "allow" | "prefer" | "verify-ca" => {
            format!("sslmode={mode}, which leaves something unverified")
        }
        _ => "an sslmode that there is not".to_owned(),
    };
    format!("asks for {problem} (disable, require and verify-full are allowed)")
}

/// The driver would fill the gaps from the operating system's user, and fail at the first connection.
/// Only the user may be the secret's: whoever writes a URL knows the place.
fn check_complete(connection: &Config, auth: &Auth) -> Result<(), String> {
    let has_no_host = connection.get_hosts().is_empty()
        || connection.get_hosts().contains(&Host::Tcp(String::new()));
    let has_no_user = connection.get_user().is_none_or(str::is_empty);
    let missing = if has_no_user && !auth.may_name_place() {
        "user"
    } else if has_no_host {
        "host"
    } else if connection.get_dbname().is_none_or(str::is_empty) {
        "database"
    } else {
        return Ok(());
    };
    Err(format!("names no {missing}"))
}

fn what_the_driver_says(error: &tokio_postgres::Error) -> String {
    match error.source().map(ToString::to_string) {
        // Names one of the driver's own options, never a piece of the URL.
        Some(problem) if problem.starts_with("invalid value") => format!("has an {problem}"),
        Some(problem) if problem.starts_with("unknown option") => {
            "has an option that is not supported".to_owned()
        }
        _ => "is not a URL that the driver understands".to_owned(),
    }
}
