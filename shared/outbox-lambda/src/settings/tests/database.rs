use super::*;
use crate::settings::Security;

/// The database of these variables alone.
fn database(vars: &[(&str, &str)]) -> Result<Database, SettingsError> {
    Settings::from_vars(Program::Purge, vars.iter().copied()).map(|settings| settings.database)
}

fn of_url(url: &str) -> Result<Database, SettingsError> {
    database(&[("OUTBOX_DATABASE_URL", url)])
}

fn is_verified(database: &Database) -> bool {
    matches!(database.security, Security::Verified { .. })
}

#[test]
fn a_url_names_host_port_database_and_role() {
    for (url, text) in [
        ("postgres://u:p@db.example.com:6432/shop", "db.example.com:6432/shop as u"),
        ("postgresql://u@db.example.com/shop", "db.example.com:5432/shop as u"),
        ("postgres://u:p@[::1]:5433/shop", "[::1]:5433/shop as u"),
        ("postgres://u:p@one:1,two:2/shop", "one:1,two:2/shop as u"),
        ("postgres:///shop?host=/run/postgresql&user=u", "/run/postgresql:5432/shop as u"),
        ("postgres://u@%2Frun%2Fpostgresql/shop", "/run/postgresql:5432/shop as u"),
        ("postgres://u%40corp:p%2Fq@host/my%20shop", "host:5432/my shop as u@corp"),
    ] {
        assert_eq!(of_url(url).unwrap().to_string(), text);
    }
}

#[test]
fn a_password_may_hold_any_character_once_it_is_escaped() {
    let database = of_url("postgres://u:p%40%3A%2F%3F%23%25%26x@host/shop").unwrap();
    assert_eq!(database.connection.get_password(), Some(&b"p@:/?#%&x"[..]));
    // A question mark and a slash are understood as they are, too.
    let database = of_url("postgres://u:p?a/b=c@host/shop?sslmode=disable").unwrap();
    assert_eq!(database.connection.get_password(), Some(&b"p?a/b=c"[..]));
    assert!(!is_verified(&database));
}

#[test]
fn the_connection_is_verified_unless_it_stays_on_this_machine() {
    for (host, verified) in [
        ("db.example.com", true),
        ("10.0.0.1", true),
        ("localhost.example.com", true),
        ("localhost", false),
        ("127.0.0.1", false),
        ("127.8.8.8", false),
        ("[::1]", false),
        ("%2Frun%2Fpostgresql", false),
        ("localhost,db.example.com", true),
    ] {
        let database = of_url(&format!("postgres://u:p@{host}/shop")).unwrap();
        assert_eq!(is_verified(&database), verified, "{host}");
    }
    // The name says here, the address says elsewhere.
    assert!(is_verified(&of_url("postgres://u@localhost/shop?hostaddr=10.0.0.1").unwrap()));
}

#[test]
fn sslmode_is_taken_from_the_url_and_the_setting_wins() {
    let read = |mode: &str, url: &str| {
        let url = format!("postgres://u:p@{url}");
        let vars = [("OUTBOX_DATABASE_URL", &*url), ("OUTBOX_DATABASE_SSLMODE", mode)];
        is_verified(&database(&vars).unwrap())
    };
    assert!(!read("", "db/shop?sslmode=disable"));
    assert!(read("", "localhost/shop?application_name=x&sslmode=require"));
    assert!(read("", "localhost/shop?sslmode=verify-full&connect_timeout=3"));
    assert!(read("require", "localhost/shop"));
    assert!(read("verify-full", "db/shop?sslmode=disable"));
    assert!(!read("disable", "db/shop?sslmode=verify-full"));
}

#[test]
fn an_sslmode_that_leaves_something_unverified_is_refused_by_name() {
    for mode in ["prefer", "allow", "verify-ca"] {
        let error =
            of_url(&format!("postgres://u:p@db/shop?sslmode={mode}")).unwrap_err().to_string();
        assert!(error.contains(&format!("sslmode={mode}")), "{error}");
        let vars =
            [("OUTBOX_DATABASE_URL", "postgres://u:p@db/shop"), ("OUTBOX_DATABASE_SSLMODE", mode)];
        let error = database(&vars).unwrap_err().to_string();
        assert!(error.contains(&format!("{mode:?} is not allowed")), "{error}");
    }
}

#[test]
fn a_ca_file_comes_from_the_url_or_the_setting_and_asks_for_verification() {
    let path_of = |vars: &[(&str, &str)]| match database(vars).unwrap().security {
        Security::Verified { ca_file } => ca_file.unwrap().display().to_string(),
        Security::Plain => panic!("a CA file asks for verification"),
    };
    let url = ("OUTBOX_DATABASE_URL", "postgres://u:p@localhost/shop?sslrootcert=/ca%20+1.pem");
    assert_eq!(path_of(&[url]), "/ca +1.pem");
    assert_eq!(path_of(&[url, ("OUTBOX_DATABASE_CA_FILE", "/own.pem")]), "/own.pem");

    let error = database(&[url, ("OUTBOX_DATABASE_SSLMODE", "disable")]).unwrap_err().to_string();
    assert!(error.contains("certificate authorities"), "{error}");
}

#[test]
fn the_parts_stand_for_a_url_and_the_password_is_taken_as_it_is() {
    let parts = [
        ("OUTBOX_DATABASE_HOST", "db.example.com"),
        ("OUTBOX_DATABASE_NAME", "shop"),
        ("OUTBOX_DATABASE_USER", "relay"),
        ("OUTBOX_DATABASE_PASSWORD", "p@:/%?"),
    ];
    let read = database(&parts).unwrap();
    assert_eq!(read.to_string(), "db.example.com:5432/shop as relay");
    assert_eq!(read.connection.get_password(), Some(&b"p@:/%?"[..]));

    for (missing, _) in parts {
        let rest: Vec<_> = parts.into_iter().filter(|(name, _)| *name != missing).collect();
        let error = database(&rest).unwrap_err();
        assert_eq!(error.problems().len(), 1);
        assert!(error.to_string().starts_with(&format!("{missing}: is not set")), "{error}");
    }
}

#[test]
fn one_source_of_the_database_is_taken_and_two_are_refused() {
    let url = ("OUTBOX_DATABASE_URL", "postgres://u:p@one/shop");
    let plain = ("DATABASE_URL", "postgres://u:p@two/shop");
    assert_eq!(database(&[url, plain]).unwrap().to_string(), "one:5432/shop as u");
    assert_eq!(database(&[plain]).unwrap().to_string(), "two:5432/shop as u");
    let error = database(&[url, ("OUTBOX_DATABASE_HOST", "three")]).unwrap_err().to_string();
    assert!(error.starts_with("OUTBOX_DATABASE_HOST: \"three\" is given beside"), "{error}");
    let error = database(&[url, ("OUTBOX_DATABASE_PASSWORD", "s3cret")]).unwrap_err().to_string();
    assert!(error.starts_with("OUTBOX_DATABASE_PASSWORD: the value (not shown)"), "{error}");
    let error = database(&[]).unwrap_err().to_string();
    assert!(error.starts_with("OUTBOX_DATABASE_URL: is not set, nor are"), "{error}");
}

#[test]
fn a_password_may_come_beside_a_url_that_holds_none() {
    let url = ("OUTBOX_DATABASE_URL", "postgres://u@db/shop");
    let read = database(&[url, ("OUTBOX_DATABASE_PASSWORD", "p@ss")]).unwrap();
    assert_eq!(read.connection.get_password(), Some(&b"p@ss"[..]));
}

#[test]
fn the_server_sees_which_program_is_connected() {
    let name_in =
        |url: &str| of_url(url).unwrap().connection.get_application_name().map(str::to_owned);
    assert_eq!(name_in("postgres://u@db/shop"), Some("outbox-purge".to_owned()));
    assert_eq!(name_in("postgres://u@db/shop?application_name=mine"), Some("mine".to_owned()));
}

/// Case P10: a relay that never stops has nobody else to tell it that its connection leads nowhere.
#[test]
fn a_connection_whose_other_end_is_gone_is_noticed_within_a_minute() {
    let connection = of_url("postgres://u@db/shop").unwrap().connection;
    let (interval, retries) = (
        connection.get_keepalives_interval().unwrap(),
        connection.get_keepalives_retries().unwrap(),
    );
    let while_idle = connection.get_keepalives_idle() + interval * retries;
    assert!(connection.get_keepalives() && while_idle < Duration::from_mins(1), "{while_idle:?}");
    assert_eq!(
        connection.get_tcp_user_timeout(),
        Some(&Duration::from_secs(10)),
        "while it is used"
    );
}

/// Case L13: in whatever way a URL is malformed, no piece of its password is repeated.
#[test]
fn no_problem_with_a_url_and_no_debug_form_shows_the_password() {
    for url in [
        "mysql://u:s3cret@db/shop",
        "u:s3cret@db/shop",
        "postgres://u:s3cret@/shop",
        "postgres://u:s3cret@db",
        "postgres://u:x@s3cret@db/shop",
        "postgres://u:x@y?s3cret=z@db/shop",
        "postgres://u:s3cret",
        "postgres://u:s3cret/shop",
        "postgres://:s3cret@db/shop",
        "postgres://u:s3cret@db:port/shop",
        "postgres://u:s3cret@db:99999/shop",
        "postgres://u:s3cret@[::1/shop",
        "postgres://u:s3cret@db/shop?sslmode=s3cret",
        "postgres://u:s3cret@db/shop?sslmode",
        "postgres://u:x@db/shop?password=y&s3cret=z",
        "postgres://u@db/shop?connect_timeout=s3cret",
        "postgres://%ffs3cret:x@db/shop",
        "host=db user=u password=s3cret dbname=shop",
    ] {
        for name in ["OUTBOX_DATABASE_URL", "DATABASE_URL"] {
            let error = database(&[(name, url)]).expect_err(url);
            assert_eq!(error.problems().len(), 1, "{error}");
            assert!(
                error.to_string().starts_with(&format!("{name}: the value (not shown)")),
                "{error}"
            );
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{url}: {error}");
        }
    }
    let settings = read(&[]).unwrap();
    assert!(!format!("{settings:?} {settings:#?}").contains("s3cret"));
}

/// People paste a whole URL where a host belongs.
#[test]
fn a_url_in_the_wrong_setting_is_not_shown() {
    for name in ["OUTBOX_DATABASE_HOST", "OUTBOX_SCHEMA", "OUTBOX_LOG_LEVEL", "OUTBOX_DESTINATIONS"]
    {
        let url = format!("postgres://u:s3cret@db.example.com:5432/{}", "shop".repeat(16));
        let error = database(&[(name, &url)]).unwrap_err().to_string();
        assert!(error.contains(&format!("{name}: ")), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
    for host in ["db:5432", "db/shop", "one,two", "a b"] {
        let error = database(&[("OUTBOX_DATABASE_HOST", host)]).unwrap_err().to_string();
        assert!(error.contains("is not a plain host"), "{error}");
    }
}
