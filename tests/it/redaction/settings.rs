//! A secret in the wrong setting, or in one that is misspelt.

use outbox_tests::endpoint::Endpoint;
use outbox_tests::{Function, Process};
use serde_json::json;

use super::canary::{PASSWORD, SECRET, Said};
use super::on;

/// The relay and the command line with that value of that setting: both refuse it.
async fn refused(said: &mut Said, name: &str, value: &str) {
    let endpoint = Endpoint::start();
    let mut relay = on("relay", &url(), &endpoint);
    relay.env(name, value);
    let ended = Function::refused(relay).await;
    assert_eq!(ended.code, Some(1), "{name}={value}: {}", ended.output);
    assert!(ended.output.contains(name), "{name}={value}: {}", ended.output);
    said.add(format!("the relay of {name}={value}"), ended.output);
    let mut outbox = on("outbox", &url(), &endpoint);
    outbox.args(["doctor"]).env(name, value);
    said.add(format!("outbox of {name}={value}"), Process::start(outbox).ended().await.output);
}

/// One that is as it should be, and in the wrong place.
fn url() -> String {
    format!("postgres://app:{PASSWORD}@127.0.0.1:9/shop")
}

/// Case L13.
#[tokio::test]
async fn a_setting_that_is_refused_shows_no_secret_that_went_astray() {
    let login = json!({ "username": "app", "password": SECRET }).to_string();
    let mut said = Said::default();
    for bad in [
        format!("mysql://app:{PASSWORD}@db/shop"),
        format!("postgres://app:{PASSWORD}@db:port/shop"),
        format!("postgres://app:pass@{PASSWORD}@db/shop"),
        format!("postgres://app:a?{PASSWORD}@db/shop?sslmode={PASSWORD}"),
        format!("postgres://app:x@db/shop?password={PASSWORD}&nonsense={PASSWORD}"),
        login.clone(),
    ] {
        refused(&mut said, "OUTBOX_DATABASE_URL", &bad).await;
    }
    for name in ["HOST", "PORT", "SSLMODE", "AUTH", "PASSWORD", "PASWORD"] {
        refused(&mut said, &format!("OUTBOX_DATABASE_{name}"), &url()).await;
    }
    for name in ["SCHEMA", "LOG_LEVEL", "METRICS_NAMESPACE", "ARCHIVE", "DESTINATIONS"] {
        refused(&mut said, &format!("OUTBOX_{name}"), &url()).await;
    }
    for name in ["DATABASE_AUTH", "DATABASE_SECRET_ARN", "BATCH_SIZE", "DESTINATIONS_FILE"] {
        refused(&mut said, &format!("OUTBOX_{name}"), &login).await;
    }
    let target = "arn:aws:sqs:us-east-1:000000000000:orders";
    for bad in [
        json!({ "target": format!("https://app:{PASSWORD}@sqs/1/q") }),
        json!({ "target": url() }),
        json!({ "target": target, "max_bytes": PASSWORD }),
        json!({ "target": target, "fair": PASSWORD }),
        json!({ "target": target, "on_dead": PASSWORD }),
        json!(PASSWORD),
    ] {
        refused(&mut said, "OUTBOX_DESTINATIONS", &json!({ "orders": bad }).to_string()).await;
    }
    said.assert_clean();
}

/// A whole URL as the name of the database or the user would be in every error from then on.
#[tokio::test]
async fn a_url_in_the_place_of_a_name_is_refused_at_the_start() {
    let endpoint = Endpoint::start();
    let url = format!("postgres://app:{PASSWORD}@127.0.0.1:9/shop");
    for name in ["OUTBOX_DATABASE_NAME", "OUTBOX_DATABASE_USER", "OUTBOX_DATABASE_HOST"] {
        let mut relay = on("relay", &url, &endpoint);
        relay.env_remove("OUTBOX_DATABASE_URL").envs([
            ("OUTBOX_DATABASE_HOST", "127.0.0.1"),
            ("OUTBOX_DATABASE_NAME", "shop"),
            ("OUTBOX_DATABASE_USER", "app"),
            ("OUTBOX_DATABASE_PASSWORD", PASSWORD),
        ]);
        relay.env(name, &url);
        let ended = Function::refused(relay).await;
        let mut said = Said::default();
        assert!(
            ended.output.contains(&format!("{name}: the value (not shown)")),
            "{}",
            ended.output
        );
        said.add("the relay", ended.output);
        said.assert_clean();
    }
}
