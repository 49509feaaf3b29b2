//! Colour, on a terminal only.

use std::env;
use std::io::{self, IsTerminal};

/// What a text is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// All is well.
    Green,
    /// It waits.
    Yellow,
    /// Somebody must act.
    Red,
    /// Of less weight.
    Dim,
}

/// Whether standard output is a terminal, and nobody asked for none (<https://no-color.org>).
pub(crate) fn is_wanted() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// The text in that colour, if colour is wanted.
pub(crate) fn paint(text: &str, colour: Colour, is_wanted: bool) -> String {
    let code = match colour {
        Colour::Green => "32",
        Colour::Yellow => "33",
        Colour::Red => "31",
        Colour::Dim => "2",
    };
    if is_wanted { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// The colour of a status or an event; none for what is as it should be.
pub(crate) fn of_status(status: &str) -> Option<Colour> {
    match status {
        "dispatched" => Some(Colour::Green),
        "claimed" | "failed" | "redriven" => Some(Colour::Yellow),
        "dead" => Some(Colour::Red),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_painted_only_where_that_is_wanted() {
        assert_eq!(paint("dead", Colour::Red, true), "\u{1b}[31mdead\u{1b}[0m");
        assert_eq!(paint("dead", Colour::Red, false), "dead");
    }
}
