//! Where the local stack is: from the environment, or else from the file that `make up` writes.

use std::path::{Path, PathBuf};

/// The folder of Postgres' programs, for a test that starts a server of its own.
pub fn postgres_bin() -> PathBuf {
    var("POSTGRES_BIN").into()
}

/// The program of `PgBouncer`, for a test that goes through one.
///
/// # Panics
/// If there is none.
pub fn pgbouncer() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian keeps it off the PATH of those who aren't root.
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let mut programs = folders.map(|folder| folder.join("pgbouncer"));
    find("PGBOUNCER").map(PathBuf::from).or_else(|| programs.find(|program| program.exists())).expect(
        "there is no PgBouncer: run make up as root, install the system's package pgbouncer, or set PGBOUNCER",
    )
}

/// A variable of the local stack.
pub(crate) fn var(name: &str) -> String {
    find(name).unwrap_or_else(|| {
        panic!("{name} is not set, and make up has not written it: run make test, or make up")
    })
}

fn find(name: &str) -> Option<String> {
    if let Ok(value) = std::env::var(name) {
        return Some(value);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.local/env");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let word = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    word.map(unquoted)
}

/// The value of a word of the shell: `infra/local/env.sh` quotes what is not plain.
fn unquoted(word: &str) -> String {
    match word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(quoted) => quoted.replace(r"'\''", "'"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    fn a_value_is_what_the_shell_takes_it_for() {
        for (word, value) in [
            ("postgres://u:p@127.0.0.1/outbox?a=b", "postgres://u:p@127.0.0.1/outbox?a=b"),
            ("'postgres://db/shop?sslmode=require&x=1'", "postgres://db/shop?sslmode=require&x=1"),
            (r"'it'\''s '\'''\'''", "it's ''"),
            ("''", ""),
            ("", ""),
        ] {
            assert_eq!(unquoted(word), value);
        }
    }
}
