//! Turns what a driver says into one sentence for a person: what happened, and what to check.

use std::error::Error as StdError;
use std::io;

use deadpool_postgres::PoolError;
use rustls::{AlertDescription, CertificateError};
use tokio_postgres::error::{DbError, SqlState};

use crate::carried::Unopened;
use crate::error::Error;
use crate::settings::{Database, Security};

/// What an error says about the connection, if it says anything: it or any of its sources may be the
/// driver's or the pool's. `None` if the database was reached and the statement itself failed.
pub fn explain(database: &Database, error: &(dyn StdError + 'static)) -> Option<Error> {
    chain(error).find_map(|error| {
        if let Some(error) = error.downcast_ref::<PoolError>() {
            of_pool(database, error)
        } else {
            error
                .downcast_ref::<tokio_postgres::Error>()
                .and_then(|error| of_driver(database, error))
        }
    })
}

/// The same for a connection that could not be opened, which is always about the connection.
pub(crate) fn explain_failure(database: &Database, error: &tokio_postgres::Error) -> Error {
    of_driver(database, error).unwrap_or_else(|| unreachable(database, with_sources(error)))
}

/// A failure of ours, on its way through the driver.
fn of_unopened(database: &Database, failure: &Unopened) -> Error {
    let seconds = database.connect_timeout.as_secs();
    match failure {
        Unopened::Credentials(error) => {
            credentials(database, error.to_string(), error.is_transient())
        }
        Unopened::CredentialsLate => {
            let problem = format!(
                "none within {seconds} s; check the endpoint of Secrets Manager or STS in the VPC, \
                 or the way to the internet"
            );
            credentials(database, problem, true)
        }
        Unopened::NoAnswer => unreachable(
            database,
            format!("no answer within {seconds} s; check host, port, security groups and routes"),
        ),
    }
}

fn of_pool(database: &Database, error: &PoolError) -> Option<Error> {
    match error {
        PoolError::Timeout(_) => {
            Some(busy(database, "all connections of this program are in use".to_owned()))
        }
        PoolError::Closed => Some(busy(database, "this program is shutting down".to_owned())),
        // The driver's own error is the source, and the next one of the chain.
        _ => None,
    }
}

fn of_driver(database: &Database, error: &tokio_postgres::Error) -> Option<Error> {
    if let Some(answer) = error.as_db_error() {
        return of_answer(database, answer);
    }
    if error.is_closed() {
        return Some(unreachable(database, "the connection was lost".to_owned()));
    }
    let cause = error.source()?;
    if let Some(failure) = cause.downcast_ref::<Unopened>() {
        return Some(of_unopened(database, failure));
    }
    if let Some(cause) = cause.downcast_ref::<io::Error>() {
        return Some(of_network(database, cause));
    }
    // The driver has no code for these, only its own English, which may change with its version:
    // `tests/it/connect.rs` and `connect/tls.rs` hold the sentences to what it says.
    match cause.to_string().as_str() {
        "server does not support TLS" => Some(tls(
            database,
            "the server does not offer TLS; switch it on there, or set \
             OUTBOX_DATABASE_SSLMODE=disable where nobody else is on the wire"
                .to_owned(),
        )),
        "password missing" => Some(sign_in(
            database,
            "it asks for a password and none is set; set OUTBOX_DATABASE_PASSWORD".to_owned(),
        )),
        "server did not use channel binding" => Some(sign_in(
            database,
            "channel_binding=require is asked for, and this server's certificate or way to sign in takes none; \
             leave it out, and it is used wherever it can be"
                .to_owned(),
        )),
        _ => None,
    }
}

/// The server's own answer, by its SQLSTATE. Its message is shown, its detail is not: that may quote
/// a row.
fn of_answer(database: &Database, answer: &DbError) -> Option<Error> {
    let state = answer.code();
    let said = format!("{} (SQLSTATE {})", answer.message(), state.code());
    let is_fatal = answer.severity() == "FATAL";
    Some(if *state == SqlState::INVALID_PASSWORD || is_poolers_refusal(answer) {
        sign_in(database, format!("{said}; check the user and the password"))
    } else if state.code().starts_with("28") {
        sign_in(
            database,
            format!("{said}; check pg_hba.conf, OUTBOX_DATABASE_SSLMODE and the user"),
        )
    } else if *state == SqlState::INVALID_CATALOG_NAME {
        sign_in(database, format!("{said}; check the name of the database"))
    } else if *state == SqlState::INSUFFICIENT_PRIVILEGE && is_fatal {
        sign_in(database, format!("{said}; grant CONNECT on the database to the role"))
    } else if *state == SqlState::TOO_MANY_CONNECTIONS {
        busy(database, format!("{said}; fewer functions at once, or a higher max_connections"))
    } else if state.code().starts_with("57P") || state.code().starts_with("53") {
        busy(database, said)
    } else if *state == SqlState::READ_ONLY_SQL_TRANSACTION {
        busy(database, format!("{said}; a replica, or a failover under way"))
    } else if state.code().starts_with("08") {
        unreachable(database, said)
    } else {
        return None;
    })
}

/// Whether it is the role or its password that is refused: wrong, or one that may not sign in (any more).
pub(crate) fn refuses_login(answer: &DbError) -> bool {
    let states = [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION];
    states.contains(answer.code()) || is_poolers_refusal(answer)
}

/// `PgBouncer` has one SQLSTATE for whatever it refuses; of a login it says "SASL authentication failed" (1.18), or
/// "password authentication failed".
fn is_poolers_refusal(answer: &DbError) -> bool {
    *answer.code() == SqlState::PROTOCOL_VIOLATION
        && answer.message().contains("authentication failed")
}

fn of_network(database: &Database, error: &io::Error) -> Error {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return of_tls(database, error);
    }
    let advice = match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there; check host and port",
        io::ErrorKind::TimedOut => "no answer; check host, port, security groups and routes",
        io::ErrorKind::NotFound => "no such socket; check host and port",
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => {
            "the other side closed the connection; check that it is Postgres"
        }
        _ => "check host and port",
    };
    unreachable(database, format!("{error}; {advice}"))
}

fn of_tls(database: &Database, error: &rustls::Error) -> Error {
    use CertificateError::{
        BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext,
        UnknownIssuer,
    };
    let advice = match error {
        // An authority of the same name with another key is another one.
        rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
            return tls(database, format!("{} ({error})", unknown_issuer(&database.security)));
        }
        rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
            "the server's certificate is for another host name; connect by a name that it is for"
        }
        rustls::Error::InvalidCertificate(Expired | ExpiredContext { .. }) => {
            "the server's certificate has expired; renew it on the server"
        }
        rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(AlertDescription::ProtocolVersion) => {
            "the server speaks no TLS that is safe; allow TLS 1.2 or 1.3 there (ssl_max_protocol_version)"
        }
        _ => "check the server's certificate",
    };
    tls(database, format!("{advice} ({error})"))
}

fn unknown_issuer(security: &Security) -> String {
    match security {
        Security::Verified { ca_file: Some(path) } => format!(
            "no authority of the file {} has signed the server's certificate; put that of the one that did \
             into OUTBOX_DATABASE_CA_FILE",
            path.display()
        ),
        _ => "the server's certificate is signed by none of the authorities of RDS, Aurora and RDS Proxy that \
              are built in; set OUTBOX_DATABASE_CA_FILE to the file of the one that did, for a new region of \
              AWS that region's bundle"
            .to_owned(),
    }
}

fn with_sources(error: &(dyn StdError + 'static)) -> String {
    chain(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// An error, its source, the source's source, and so on.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn unreachable(database: &Database, problem: String) -> Error {
    Error::Unreachable { database: database.to_string(), problem }
}

fn tls(database: &Database, problem: String) -> Error {
    Error::Tls { database: database.to_string(), problem }
}

fn credentials(database: &Database, problem: String, is_transient: bool) -> Error {
    Error::Credentials { database: database.to_string(), problem, is_transient }
}

fn sign_in(database: &Database, problem: String) -> Error {
    Error::SignIn { database: database.to_string(), problem }
}

fn busy(database: &Database, problem: String) -> Error {
    Error::Busy { database: database.to_string(), problem }
}
