//! Secrets that are told at sight, and the search for them in whatever a program has said.

use std::fmt::{Display, Write};

/// In the place of a database's password.
pub(super) const PASSWORD: &str = "pAsSwOrDcAnArY7";
/// In a secret of Secrets Manager.
pub(super) const SECRET: &str = "sEcReTcAnArY7";
/// `AWS_SECRET_ACCESS_KEY`.
pub(super) const ACCESS_KEY: &str = "aCcEsSkEyCaNaRy7";
/// `AWS_SESSION_TOKEN`, a part of each token of IAM.
pub(super) const TOKEN: &str = "tOkEnCaNaRy7";
/// In payloads.
pub(super) const PAYLOAD: &str = "pAyLoAdCaNaRy7";
/// In header values.
pub(super) const HEADER: &str = "hEaDeRcAnArY7";

/// Escaping for JSON, XML or a URL leaves these letters and digits as they are; base64 does not.
const ALL: [&str; 6] = [PASSWORD, SECRET, ACCESS_KEY, TOKEN, PAYLOAD, HEADER];

/// Whatever was said, and by whom.
#[derive(Default)]
pub(super) struct Said(Vec<(String, String)>);

impl Said {
    pub(super) fn add(&mut self, who: impl Display, what: impl Display) {
        self.0.push((who.to_string(), what.to_string()));
    }

    /// Everything in one text, for a look whether it was said at all.
    pub(super) fn text(&self) -> String {
        self.0.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Fails if a secret is in it, in any form.
    pub(super) fn assert_clean(&self) {
        assert!(!self.0.is_empty(), "nothing was said");
        for (who, what) in &self.0 {
            if let Some(canary) = leak(what) {
                panic!("{canary} in what {who} said: {what}");
            }
        }
    }
}

/// The first secret that is in the text, also if it is a part of something in base64 or hexadecimal.
fn leak(text: &str) -> Option<&'static str> {
    ALL.into_iter().find(|canary| {
        text.contains(canary)
            || text.to_lowercase().contains(&in_hexadecimal(canary))
            || (0..3).any(|offset| text.contains(&in_base64(canary, offset)))
    })
}

fn in_hexadecimal(text: &str) -> String {
    text.bytes().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").unwrap();
        digits
    })
}

/// What stays the same of a text in base64 that begins so many bytes behind a multiple of three.
fn in_base64(text: &str, offset: usize) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = text.bytes().flat_map(|byte| (0..8).rev().map(move |n| byte >> n & 1));
    // The digits that share a bit with a neighbour are left out.
    let bits: Vec<u8> = bits.skip([0, 4, 2][offset]).collect();
    let digits = bits.chunks_exact(6).map(|six| six.iter().fold(0, |digit, bit| digit << 1 | bit));
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[test]
fn a_secret_is_found_as_it_is_and_in_base64_and_hexadecimal() {
    // Each by another program: `printf 'xx%s!' tOkEnCaNaRy7 | base64`.
    for text in
        ["a tOkEnCaNaRy7!", "dE9rRW5DYU5hUnk3IQ==", "eHRPa0VuQ2FOYVJ5NyE=", "eHh0T2tFbkNhTmFSeTch"]
    {
        assert_eq!(leak(text), Some(TOKEN), "{text}");
    }
    assert_eq!(leak("\\x744F6b456e43614e61527937"), Some(TOKEN));
    assert_eq!(leak("tokencanary7 and other harmless text"), None);
}
