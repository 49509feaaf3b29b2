//! One object: lines of JSON, compressed as they come, under a name that tells what is in it.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A complete object. The same messages in the same order make the same name and the same bytes, so that a purge
/// that is repeated after a crash writes over what the first one wrote.
#[derive(Debug)]
pub struct Object {
    /// Its name under the archive's prefix: `dispatched/2026/11/30/4711-5822-6f1c9f0e0b1f4c55.ndjson.gz`.
    pub name: String,
    /// The gzipped lines.
    pub body: Vec<u8>,
}

/// An object that still grows. Only the compressed bytes are held, and one line.
pub struct ObjectBuilder {
    day: String,
    ids: Option<(i64, i64)>,
    line: Vec<u8>,
    hash: Sha256,
    gzip: GzEncoder<Vec<u8>>,
}

/// Bytes of the hash in a name. It tells apart objects of the same first and last id that two purges at once may
/// make; eight bytes are enough for that, as nobody chooses the messages so that they collide.
const HASH_BYTES: usize = 8;

impl ObjectBuilder {
    /// An object of messages that were dispatched on that day, given as `2026-11-30`.
    pub fn new(day: &str) -> Self {
        Self {
            day: day.replace('-', "/"),
            ids: None,
            line: Vec::new(),
            hash: Sha256::new(),
            gzip: GzEncoder::new(Vec::new(), Compression::default()),
        }
    }

    /// Adds a message as one line.
    ///
    /// # Errors
    /// If the message can't be written as JSON; it is left out then.
    pub fn push(&mut self, id: i64, message: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, message)?;
        self.line.push(b'\n');
        self.hash.update(&self.line);
        let (first, last) = self.ids.unwrap_or((id, id));
        self.ids = Some((first.min(id), last.max(id)));
        self.gzip.write_all(&self.line)
    }

    /// The complete object; `None` if no message was added.
    ///
    /// # Errors
    /// None that is known: it is compressed in memory.
    pub fn finish(self) -> io::Result<Option<Object>> {
        let Some((first, last)) = self.ids else { return Ok(None) };
        let hash = self.hash.finalize();
        let hash = hash.iter().take(HASH_BYTES).fold(String::new(), |mut hex, byte| {
            _ = write!(hex, "{byte:02x}");
            hex
        });
        let name = format!("dispatched/{}/{first}-{last}-{hash}.ndjson.gz", self.day);
        Ok(Some(Object { name, body: self.gzip.finish()? }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn object(messages: &[(i64, &str)]) -> Object {
        let mut builder = ObjectBuilder::new("2026-11-30");
        for (id, message) in messages {
            builder.push(*id, message).unwrap();
        }
        builder.finish().unwrap().unwrap()
    }

    fn lines(object: &Object) -> String {
        let mut lines = String::new();
        GzDecoder::new(object.body.as_slice()).read_to_string(&mut lines).unwrap();
        lines
    }

    #[test]
    fn an_object_holds_a_line_for_each_message_and_is_named_by_day_first_and_last_id() {
        let object = object(&[(7, "a"), (5, "b\nc"), (6, "d")]);
        assert_eq!(lines(&object), "\"a\"\n\"b\\nc\"\n\"d\"\n");
        let (range, hash) = object.name.rsplit_once('-').unwrap();
        assert_eq!(range, "dispatched/2026/11/30/5-7");
        assert_eq!((hash.len(), hash.split_once('.')), (26, Some((&hash[..16], "ndjson.gz"))));
    }

    #[test]
    fn the_same_messages_make_the_same_object_and_others_of_the_same_range_another_name() {
        let (first, again) = (object(&[(5, "a"), (7, "b")]), object(&[(5, "a"), (7, "b")]));
        assert_eq!((&first.name, &first.body), (&again.name, &again.body));
        for other in [object(&[(5, "a"), (6, "x"), (7, "b")]), object(&[(5, "a"), (7, "c")])] {
            assert_ne!(first.name, other.name);
        }
    }

    #[test]
    fn nothing_makes_no_object() {
        assert!(ObjectBuilder::new("2026-11-30").finish().unwrap().is_none());
    }
}
