//! A database that does not let anybody in, or does not serve, and credentials that are refused.

use outbox_tests::endpoint::Endpoint;
use outbox_tests::{Database, Queue, Secret};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::Command;
use url::Url;

use super::canary::{PASSWORD, SECRET, Said, TOKEN};
use super::{VERBS, everybody, everybody_with, kept, messages, on, with_password};

/// Case L13.
#[tokio::test]
async fn a_database_that_lets_nobody_in_is_told_without_a_password() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let wrong = with_password(&db.url(), PASSWORD);
    let mut elsewhere = Url::parse(&wrong).unwrap();
    elsewhere.set_port(Some(9)).unwrap();
    let mut unknown = Url::parse(&db.url()).unwrap();
    unknown.set_path("nowhere");
    let empty = Database::empty().await;
    let mut said = Said::default();
    for (url, mode, met) in [
        (wrong.as_str(), "disable", "28P01"),
        (elsewhere.as_str(), "disable", "nothing listens there"),
        (wrong.as_str(), "require", "does not offer TLS"),
        (unknown.as_str(), "disable", "3D000"),
        (&empty.url(), "disable", "there is no outbox"),
        (&db.url_as("pg_monitor").await, "disable", "42501"),
    ] {
        let mut here = Said::default();
        everybody(&mut here, |name| {
            let mut command = on(name, url, &endpoint);
            command.env("OUTBOX_DATABASE_SSLMODE", mode);
            command
        })
        .await;
        assert!(here.text().contains(met), "no {met} in {}", here.text());
        here.assert_clean();
        said.add(met, here.text());
    }
    said.assert_clean();
}

#[tokio::test]
async fn a_database_that_takes_no_writes_is_told_without_a_payload() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let ids = messages(&db, 2, "orders").await;
    db.run(&format!(
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused' WHERE id = {}",
        ids[0]
    ))
    .await;
    let name: String = db.value("SELECT current_database()::text").await;
    db.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    let mut said = Said::default();
    // These two verbs wait for better times, longer than anybody here; the functions are the same code with a deadline.
    let waiting = ["relay", "purge"];
    let verbs: Vec<_> = VERBS.into_iter().filter(|verb| !waiting.contains(&verb[0])).collect();
    everybody_with(&mut said, &verbs, |name| {
        let mut command = on(name, &db.url(), &endpoint);
        command.env("OUTBOX_DEADLINE_MARGIN_MS", "55000");
        command
    })
    .await;
    kept(&db, &mut said).await;
    assert!(said.text().contains("25006"), "{}", said.text());
    said.assert_clean();
}

/// Signs in to nobody in particular: the parts of a URL without user and password.
fn parts(command: &mut Command, url: &str) {
    let url = Url::parse(url).unwrap();
    command
        .env_remove("OUTBOX_DATABASE_URL")
        .env("OUTBOX_DATABASE_HOST", url.host_str().unwrap())
        .env("OUTBOX_DATABASE_PORT", url.port().unwrap_or(5432).to_string())
        .env("OUTBOX_DATABASE_NAME", url.path().trim_start_matches('/'))
        .env("OUTBOX_DATABASE_SSLMODE", "disable")
        .env("OUTBOX_DATABASE_CONNECT_TIMEOUT_SECONDS", "3");
}

/// A Secrets Manager that quotes the request it refuses, with the session's token, as AWS does for a bad signature.
async fn quoting() -> String {
    let text = format!(
        "The request signature we calculated does not match the signature you provided.\n\nThe Canonical \
         String for this request should have been\n'POST\n/\n\nx-amz-security-token:{TOKEN}\n'"
    );
    let body = json!({ "__type": "InvalidSignatureException", "message": text }).to_string();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/x-amz-json-1.1\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = vec![0; 16 * 1024];
                // The request is small, and comes at once.
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    url
}

/// Case L13.
#[tokio::test]
async fn a_secret_that_lets_nobody_in_is_told_and_not_shown() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let user = Url::parse(&db.url_as("outbox_admin").await).unwrap().username().to_owned();
    let garbage = Secret::holding(SECRET).await;
    let no_password =
        Secret::holding(&json!({ "username": SECRET, "port": SECRET }).to_string()).await;
    let wrong = Secret::holding(&json!({ "username": user, "password": SECRET }).to_string()).await;
    let (local, quoting) = (Queue::endpoint_url(), quoting().await);
    for (at, secret, met) in [
        (&local, &garbage, "it is not a JSON object"),
        (&local, &no_password, "it has no"),
        (&local, &wrong, "28P01"),
        (&quoting, &wrong, "InvalidSignature"),
        (&"http://127.0.0.1:9".to_owned(), &wrong, "does not answer"),
    ] {
        let mut said = Said::default();
        everybody_with(&mut said, &[&["status"]], |name| {
            let mut command = on(name, &db.url(), &endpoint);
            parts(&mut command, &db.url());
            command
                .env("OUTBOX_DATABASE_AUTH", "secret")
                .env("OUTBOX_DATABASE_SECRET_ARN", secret.arn())
                .env("AWS_ENDPOINT_URL_SECRETS_MANAGER", at);
            command
        })
        .await;
        assert!(said.text().contains(met), "no {met} in {}", said.text());
        said.assert_clean();
    }
}

/// Case L13: the token is a password for a quarter of an hour, and holds the session's own.
#[tokio::test]
async fn a_token_of_iam_that_lets_nobody_in_is_not_shown() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let mut said = Said::default();
    everybody(&mut said, |name| {
        let mut command = on(name, &db.url(), &endpoint);
        parts(&mut command, &db.url());
        command.env("OUTBOX_DATABASE_AUTH", "iam").env("OUTBOX_DATABASE_USER", "outbox");
        command
    })
    .await;
    let text = said.text();
    assert!(text.contains("28P01") && !text.contains("X-Amz-Signature"), "{text}");
    said.assert_clean();
}
