//! Who signs in to the database, asked anew for every connection that is opened.
//!
//! A container lives for hours, a token of IAM for fifteen minutes, a rotated password until its next rotation. So
//! nothing here is fetched at the start: a connection that is to be opened asks its [`Credentials`], and one that is
//! open stays, whatever becomes of what it has signed in with. `database.rs` calls this.

mod iam;
mod secret;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tokio_postgres::Config;

use crate::settings::{Auth, Database};

/// What an asked source answers with, in its own time.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, CredentialsError>> + Send + 'a>>;

/// A source of credentials.
pub trait Credentials: Send + Sync {
    /// What the next connection signs in with.
    fn login(&self) -> Asked<'_, Login>;

    /// Another login in place of one that the server has just refused with 28P01 or 28000, or a pooler in its own words;
    /// `None` if the source has no other, which is the default.
    fn renewed<'a>(&'a self, refused: &'a Login) -> Asked<'a, Option<Login>> {
        let _ = refused;
        Box::pin(async { Ok(None) })
    }
}

/// What one connection signs in with. Its `Debug` form shows no password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// The role, if the source names it; it is then this one and not that of the settings, because the password is
    /// this one's.
    user: Option<String>,
    password: Option<String>,
    /// Where the settings do not say it.
    place: Place,
}

/// Where a secret says that its database is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    host: Option<String>,
    port: Option<u16>,
    database: Option<String>,
}

/// No login could be had. Its text is one sentence and shows no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct CredentialsError {
    problem: String,
    is_transient: bool,
}

impl Login {
    /// A role and its password, or a token in the place of one.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        let (user, password) = (Some(user.into()), Some(password.into()));
        Self { user, password, place: Place::default() }
    }

    /// What the driver is to connect with: the settings, and this login in them.
    pub(crate) fn fill(&self, settings: &Config) -> Result<Config, CredentialsError> {
        let mut config = settings.clone();
        if let Some(user) = &self.user {
            config.user(user);
        }
        if let Some(password) = &self.password {
            config.password(password);
        }
        if config.get_hosts().is_empty() {
            config.host(self.place.host.as_ref().ok_or_else(|| absent("host", "HOST"))?);
        }
        if config.get_ports().is_empty() {
            config.port(self.place.port.unwrap_or(5432));
        }
        if config.get_dbname().is_none() {
            config.dbname(self.place.database.as_ref().ok_or_else(|| absent("dbname", "NAME"))?);
        }
        match config.get_user() {
            Some(_) => Ok(config),
            None => Err(absent("username", "USER")),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, place, .. } = self;
        f.debug_struct("Login").field("user", user).field("place", place).finish_non_exhaustive()
    }
}

impl CredentialsError {
    /// What only a person can put right: a grant, a setting, the content of a secret.
    pub fn permanent(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), is_transient: false }
    }

    /// What may be over in a while.
    pub fn transient(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), is_transient: true }
    }

    /// Whether the same source may answer later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        self.is_transient
    }
}

fn absent(key: &str, setting: &str) -> CredentialsError {
    CredentialsError::permanent(format!(
        "the secret has no {key:?}, and OUTBOX_DATABASE_{setting} is not set"
    ))
}

/// The source that the settings name. It touches no network before it is asked.
pub(crate) fn source(database: &Database) -> Arc<dyn Credentials> {
    match &database.auth {
        Auth::Password => Arc::new(Settled),
        Auth::Iam => Arc::new(iam::Iam::new(&database.connection)),
        Auth::Secret { arn } => Arc::new(secret::Secret::new(arn.clone())),
    }
}

/// The settings hold the password, if there is one.
struct Settled;

impl Credentials for Settled {
    fn login(&self) -> Asked<'_, Login> {
        Box::pin(async { Ok(Login::default()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(place: Place) -> Login {
        Login { place, ..Login::new("rotated", "s3cret") }
    }

    #[test]
    fn what_the_settings_say_of_the_place_wins_and_the_user_is_the_passwords_own() {
        let place = Place {
            host: Some("of-secret".to_owned()),
            port: Some(6432),
            database: Some("of-secret".to_owned()),
        };
        let mut settings = Config::new();
        settings.user("of-settings").host("of-settings").port(5433).dbname("of-settings");
        let config = login(place.clone()).fill(&settings).expect("complete");
        assert_eq!(config.get_hosts(), settings.get_hosts());
        assert_eq!((config.get_ports(), config.get_dbname()), (&[5433][..], Some("of-settings")));
        assert_eq!(config.get_user(), Some("rotated"));

        let config = login(place).fill(&Config::new()).expect("complete");
        assert_eq!((config.get_ports(), config.get_dbname()), (&[6432][..], Some("of-secret")));
    }

    #[test]
    fn what_neither_says_is_named_with_its_setting() {
        let host = Place { host: Some("db".to_owned()), ..Place::default() };
        for (place, key, setting) in [
            (Place::default(), "\"host\"", "OUTBOX_DATABASE_HOST"),
            (host, "\"dbname\"", "OUTBOX_DATABASE_NAME"),
        ] {
            let error = login(place).fill(&Config::new()).expect_err(key).to_string();
            assert!(error.contains(key) && error.contains(setting), "{error}");
        }
    }

    #[test]
    fn no_debug_form_shows_a_password() {
        assert!(!format!("{:?}", Login::new("u", "s3cret")).contains("s3cret"));
    }
}
