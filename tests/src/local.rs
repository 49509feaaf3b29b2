//! Where the local stack is: from the environment, or else from the file that `make up` writes.

use std::path::Path;

/// A variable of the local stack.
pub(crate) fn var(name: &str) -> String {
    if let Ok(value) = std::env::var(name) {
        return value;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.local/env");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .unwrap_or_else(|| panic!("{name} is not set, and make up has not written it: run make up"))
        .to_owned()
}
