//! The answer on standard output, in the form asked for.

use std::io::{self, ErrorKind, Write};

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use serde::Serialize;

use crate::args::Form;
use crate::exit::Failure;

pub(crate) use outbox_admin::messages_in_words as messages;

/// The form in which a verb answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output(pub(crate) Form);

impl Output {
    /// Shows one answer: as this text for people, or as JSON.
    pub(crate) fn show(
        self,
        answer: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let shown = match self.0 {
            Form::Table => Ok(text()),
            Form::Json => serde_json::to_string_pretty(answer),
            Form::Ndjson => serde_json::to_string(answer),
        };
        print(&shown.expect("an answer has string keys and writes to memory"))
    }

    /// Shows an answer that is a list at heart: as NDJSON it takes a line for each item.
    pub(crate) fn show_list<T: Serialize>(
        self,
        answer: &impl Serialize,
        items: &[T],
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self.0 {
            Form::Ndjson => items.iter().try_for_each(|item| self.show(item, String::new)),
            Form::Table | Form::Json => self.show(answer, text),
        }
    }
}

/// A table as wide as its contents. All columns but the first hold numbers.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    aligned(header, rows, CellAlignment::Right)
}

/// A table as wide as its contents, of texts: a line for each row, behind two of the header.
pub(crate) fn text_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    aligned(header, rows, CellAlignment::Left)
}

/// The text on one line and without what a terminal would obey: some of it is a producer's.
pub(crate) fn plain(text: &str) -> String {
    let plain = |c: char| {
        let is_plain = !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c);
        if is_plain { c.to_string() } else { c.escape_default().to_string() }
    };
    text.chars().map(plain).collect()
}

fn aligned(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    alignment: CellAlignment,
) -> String {
    const STYLE: TableStyle =
        TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
    let rows = rows.into_iter().map(|row| row.iter().map(|cell| plain(cell)).collect::<Vec<_>>());
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header.to_vec())
        .add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if number > 0 {
            column.set_cell_alignment(alignment);
        }
    }
    table.trim_fmt()
}

/// A reader that has seen enough, such as `head`, is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{}", text.trim_end()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::problem(format!("cannot write the answer: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_and_not_obeyed() {
        assert_eq!(plain("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(plain("\u{202e}"), "\\u{202e}");
        assert_eq!(plain("Zürich 🦀"), "Zürich 🦀");
    }

    #[test]
    fn a_text_table_has_a_line_for_each_row() {
        let rows = [vec!["7".to_owned(), "a\nb".to_owned()], vec!["8".to_owned(), String::new()]];
        assert_eq!(text_table(&["id", "type"], rows).lines().count(), 4);
    }
}
