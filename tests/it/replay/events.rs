//! Events as varied as real ones, the same at each run, and files of them.

use std::path::PathBuf;

use fastrand::Rng;
use outbox::NewMessage;
use uuid::Uuid;

/// Members of an object that something on the way might change: by parsing and printing, decoding, escaping, or
/// counting characters for bytes.
const MEMBERS: [&str; 14] = [
    r#""city":"Zürich, 東京, Αθήνα""#,
    r#""emoji" : "🦀 👩‍👩‍👧 🇺🇳""#,
    "\"accents\":\"é and e\u{301}\"",
    "\"spaces\":\"a\u{a0}b\u{2028}c\u{feff}d  e \"",
    r#""right_to_left":"שלום, مرحبا""#,
    r#""escapes":"\u00e9 \ud83e\udd80 \/ \" \\ \n \t""#,
    r#""nothing":"\u0000""#,
    r#""amount": 1.10"#,
    r#""amount":1E+2"#,
    r#""id":100000000000000000001"#,
    r#""id":-0.0"#,
    r#""markup":"<a href='?a=1&amp;b=2'>100 %+</a>]]>""#,
    r#""sql":"'; -- $1 %s {0}""#,
    r#""tree":{"b":[],"a":{ },"list":[ true,false , null]}"#,
];

/// How an object is written: what stands before, between and after its members.
const FORMS: [[&str; 3]; 4] = [
    ["{", ",", "}"],
    ["{\n    ", ",\n    ", "\n}"],
    [" {\r\n\t", " ,\r\n\t", "\r\n}\r\n"],
    ["[{", "}, {", "}]"],
];

/// That many events, of 1 to 28 KB, the same for each destination; half of them in one of twenty groups.
pub(super) fn events(destination: &str, n_events: usize) -> Vec<NewMessage> {
    let mut rng = Rng::with_seed(7);
    let event = |_| NewMessage {
        message_id: Some(Uuid::from_u128(rng.u128(..))),
        message_group: rng.bool().then(|| format!("customer-{}", rng.u8(..20))),
        ..NewMessage::new(destination, "order.changed.v1", payload(&mut rng))
    };
    (0..n_events).map(event).collect()
}

fn payload(rng: &mut Rng) -> String {
    let bytes = rng.usize(1_000..28_000);
    let [before, between, after] = FORMS[rng.usize(..FORMS.len())];
    let mut payload = before.to_owned();
    while payload.len() < bytes {
        payload += MEMBERS[rng.usize(..MEMBERS.len())];
        payload += between;
    }
    payload + "\"last\":true" + after
}

/// A file with a message on each line; it is removed when dropped.
pub(super) struct File(PathBuf);

impl File {
    pub(super) fn of<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Self {
        let path = std::env::temp_dir().join(format!("outbox-{}.ndjson", Uuid::new_v4().simple()));
        let mut text = String::new();
        for line in lines {
            text += line.as_ref();
            text += "\n";
        }
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    pub(super) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
