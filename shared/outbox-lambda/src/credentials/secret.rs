//! A secret of AWS Secrets Manager: fetched at the first connection, and once more when the server refuses it.
//!
//! A rotation changes the password, or with two users in turn also the user (case P24). Whoever is signed in stays;
//! the next connection is refused, and finds the new login in the secret.

use std::time::Duration;

use aws_config::{Region, timeout::TimeoutConfig};
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::config::Builder;
use aws_sdk_secretsmanager::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use super::{Asked, Credentials, CredentialsError, Login, Place};

/// Leaves time for a second try within the shortest time that a connection is commonly given.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// What only a person puts right.
const PERMANENT: [&str; 5] = [
    "AccessDeniedException",
    "DecryptionFailure",
    "InvalidParameterException",
    "InvalidRequestException", // It is marked for deletion.
    "ResourceNotFoundException",
];

/// The secret, and what it held when it was fetched last.
pub(super) struct Secret {
    arn: String,
    client: OnceCell<Client>,
    /// Locked while it is fetched: connections that open at the same time fetch it once.
    known: Mutex<Option<Login>>,
}

impl Secret {
    pub(super) fn new(arn: String) -> Self {
        Self { arn, client: OnceCell::new(), known: Mutex::default() }
    }

    async fn fetch(&self) -> Result<Login, CredentialsError> {
        let client = self.client.get_or_init(|| client(&self.arn)).await;
        let answer = client.get_secret_value().secret_id(&self.arn).send().await;
        let answer = answer.map_err(|error| what_is_wrong(&error))?;
        let text = answer.secret_string().ok_or_else(|| not_a_login("it is binary"))?;
        parse(text)
    }
}

impl Credentials for Secret {
    fn login(&self) -> Asked<'_, Login> {
        Box::pin(async {
            let mut known = self.known.lock().await;
            if let Some(login) = &*known {
                return Ok(login.clone());
            }
            Ok(known.insert(self.fetch().await?).clone())
        })
    }

    fn renewed<'a>(&'a self, refused: &'a Login) -> Asked<'a, Option<Login>> {
        Box::pin(async move {
            let mut known = self.known.lock().await;
            // Another connection may have fetched it while this one was being refused.
            if known.as_ref() == Some(refused) {
                *known = Some(self.fetch().await?);
            }
            Ok(known.clone().filter(|login| login != refused))
        })
    }
}

/// In the secret's own region, which need not be the function's.
async fn client(arn: &str) -> Client {
    let aws = crate::aws_config().await;
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build();
    let region = arn.split(':').nth(3).filter(|name| !name.is_empty());
    let region = region.map(|name| Region::new(name.to_owned())).or_else(|| aws.region().cloned());
    Client::from_conf(Builder::from(&aws).region(region).timeout_config(timeouts).build())
}

/// Of an answer that was understood, its code and message; of any other nothing of its content, which may be the
/// secret.
fn what_is_wrong(error: &SdkError<GetSecretValueError>) -> CredentialsError {
    match error {
        SdkError::ServiceError(answer) => {
            let code = answer.err().code().unwrap_or("unknown");
            let said = first_line(answer.err().message().unwrap_or("no message"));
            let problem = format!("Secrets Manager refuses the secret: {code}: {said}");
            if PERMANENT.contains(&code) {
                CredentialsError::permanent(problem)
            } else {
                CredentialsError::transient(problem)
            }
        }
        SdkError::ResponseError(_) => {
            CredentialsError::transient("Secrets Manager's answer was not understood")
        }
        SdkError::ConstructionFailure(_) => CredentialsError::permanent(
            "Secrets Manager cannot be asked; check AWS_REGION and AWS_ENDPOINT_URL",
        ),
        SdkError::DispatchFailure(failure) if failure.is_other() => CredentialsError::transient(
            "Secrets Manager cannot be asked without AWS credentials; check the function's role, or AWS_PROFILE",
        ),
        _ => CredentialsError::transient(
            "Secrets Manager does not answer; check its endpoint in the VPC, or the way to the internet",
        ),
    }
}

/// A refused signature is followed by the canonical request, with the session token in it.
fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(500).collect()
}

/// `{"username": ..., "password": ...}`, and where RDS writes them `host`, `port` and `dbname`.
fn parse(text: &str) -> Result<Login, CredentialsError> {
    // The parser's own complaint would quote the secret.
    let Ok(Value::Object(secret)) = serde_json::from_str(text) else {
        return Err(not_a_login("it is not a JSON object"));
    };
    let text_of = |key: &str| match secret.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(not_a_login(&format!("its {key:?} is not a string"))),
    };
    let password = text_of("password")?.ok_or_else(|| not_a_login("it has no \"password\""))?;
    let port = match secret.get("port") {
        None | Some(Value::Null) => None,
        Some(Value::String(digits)) => Some(digits.parse().map_err(|_| bad_port())?),
        Some(number) => Some(number.to_string().parse().map_err(|_| bad_port())?),
    };
    let place = Place { host: text_of("host")?, port, database: text_of("dbname")? };
    Ok(Login { user: text_of("username")?, password: Some(password), place })
}

fn bad_port() -> CredentialsError {
    not_a_login("its \"port\" is not a whole number from 1 to 65535")
}

fn not_a_login(problem: &str) -> CredentialsError {
    CredentialsError::permanent(format!(
        "the secret is not a login: {problem}; for example {{\"username\": \"outbox_relay\", \"password\": \"...\"}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_holds_a_login_and_may_say_where_the_database_is() {
        let short = r#"{"username": "relay", "password": "p\"w"}"#;
        assert_eq!(parse(short), Ok(Login::new("relay", "p\"w")));
        for port in ["6432", "\"6432\""] {
            let of_rds = format!(
                r#"{{"engine": "postgres", "host": "db.example.com", "username": "relay", "password": "pw",
                     "dbname": "shop", "port": {port}, "dbInstanceIdentifier": "shop", "masterarn": null}}"#
            );
            let login = parse(&of_rds).expect("it is a login");
            let place = Place {
                host: Some("db.example.com".to_owned()),
                port: Some(6432),
                database: Some("shop".to_owned()),
            };
            assert_eq!(login, Login { place, ..Login::new("relay", "pw") });
        }
    }

    #[test]
    fn of_a_refusal_the_first_line_is_told() {
        let refusal = "\n The signature does not match.\n\nx-amz-security-token:s3cret\n";
        assert_eq!(first_line(refusal), "The signature does not match.");
        assert_eq!(first_line(&"ü".repeat(600)), "ü".repeat(500));
        assert_eq!(first_line(""), "");
    }

    #[test]
    fn a_secret_that_is_no_login_is_told_from_one_and_not_shown() {
        for (text, problem) in [
            ("s3cret", "not a JSON object"),
            ("[\"s3cret\"]", "not a JSON object"),
            (r#"{"username": "s3cret"}"#, "no \"password\""),
            (r#"{"username": "u", "password": ""}"#, "no \"password\""),
            (r#"{"username": ["s3cret"], "password": "p"}"#, "\"username\" is not a string"),
            (r#"{"username": "u", "password": "p", "port": "s3cret"}"#, "\"port\" is not"),
            (r#"{"username": "u", "password": "p", "port": 65536}"#, "\"port\" is not"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.to_string().contains(problem), "{error}");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
    }
}
