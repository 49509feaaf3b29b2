//! TLS to a real server whose authority is a test's own: what is trusted, what is refused and in which words, and the
//! binding of the sign-in to the connection (SCRAM-SHA-256-PLUS).

use outbox_lambda::{connect, pool};
use outbox_tests::eventually;
use rcgen::{
    PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512, PKCS_RSA_SHA256,
    PKCS_RSA_SHA384,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::impostor::Impostor;
use super::server::{Authority, Server};
use super::{CA_FILE, MODE, PASSWORD, database, failure};

/// What a session is encrypted with.
const VERSION: &str = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

fn bound(url: &str) -> String {
    format!("{url}?channel_binding=require")
}

/// Case P21 (a).
#[tokio::test]
async fn a_server_of_an_own_authority_is_trusted_with_its_file() {
    let authority = Authority::new();
    let certificate = authority.certify("localhost", &PKCS_ECDSA_P256_SHA256);
    let server = Server::start(&authority, &certificate).await;
    let database = database(&server.url("localhost"), &[(CA_FILE, &server.ca_file())]);
    let alone = connect(&database).await.unwrap();
    assert_eq!(alone.query_one(VERSION, &[]).await.unwrap().get::<_, &str>(0), "TLSv1.3");
    let pooled = pool(&database).unwrap().get().await.unwrap();
    assert_eq!(pooled.query_one(VERSION, &[]).await.unwrap().get::<_, &str>(0), "TLSv1.3");
}

/// The hash that is bound is that of the certificate's signature: the authority's, not the key's.
#[tokio::test]
async fn the_sign_in_is_bound_to_certificates_of_rsa_and_ecdsa_with_either_hash() {
    let first = Authority::new();
    let server = Server::start(&first, &first.certify("localhost", &PKCS_RSA_SHA256)).await;
    for (authority, key) in [
        (&PKCS_ECDSA_P256_SHA256, &PKCS_RSA_SHA256),
        (&PKCS_RSA_SHA256, &PKCS_RSA_SHA256),
        (&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P256_SHA256),
        (&PKCS_RSA_SHA384, &PKCS_RSA_SHA256),
        (&PKCS_ECDSA_P384_SHA384, &PKCS_ECDSA_P384_SHA384),
        (&PKCS_ECDSA_P384_SHA384, &PKCS_RSA_SHA256),
    ] {
        let signer = Authority::signing_with(authority);
        server.change(&signer, &signer.certify("localhost", key)).await;
        let database = database(&bound(&server.url("localhost")), &[(CA_FILE, &server.ca_file())]);
        let bound = async || connect(&database).await.ok();
        eventually(&format!("a bound sign-in with {authority:?} over {key:?}"), bound).await;
    }
}

/// So that a bound sign-in means something: it is refused where there is nothing to bind to, as with ECDSA and SHA-512,
/// which the driver has no hash for. Nobody who does not demand it is locked out.
#[tokio::test]
async fn a_certificate_that_nothing_can_be_bound_to_fails_only_those_who_demand_it() {
    let authority = Authority::signing_with(&PKCS_ECDSA_P521_SHA512);
    let certificate = authority.certify("localhost", &PKCS_ECDSA_P256_SHA256);
    let server = Server::start(&authority, &certificate).await;
    let ca_file = server.ca_file();
    let error = failure(&bound(&server.url("localhost")), &[(CA_FILE, &ca_file)]).await;
    assert_eq!(error.code(), "database_sign_in");
    assert!(error.to_string().contains("channel_binding=require is asked for"), "{error}");
    connect(&database(&server.url("localhost"), &[(CA_FILE, &ca_file)])).await.unwrap();
}

/// Without anybody asking for it: a server between that has got hold of a certificate of a trusted authority does not
/// get a sign-in that it could pass on.
#[tokio::test]
async fn a_server_between_with_a_trusted_certificate_is_found_out_by_the_real_one() {
    let authority = Authority::new();
    let certify = || authority.certify("localhost", &PKCS_ECDSA_P256_SHA256);
    let server = Server::start(&authority, &certify()).await;
    let impostor = Impostor::before(&server, &certify()).await;
    let error = failure(&impostor.url("localhost"), &[(CA_FILE, &server.ca_file())]).await;
    assert_eq!(error.code(), "database_sign_in");
    assert!(error.to_string().contains("channel binding"), "{error}");
    // With the real one's own certificate and key it would be the real one.
    let own = certify();
    server.change(&authority, &own).await;
    let twin = Impostor::before(&server, &own).await;
    let database = database(&twin.url("localhost"), &[(CA_FILE, &server.ca_file())]);
    let signed_in = async || connect(&database).await.ok();
    eventually("a sign-in through a server with the same certificate", signed_in).await;
}

/// The way around the binding: not to do SCRAM at all. Who demands the binding gives no password away, while a token of IAM,
/// which RDS asks for so, must be given.
#[tokio::test]
async fn a_server_that_asks_for_the_password_itself_gets_none_where_the_binding_is_demanded() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://u:{PASSWORD}@{}/shop", listener.local_addr().unwrap());
    let (heard, mut all_heard) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let length = usize::try_from(stream.read_u32().await.unwrap()).unwrap();
            stream.read_exact(&mut vec![0; length - 4]).await.unwrap();
            // Authentication, of kind 3: a password in the clear.
            stream.write_all(b"R\0\0\0\x08\0\0\0\x03").await.unwrap();
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            heard.send(rest).unwrap();
        }
    });
    let error = failure(&bound(&url), &[]).await;
    assert_eq!(error.code(), "database_sign_in");
    for _ in 0..2 {
        assert_eq!(
            all_heard.recv().await.unwrap(),
            b"",
            "from the connection alone and the pool's"
        );
    }
}

/// Case P21 (b).
#[tokio::test]
async fn a_server_of_an_own_authority_is_refused_without_its_file() {
    let authority = Authority::new();
    let certificate = authority.certify("localhost", &PKCS_ECDSA_P256_SHA256);
    let server = Server::start(&authority, &certificate).await;
    let url = server.url("localhost");
    for mode in ["require", "verify-full"] {
        let error = failure(&url, &[(MODE, mode)]).await;
        assert_eq!(error.code(), "database_tls");
        let text = error.to_string();
        for part in
            [&format!("localhost:{}", server.port), "built in", "set OUTBOX_DATABASE_CA_FILE"]
        {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
    // And where the server demands TLS, a connection without is told so.
    let error = failure(&url, &[]).await;
    assert_eq!(error.code(), "database_sign_in");
    let text = error.to_string();
    assert!(text.contains("28000") && text.contains("OUTBOX_DATABASE_SSLMODE"), "{text}");
}

#[tokio::test]
async fn a_file_of_another_authority_is_named_and_the_only_one_that_counts() {
    let (authority, other) = (Authority::new(), Authority::new());
    let certificate = authority.certify("localhost", &PKCS_ECDSA_P256_SHA256);
    let server = Server::start(&other, &certificate).await;
    let error = failure(&server.url("localhost"), &[(CA_FILE, &server.ca_file())]).await;
    assert_eq!(error.code(), "database_tls");
    let text = error.to_string();
    assert!(text.contains(&server.ca_file()) && text.contains(CA_FILE), "{text}");
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let authority = Authority::new();
    let certificate = authority.certify("db.example.com", &PKCS_ECDSA_P256_SHA256);
    let server = Server::start(&authority, &certificate).await;
    for host in ["localhost", "127.0.0.1"] {
        let error = failure(&server.url(host), &[(CA_FILE, &server.ca_file())]).await;
        assert_eq!(error.code(), "database_tls");
        let text = error.to_string();
        for part in [host, "db.example.com", "connect by a name that it is for"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_refused_and_called_so() {
    let authority = Authority::new();
    let certificate = authority.certify_until("localhost", &PKCS_ECDSA_P256_SHA256, 2020);
    let server = Server::start(&authority, &certificate).await;
    let error = failure(&server.url("localhost"), &[(CA_FILE, &server.ca_file())]).await;
    assert_eq!(error.code(), "database_tls");
    let text = error.to_string();
    assert!(text.contains("localhost") && text.contains("has expired; renew it"), "{text}");
}

#[tokio::test]
async fn a_server_of_tls_1_2_will_do_and_an_older_one_will_not() {
    let authority = Authority::new();
    let certificate = authority.certify("localhost", &PKCS_RSA_SHA256);
    let at_most_1_2 = ["ssl_max_protocol_version=TLSv1.2"];
    let server = Server::start_with(&authority, &certificate, &at_most_1_2).await;
    let ca_file = server.ca_file();
    let database = database(&bound(&server.url("localhost")), &[(CA_FILE, &ca_file)]);
    let client = connect(&database).await.unwrap();
    assert_eq!(client.query_one(VERSION, &[]).await.unwrap().get::<_, &str>(0), "TLSv1.2");

    let at_most_1_1 = ["ssl_min_protocol_version=TLSv1", "ssl_max_protocol_version=TLSv1.1"];
    let server = Server::start_with(&authority, &certificate, &at_most_1_1).await;
    let error = failure(&server.url("localhost"), &[(CA_FILE, &server.ca_file())]).await;
    assert_eq!(error.code(), "database_tls");
    assert!(error.to_string().contains("allow TLS 1.2 or 1.3"), "{error}");
}

/// Case P21 (c): there is no falling back to a connection without TLS.
#[tokio::test]
async fn a_server_without_tls_is_refused_where_tls_is_demanded() {
    let authority = Authority::new();
    let certificate = authority.certify("localhost", &PKCS_ECDSA_P256_SHA256);
    let server = Server::start_with(&authority, &certificate, &["ssl=off"]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://u:{PASSWORD}@{}/shop", listener.local_addr().unwrap());
    tokio::spawn(async move {
        // N is Postgres' answer to a request for TLS that it does not offer.
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(b"N").await.unwrap();
        }
    });
    for url in [url, server.url("localhost")] {
        let error = failure(&url, &[(MODE, "require")]).await;
        assert_eq!(error.code(), "database_tls");
        assert!(error.to_string().contains("does not offer TLS"), "{error}");
    }
}
