//! Colours, on a terminal and nowhere else.

use std::env;
use std::io::{self, IsTerminal};

use anstyle::{AnsiColor, Style};

/// Whether standard output takes colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// A terminal does, unless it is a dumb one or somebody has set `NO_COLOR`.
    pub(crate) fn for_stdout() -> Self {
        let refuses = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { is_on: io::stdout().is_terminal() && !refuses }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default().bold(), text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    pub(crate) fn to_note(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default(), text)
    }

    /// What stands before the rest of a line.
    pub(crate) fn name(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.is_on { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colours_and_everything_else_plain_text() {
        assert_eq!(Paint { is_on: true }.bad("dead"), "\u{1b}[1m\u{1b}[31mdead\u{1b}[0m");
        assert_eq!(Paint { is_on: false }.bad("dead"), "dead");
    }
}
