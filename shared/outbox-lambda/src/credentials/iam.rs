//! Tokens of IAM: a presigned request that RDS takes in the place of a password.
//!
//! A token is signed on this machine, which costs no request, and is good for fifteen minutes. So there is none to
//! keep: each connection gets its own (case P23).

use std::time::{Duration, SystemTime};

use aws_config::SdkConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningError, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use tokio::sync::OnceCell;
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use url::form_urlencoded::Serializer;

use super::{Asked, Credentials, CredentialsError, Login};

/// How long RDS takes a token; it takes no longer one.
const TOKEN_LIFETIME: Duration = Duration::from_mins(15);

/// The service that tokens are signed for, which is not that of RDS' own calls.
const SERVICE: &str = "rds-db";

/// Signs a token for each connection.
pub(super) struct Iam {
    /// Host and port, which are part of what is signed.
    address: String,
    user: String,
    aws: OnceCell<SdkConfig>,
}

impl Iam {
    /// For the one host and the role of these settings; that there is one host, they have seen to.
    pub(super) fn new(connection: &Config) -> Self {
        let host = match connection.get_hosts().first() {
            Some(Host::Tcp(name)) if name.contains(':') => format!("[{name}]"),
            Some(Host::Tcp(name)) => name.clone(),
            _ => String::new(),
        };
        let port = connection.get_ports().first().unwrap_or(&5432);
        let user = connection.get_user().unwrap_or_default().to_owned();
        Self { address: format!("{host}:{port}"), user, aws: OnceCell::new() }
    }

    async fn token(&self) -> Result<String, CredentialsError> {
        let aws = self.aws.get_or_init(crate::aws_config).await;
        let region = aws.region().ok_or_else(|| {
            CredentialsError::permanent("no AWS region to sign a token for; set AWS_REGION")
        })?;
        let provider = aws.credentials_provider().ok_or_else(|| no_credentials(&"none are set"))?;
        // Of this very moment: those of a role in a container change while it lives.
        let identity =
            provider.provide_credentials().await.map_err(|error| no_credentials(&error))?;
        let identity = identity.into();
        sign_token(&self.address, &self.user, region.as_ref(), &identity, SystemTime::now())
            .map_err(|error| {
                CredentialsError::permanent(format!("a token cannot be signed: {error}"))
            })
    }
}

impl Credentials for Iam {
    fn login(&self) -> Asked<'_, Login> {
        Box::pin(async { Ok(Login::new(&self.user, self.token().await?)) })
    }
}

/// Not told apart further: a provider's sources may quote what it was answered.
fn no_credentials(error: &dyn std::fmt::Display) -> CredentialsError {
    CredentialsError::transient(format!(
        "no AWS credentials to sign a token with ({error}); check the function's role, or AWS_PROFILE"
    ))
}

/// `host:port/?Action=connect&DBUser=...` with its signature: a URL without its scheme.
fn sign_token(
    address: &str,
    user: &str,
    region: &str,
    identity: &aws_smithy_runtime_api::client::identity::Identity,
    now: SystemTime,
) -> Result<String, SigningError> {
    let mut settings = SigningSettings::default();
    settings.expires_in = Some(TOKEN_LIFETIME);
    settings.signature_location = SignatureLocation::QueryParams;
    let params = v4::SigningParams::builder()
        .identity(identity)
        .region(region)
        .name(SERVICE)
        .time(now)
        .settings(settings)
        .build()
        .expect("all that must be given is")
        .into();
    let unsigned = format!("{address}/?{}", query([("Action", "connect"), ("DBUser", user)]));
    let url = format!("https://{unsigned}");
    let request = SignableRequest::new("GET", url, std::iter::empty(), SignableBody::Bytes(&[]))?;
    let (signed, _) = sign(request, &params)?.into_parts();
    let signature = signed.params().iter().map(|(name, value)| (*name, value.as_ref()));
    Ok(format!("{unsigned}&{}", query(signature)))
}

/// As AWS writes it: a space is %20. A plus that was there before is %2B by now.
fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use aws_credential_types::Credentials;

    use super::*;

    fn token(address: &str, user: &str, session: Option<&str>, seconds: u64) -> String {
        let session = session.map(str::to_owned);
        let identity = Credentials::new("akid", "skid", session, None, "test").into();
        let now = UNIX_EPOCH + Duration::from_secs(seconds);
        sign_token(address, user, "us-east-1", &identity, now).expect("it can be signed")
    }

    /// The query's pairs in order of their names, which SDKs write in different ones.
    fn sorted(token: &str) -> Vec<&str> {
        let mut pairs: Vec<&str> = token.split(['?', '&']).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Both expected tokens were made by botocore 1.42 (`generate_db_auth_token`), at that second.
    #[test]
    fn a_token_is_what_aws_own_tool_signs() {
        let second = 1_796_066_582; // 2026-11-30T19:23:02Z
        let host = "prod-instance.us-east-1.rds.amazonaws.com";
        assert_eq!(
            sorted(&token(&format!("{host}:3306"), "someusername", None, second)),
            sorted(
                "prod-instance.us-east-1.rds.amazonaws.com:3306/?Action=connect&DBUser=someusername\
                 &X-Amz-Algorithm=AWS4-HMAC-SHA256\
                 &X-Amz-Credential=akid%2F20261130%2Fus-east-1%2Frds-db%2Faws4_request\
                 &X-Amz-Date=20261130T192302Z&X-Amz-SignedHeaders=host&X-Amz-Expires=900\
                 &X-Amz-Signature=6eb1bfde3855d49f664dd939d45b261abdaea3f9f17d86db5674e8ba60a0d079"
            )
        );
        assert_eq!(
            sorted(&token(&format!("{host}:5432"), "relay @1", Some("to+ke/n=="), second)),
            sorted(
                "prod-instance.us-east-1.rds.amazonaws.com:5432/?Action=connect&DBUser=relay%20%401\
                 &X-Amz-Algorithm=AWS4-HMAC-SHA256\
                 &X-Amz-Credential=akid%2F20261130%2Fus-east-1%2Frds-db%2Faws4_request\
                 &X-Amz-Date=20261130T192302Z&X-Amz-SignedHeaders=host&X-Amz-Expires=900\
                 &X-Amz-Security-Token=to%2Bke%2Fn%3D%3D\
                 &X-Amz-Signature=1b825ae7f438b71eb5b4a19ea31f422fe7a9beb1cb74c1199c8e42de031ca49a"
            )
        );
    }

    /// Case P23: what is signed twenty minutes later is good from then on.
    #[test]
    fn a_token_is_of_the_moment_it_is_asked_for() {
        let [early, late] =
            [0, 1_200].map(|later| token("db:5432", "u", None, 1_796_066_582 + later));
        assert!(early.contains("X-Amz-Date=20261130T192302Z"), "{early}");
        assert!(late.contains("X-Amz-Date=20261130T194302Z"), "{late}");
        assert!(early.contains("X-Amz-Expires=900") && late.contains("X-Amz-Expires=900"));
    }
}
