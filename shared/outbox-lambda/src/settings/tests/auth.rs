//! How the role signs in, and which other settings go with that.

use super::*;
use crate::settings::Security;

const ARN: &str = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:relay-AbCdEf";
const IAM: (&str, &str) = ("OUTBOX_DATABASE_AUTH", "iam");
const SECRET: (&str, &str) = ("OUTBOX_DATABASE_AUTH", "secret");
const SECRET_ARN: (&str, &str) = ("OUTBOX_DATABASE_SECRET_ARN", ARN);
const HOST: (&str, &str) = ("OUTBOX_DATABASE_HOST", "db.example.com");
const NAME: (&str, &str) = ("OUTBOX_DATABASE_NAME", "shop");
const USER: (&str, &str) = ("OUTBOX_DATABASE_USER", "relay");

fn database(vars: &[(&str, &str)]) -> Result<Database, String> {
    let settings = Settings::from_vars(Program::Purge, vars.iter().copied());
    settings.map(|settings| settings.database).map_err(|error| error.to_string())
}

#[test]
fn iam_needs_host_name_and_user_and_no_password() {
    let vars = [IAM, HOST, NAME, USER];
    let read = database(&vars).unwrap();
    assert_eq!(
        (read.to_string(), read.auth),
        ("db.example.com:5432/shop as relay".to_owned(), Auth::Iam)
    );
    assert!(database(&[IAM, ("OUTBOX_DATABASE_URL", "postgres://relay@db/shop")]).is_ok());

    for (name, _) in [HOST, NAME, USER] {
        let rest: Vec<_> = vars.into_iter().filter(|(given, _)| *given != name).collect();
        assert!(database(&rest).unwrap_err().starts_with(&format!("{name}: is not set")));
    }
    let password = ("OUTBOX_DATABASE_PASSWORD", "s3cret");
    let error = database(&[IAM, HOST, NAME, USER, password]).unwrap_err();
    assert!(error.starts_with("OUTBOX_DATABASE_PASSWORD: the value (not shown) is given though"));
    let error = database(&[IAM, ("DATABASE_URL", "postgres://u:s3cret@db/shop")]).unwrap_err();
    assert!(error.contains("holds a password though OUTBOX_DATABASE_AUTH is iam"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn a_token_of_iam_is_for_one_host_on_the_network() {
    for url in ["postgres://u@one,two/shop", "postgres://u@%2Frun%2Fpostgresql/shop"] {
        let error = database(&[IAM, ("OUTBOX_DATABASE_URL", url)]).unwrap_err();
        assert!(error.contains("is not one host on the network"), "{error}");
    }
    let error = database(&[IAM, ("OUTBOX_DATABASE_HOST", "/run"), NAME, USER]).unwrap_err();
    assert!(error.starts_with("OUTBOX_DATABASE_HOST: \"/run\" is not one host"), "{error}");
}

#[test]
fn a_token_of_iam_goes_over_tls_only_but_to_a_loopback_address_if_that_is_said() {
    let disable = ("OUTBOX_DATABASE_SSLMODE", "disable");
    let here = ("OUTBOX_DATABASE_HOST", "127.0.0.1");
    let error = database(&[IAM, HOST, NAME, USER, disable]).unwrap_err();
    assert!(
        error.starts_with("OUTBOX_DATABASE_SSLMODE: \"disable\" is disable, and whoever"),
        "{error}"
    );
    assert_eq!(database(&[IAM, here, NAME, USER, disable]).unwrap().security, Security::Plain);
    let security = database(&[IAM, here, NAME, USER]).unwrap().security;
    assert_eq!(security, Security::Verified { ca_file: None });
}

#[test]
fn a_secret_may_hold_all_that_is_left_out() {
    let read = database(&[SECRET, SECRET_ARN]).unwrap();
    assert_eq!(read.to_string(), format!("of the secret {ARN}"));
    assert_eq!(read.security, Security::Verified { ca_file: None }, "its host may be anywhere");
    let read = database(&[SECRET, SECRET_ARN, HOST, NAME, USER]).unwrap();
    assert_eq!(read.to_string(), format!("db.example.com:5432/shop of the secret {ARN}"));
    let url = ("OUTBOX_DATABASE_URL", "postgres://db.example.com/shop");
    assert_eq!(database(&[SECRET, SECRET_ARN, url]).unwrap().connection.get_user(), None);
    // What other tools read is none of a secret's.
    let other = ("DATABASE_URL", "postgres://u:p@other/shop");
    assert!(database(&[SECRET, SECRET_ARN, other]).unwrap().connection.get_hosts().is_empty());
}

#[test]
fn a_secret_and_its_arn_go_together_and_no_password_beside_them() {
    let error = database(&[SECRET, HOST, NAME]).unwrap_err();
    assert!(error.starts_with("OUTBOX_DATABASE_SECRET_ARN: is not set, though"), "{error}");
    assert!(error.contains("for example OUTBOX_DATABASE_SECRET_ARN=arn:aws:"), "{error}");
    for arn in
        ["relay", "arn:aws:sqs:eu-west-1:123456789012:orders", "arn:aws:secretsmanager:x:y:secret:"]
    {
        let error = database(&[SECRET, ("OUTBOX_DATABASE_SECRET_ARN", arn)]).unwrap_err();
        assert!(error.contains(&format!("{arn:?} is not such an ARN")), "{error}");
    }
    for (auth, value) in [(IAM, "\"iam\""), (("OUTBOX_DATABASE_AUTH", ""), "the default password")]
    {
        let url = ("OUTBOX_DATABASE_URL", "postgres://u@db/shop");
        let error = database(&[auth, SECRET_ARN, url]).unwrap_err();
        let expected =
            format!("OUTBOX_DATABASE_AUTH: {value} does not go with OUTBOX_DATABASE_SECRET_ARN");
        assert!(error.starts_with(&expected), "{error}");
    }
    let error =
        database(&[SECRET, SECRET_ARN, ("OUTBOX_DATABASE_PASSWORD", "s3cret")]).unwrap_err();
    assert!(error.starts_with("OUTBOX_DATABASE_PASSWORD: the value (not shown)"), "{error}");
}

#[test]
fn a_way_to_sign_in_that_there_is_not_is_refused_with_those_there_are() {
    assert!(
        refused(&[("OUTBOX_DATABASE_AUTH", "ldap")])[0].contains("allowed: password, iam, secret")
    );
}
