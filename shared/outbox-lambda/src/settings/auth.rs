//! How the role signs in, and which other settings go with that.

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::settings::reader::Reader;
use crate::settings::setting::Setting;
use crate::settings::table;

/// How the role signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Auth {
    /// With the password of the settings, or with none.
    Password,
    /// With a token of IAM, signed for each connection.
    Iam,
    /// With what a secret of Secrets Manager holds.
    Secret { arn: String },
}

impl Auth {
    pub(super) fn read(reader: &mut Reader) -> Self {
        let arn = reader.text(&table::DATABASE_SECRET_ARN).map(str::to_owned);
        let auth = match reader.word(&table::DATABASE_AUTH) {
            "iam" => Self::Iam,
            "secret" => Self::Secret { arn: arn.clone().unwrap_or_default() },
            _ => Self::Password,
        };
        match (&auth, &arn) {
            (Self::Secret { .. }, None) => {
                let problem = "is not set, though OUTBOX_DATABASE_AUTH is secret";
                reader.refuse(&table::DATABASE_SECRET_ARN, problem);
            }
            (Self::Secret { .. }, Some(arn)) if !is_arn(arn) => {
                reader.refuse(&table::DATABASE_SECRET_ARN, "is not such an ARN");
            }
            (Self::Password | Self::Iam, Some(_)) => {
                let problem = "does not go with OUTBOX_DATABASE_SECRET_ARN, which is given";
                reader.refuse(&table::DATABASE_AUTH, problem);
            }
            _ => {}
        }
        if auth != Self::Password && reader.text(&table::DATABASE_PASSWORD).is_some() {
            let problem = format!("is given though OUTBOX_DATABASE_AUTH is {}", auth.word());
            reader.refuse(&table::DATABASE_PASSWORD, &problem);
        }
        auth
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Iam => "iam",
            Self::Secret { .. } => "secret",
        }
    }

    /// Whether host, port, database and user may come from elsewhere than the settings.
    pub(super) fn may_name_place(&self) -> bool {
        matches!(self, Self::Secret { .. })
    }

    /// What a URL must not say beside this way to sign in.
    pub(super) fn check_url(&self, reader: &mut Reader, setting: &Setting, connection: &Config) {
        if *self != Self::Password && connection.get_password().is_some() {
            let problem =
                format!("holds a password though OUTBOX_DATABASE_AUTH is {}", self.word());
            reader.refuse(setting, &problem);
        }
        self.check_host(reader, setting, connection);
    }

    /// A token is signed for one host and port.
    pub(super) fn check_host(&self, reader: &mut Reader, setting: &Setting, connection: &Config) {
        let is_one = matches!(connection.get_hosts(), [Host::Tcp(_)] | []);
        if *self == Self::Iam && !is_one {
            let problem =
                "is not one host on the network, which a token of OUTBOX_DATABASE_AUTH=iam is for";
            reader.refuse(setting, problem);
        }
    }
}

/// `arn:PARTITION:secretsmanager:REGION:ACCOUNT:secret:NAME`
fn is_arn(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(7, ':').collect();
    matches!(parts[..], ["arn", _, "secretsmanager", _, _, "secret", name] if !name.is_empty())
}
