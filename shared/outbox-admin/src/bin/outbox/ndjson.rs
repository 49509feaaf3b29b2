//! A file of messages, read line by line and never as a whole.

use std::io::{self, BufRead, Read};

use outbox::NewMessage;

/// Longest line: several times the largest message that SQS or SNS takes, escaped.
const MAX_LINE_BYTES: usize = 16 << 20;

/// A chunk goes to the database at once, so it is bounded in number and in bytes.
const CHUNK_LINES: usize = 100;
const CHUNK_BYTES: u64 = 1 << 20;

/// Messages in a row, of one transaction.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Chunk {
    /// Messages with the numbers of their lines, from 1.
    pub(crate) messages: Vec<(u64, NewMessage)>,
    /// Bytes of the file up to the end of this chunk.
    pub(crate) bytes_read: u64,
    /// Whether the transaction ends with it.
    pub(crate) commit: bool,
}

/// A line that holds no message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    pub(crate) line: u64,
    pub(crate) problem: String,
}

/// The chunks of a file; ends after a bad line.
pub(crate) struct Chunks<R> {
    input: R,
    from_line: u64,
    transaction_lines: usize,
    line: u64,
    bytes_read: u64,
    in_transaction: usize,
    is_over: bool,
}
