//! Where the local stack is: from the environment, or else from the file that `make up` writes.

use std::path::{Path, PathBuf};

/// The folder of Postgres' programs, for a test that starts a server of its own.
pub fn postgres_bin() -> PathBuf {
    var("POSTGRES_BIN").into()
}

/// A variable of the local stack.
pub(crate) fn var(name: &str) -> String {
    if let Ok(value) = std::env::var(name) {
        return value;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.local/env");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let word = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    unquoted(word.unwrap_or_else(|| {
        panic!("{name} is not set, and make up has not written it: run make test, or make up")
    }))
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
