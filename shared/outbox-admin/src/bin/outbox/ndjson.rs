//! A file of messages, one JSON object a line, read in chunks and never as a whole.

use std::io::{BufRead, Read};

use outbox::NewMessage;

/// Messages of one transaction.
const TRANSACTION_MESSAGES: usize = 1_000;

/// A chunk is held in memory and sent at once, so it is bounded in number and in bytes.
const CHUNK_MESSAGES: usize = 100;
const CHUNK_BYTES: u64 = 1 << 20;

/// Longest line: several times the largest message that SQS or SNS takes, all of it escaped.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Messages that follow one another, all of one transaction.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Chunk {
    /// Each with the number of its line, from 1.
    pub(crate) messages: Vec<(u64, NewMessage)>,
    /// Whether the transaction ends with this chunk.
    pub(crate) ends_transaction: bool,
    /// Lines and bytes of the file up to the end of this chunk.
    pub(crate) lines_read: u64,
    pub(crate) bytes_read: u64,
}

/// A line that holds no message, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    pub(crate) line: u64,
    pub(crate) problem: String,
}

/// The chunks of a file. After a bad line there are no more.
pub(crate) struct Chunks<R> {
    input: R,
    from_line: u64,
    lines_read: u64,
    bytes_read: u64,
    in_transaction: usize,
    is_over: bool,
    line: Vec<u8>,
}

impl<R: BufRead> Chunks<R> {
    /// Skips the lines before `from_line`, whatever they hold.
    pub(crate) fn new(input: R, from_line: u64) -> Self {
        let (lines_read, bytes_read, in_transaction) = (0, 0, 0);
        let (is_over, line) = (false, Vec::new());
        Self { input, from_line, lines_read, bytes_read, in_transaction, is_over, line }
    }

    fn next_chunk(&mut self) -> Result<Chunk, BadLine> {
        let mut chunk = Chunk::default();
        let end = self.bytes_read + CHUNK_BYTES;
        while chunk.messages.len() < CHUNK_MESSAGES && self.bytes_read < end && !self.is_over {
            let Some(message) = self.next_message()? else {
                self.is_over = true;
                break;
            };
            chunk.messages.push((self.lines_read, message));
            self.in_transaction += 1;
            if self.in_transaction == TRANSACTION_MESSAGES {
                break;
            }
        }
        chunk.ends_transaction = self.is_over || self.in_transaction == TRANSACTION_MESSAGES;
        if chunk.ends_transaction {
            self.in_transaction = 0;
        }
        (chunk.lines_read, chunk.bytes_read) = (self.lines_read, self.bytes_read);
        Ok(chunk)
    }

    /// The next line that is neither blank nor to be skipped.
    fn next_message(&mut self) -> Result<Option<NewMessage>, BadLine> {
        while self.read_line()? {
            let is_first = self.lines_read == 1;
            let line = match self.line.strip_prefix(b"\xef\xbb\xbf") {
                Some(line) if is_first => line,
                _ => &self.line,
            };
            if self.lines_read >= self.from_line && !line.trim_ascii().is_empty() {
                let message = serde_json::from_slice(line);
                return message.map(Some).map_err(|error| self.bad_line(describe(&error)));
            }
        }
        Ok(None)
    }

    /// Reads a line, whose number is then `lines_read`; `false` at the end.
    fn read_line(&mut self) -> Result<bool, BadLine> {
        self.line.clear();
        let mut input = self.input.by_ref().take(MAX_LINE_BYTES + 1);
        let n_bytes = input.read_until(b'\n', &mut self.line);
        self.lines_read += 1;
        match n_bytes {
            Ok(0) => {
                self.lines_read -= 1;
                Ok(false)
            }
            Ok(n_bytes) if n_bytes as u64 > MAX_LINE_BYTES => {
                Err(self.bad_line(format!("is longer than {} MiB", MAX_LINE_BYTES >> 20)))
            }
            Ok(n_bytes) => {
                self.bytes_read += n_bytes as u64;
                Ok(true)
            }
            Err(error) => Err(self.bad_line(format!("cannot be read: {error}"))),
        }
    }

    fn bad_line(&self, problem: String) -> BadLine {
        BadLine { line: self.lines_read, problem }
    }
}

impl<R: BufRead> Iterator for Chunks<R> {
    type Item = Result<Chunk, BadLine>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let chunk = self.next_chunk();
        self.is_over |= chunk.is_err();
        Some(chunk)
    }
}

/// What the parser says, with the place in the line. Its own line number is always 1.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(problem) => format!("{} (column {})", without_value(problem), error.column()),
        None => without_value(&text),
    }
}

/// The parser quotes a value of the wrong kind (`invalid type: string "...", expected a map`), and that may be a payload
/// or a header's.
fn without_value(problem: &str) -> String {
    let is_of_value =
        ["invalid type: ", "invalid value: "].iter().any(|it| problem.starts_with(it));
    match (problem.find(['"', '`']), problem.rfind(", expected ")) {
        (Some(quote), Some(expected)) if is_of_value && quote < expected => {
            format!("{}{}", problem[..quote].trim_end(), &problem[expected..])
        }
        _ => problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"destination":"orders","message_type":"t","payload":"p"}"#;

    fn chunks(text: &str) -> Vec<Result<Chunk, BadLine>> {
        Chunks::new(text.as_bytes(), 1).collect()
    }

    /// What is wrong, after how many messages of ended transactions.
    fn bad_line(text: &str) -> (u64, String) {
        let BadLine { line, problem } = chunks(text).pop().unwrap().unwrap_err();
        (line, problem)
    }

    /// Numbers of the lines of each transaction.
    fn transactions(chunks: Vec<Result<Chunk, BadLine>>) -> Vec<Vec<u64>> {
        let mut transactions = vec![vec![]];
        for chunk in chunks.into_iter().map(Result::unwrap) {
            assert!(chunk.messages.len() <= CHUNK_MESSAGES);
            transactions.last_mut().unwrap().extend(chunk.messages.iter().map(|(line, _)| *line));
            if chunk.ends_transaction {
                transactions.push(vec![]);
            }
        }
        assert_eq!(transactions.pop(), Some(vec![]), "the last transaction has not ended");
        transactions
    }

    #[test]
    fn a_transaction_ends_after_a_thousand_messages_and_at_the_end() {
        let transactions = transactions(chunks(&format!("{GOOD}\n").repeat(2_345)));
        let expected: [Vec<u64>; 3] =
            [(1..=1_000).collect(), (1_001..=2_000).collect(), (2_001..=2_345).collect()];
        assert_eq!(transactions, expected);
    }

    #[test]
    fn blank_lines_windows_line_ends_a_byte_order_mark_and_a_missing_last_line_end_are_fine() {
        let text = format!("\u{feff}{GOOD}\r\n\r\n \t\n{GOOD}");
        assert_eq!(transactions(chunks(&text)), [[1, 4]]);
        assert_eq!(chunks(&text)[0].as_ref().unwrap().bytes_read, text.len() as u64);
    }

    #[test]
    fn an_empty_file_is_an_empty_transaction() {
        assert_eq!(transactions(chunks("")), [[0; 0]]);
        assert_eq!(transactions(chunks("\n\n")), [[0; 0]]);
    }

    #[test]
    fn lines_before_the_first_wanted_are_not_even_looked_at() {
        let text = format!("nonsense\n{GOOD}\n{GOOD}");
        assert_eq!(transactions(Chunks::new(text.as_bytes(), 3).collect()), [[3]]);
    }

    #[test]
    fn a_bad_line_is_named_with_its_column_and_nothing_follows_it() {
        for (bad, named) in [
            ("nonsense", "column 2"),
            (r#"{"destination":"d","message_type":"t"}"#, "missing field `payload`"),
            (r#"{"destination":"d","message_type":"t","payload":"p","group":"g"}"#, "`group`"),
            (r#"{"destination":"d","message_type":"t","payload":{"a":1}}"#, "invalid type: map"),
        ] {
            let (line, problem) = bad_line(&format!("{GOOD}\n\n{bad}\n{GOOD}\n"));
            assert_eq!(line, 3);
            assert!(problem.contains(named) && !problem.contains("line 1"), "{problem}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named_by_its_kind_and_not_shown() {
        for (field, named) in [
            (r#""headers":"s3cret, expected \" too""#, "invalid type: string, expected a map"),
            (r#""available_at":4111111111111111"#, "invalid type: integer, expected a string"),
            (r#""message_group":true"#, "invalid type: boolean, expected a string"),
            (r#""message_id":"s3cret""#, "UUID parsing failed"),
        ] {
            let bad = format!(r#"{{"destination":"d","message_type":"t","payload":"p",{field}}}"#);
            let (_, problem) = bad_line(&bad);
            assert!(problem.starts_with(named) && problem.contains("(column "), "{problem}");
            assert!(!problem.contains("s3cret") && !problem.contains("4111"), "{problem}");
        }
    }

    #[test]
    fn a_bad_line_takes_the_whole_of_its_transaction_along_and_leaves_those_before() {
        let text = format!("{}x\n{GOOD}\n", format!("{GOOD}\n").repeat(1_250));
        let mut chunks = chunks(&text);
        assert_eq!(chunks.pop().unwrap().unwrap_err().line, 1_251);
        let ended = chunks.iter().rposition(|chunk| chunk.as_ref().unwrap().ends_transaction);
        let committed: usize =
            chunks[..=ended.unwrap()].iter().map(|c| c.as_ref().unwrap().messages.len()).sum();
        assert_eq!(committed, 1_000);
    }

    #[test]
    fn an_endless_line_is_refused_before_it_fills_the_memory() {
        let mut chunks = Chunks::new(std::io::BufReader::new(std::io::repeat(b' ')), 1);
        let BadLine { line, problem } = chunks.next().unwrap().unwrap_err();
        assert_eq!((line, problem.as_str()), (1, "is longer than 16 MiB"));
        assert!(chunks.next().is_none());
    }

    #[test]
    fn large_messages_go_in_smaller_chunks() {
        let large = GOOD.replace(":\"p\"", &format!(":\"{}\"", "p".repeat(400_000)));
        let chunks = chunks(&format!("{large}\n").repeat(7));
        let sizes: Vec<usize> = chunks.iter().map(|c| c.as_ref().unwrap().messages.len()).collect();
        assert_eq!(sizes, [3, 3, 1]);
    }
}
