//! The answer on standard output, in the form asked for.

use std::io::{self, ErrorKind, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::args::Form;
use crate::exit::Failure;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) form: Form,
}

impl Output {
    pub(crate) fn new(form: Form) -> Self {
        Self { form }
    }

    /// Shows one answer: as this text for people, or as JSON.
    pub(crate) fn show(
        self,
        answer: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self.form {
            Form::Table => print(&text()),
            Form::Json => print(&json(answer, serde_json::to_string_pretty)?),
            Form::Ndjson => print(&json(answer, serde_json::to_string)?),
        }
    }

    /// Shows an answer that is a list: as NDJSON it takes a line for each item.
    pub(crate) fn show_list<T: Serialize>(
        self,
        answer: &impl Serialize,
        items: &[T],
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self.form {
            Form::Ndjson => items.iter().try_for_each(|item| self.show(item, String::new)),
            Form::Table | Form::Json => self.show(answer, text),
        }
    }
}

/// A table as wide as its contents; all columns but the first are numbers.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header.to_vec())
        .add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn json<T: Serialize>(
    answer: &T,
    write: fn(&T) -> serde_json::Result<String>,
) -> Result<String, Failure> {
    write(answer)
        .map_err(|error| Failure::problem(format!("the answer cannot be written: {error}")))
}

/// A reader that has seen enough, such as `head`, is no failure.
fn print(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{}", text.trim_end()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::problem(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
