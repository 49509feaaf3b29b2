//! Where purged messages are kept: a bucket, and the prefix of all that is written there.

use std::fmt;

use thiserror::Error;

/// A bucket of S3 and a prefix inside it, given as `s3://bucket/prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveLocation {
    bucket: String,
    prefix: String,
}

/// An address that is no bucket's with a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{given:?} is {problem}; allowed: s3://BUCKET or s3://BUCKET/PREFIX, for example \
     \"s3://my-archive/outbox\""
)]
pub struct ArchiveLocationError {
    given: String,
    problem: &'static str,
}

/// Room for what is put behind it: a key of S3 has 1,024 bytes at most.
const MAX_PREFIX_BYTES: usize = 512;

impl ArchiveLocation {
    /// Reads `s3://bucket` or `s3://bucket/prefix`, with or without a slash at the end.
    ///
    /// # Errors
    /// [`ArchiveLocationError`] names the value, what is wrong with it and what is allowed.
    pub fn parse(given: &str) -> Result<Self, ArchiveLocationError> {
        // Somebody's signed or authorised URL is no place for a log.
        let shown = if given.contains(['@', '?']) { "the value (not shown)" } else { given };
        let refuse = |problem| ArchiveLocationError { given: shown.to_owned(), problem };
        let address = given.strip_prefix("s3://").ok_or(refuse("no s3:// address"))?;
        let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if !is_bucket(bucket) {
            return Err(refuse(
                "not the address of a bucket (3 to 63 lower-case letters, digits, . and -)",
            ));
        }
        if prefix.len() > MAX_PREFIX_BYTES {
            return Err(refuse("longer than a prefix may be (512 bytes)"));
        }
        if !prefix.is_empty() && !prefix.split('/').all(is_segment) {
            return Err(refuse(
                "no plain prefix (letters, digits and ! - _ . * = between slashes)",
            ));
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The bucket's name.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key of an object of that name under the prefix.
    pub fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }
}

/// What S3 allows for the name of a bucket made since 2018.
fn is_bucket(name: &str) -> bool {
    let is_outer = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_inner = |b: u8| is_outer(&b) || b == b'.' || b == b'-';
    let ends = [name.as_bytes().first(), name.as_bytes().last()];
    (3..=63).contains(&name.len())
        && name.bytes().all(is_inner)
        && ends.into_iter().flatten().all(is_outer)
        && !name.contains("..")
}

/// Characters that need no escaping anywhere, and no step up or to the same place.
fn is_segment(segment: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "!-_.*=".contains(c);
    !segment.is_empty() && segment.chars().all(is_plain) && !matches!(segment, "." | "..")
}

impl fmt::Display for ArchiveLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bucket, prefix } = self;
        let slash = if prefix.is_empty() { "" } else { "/" };
        write!(f, "s3://{bucket}{slash}{prefix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_with_or_without_a_prefix_is_read() {
        for (given, bucket, key) in [
            ("s3://my-archive", "my-archive", "a"),
            ("s3://my-archive/", "my-archive", "a"),
            ("s3://my.archive.7/outbox", "my.archive.7", "outbox/a"),
            ("s3://my-archive/team=shop/outbox/", "my-archive", "team=shop/outbox/a"),
        ] {
            let location = ArchiveLocation::parse(given).unwrap();
            assert_eq!((location.bucket(), location.key("a").as_str()), (bucket, key));
            assert_eq!(location.to_string(), given.trim_end_matches('/'));
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_is_wrong_and_an_example() {
        for (given, problem) in [
            ("my-archive/outbox", "no s3:// address"),
            ("https://my-archive.s3.amazonaws.com", "no s3:// address"),
            ("s3://", "not the address of a bucket"),
            ("s3://My-Archive/outbox", "not the address of a bucket"),
            ("s3://-archive", "not the address of a bucket"),
            ("s3://a..b", "not the address of a bucket"),
            ("s3://my-archive//outbox", "no plain prefix"),
            ("s3://my-archive/out box", "no plain prefix"),
            ("s3://my-archive/../outbox", "no plain prefix"),
            ("s3://my-archive/outbox//", "no plain prefix"),
        ] {
            let error = ArchiveLocation::parse(given).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains(given), "{error}");
            assert!(error.contains("for example \"s3://my-archive/outbox\""), "{error}");
        }
        let long = format!("s3://my-archive/{}", "p".repeat(513));
        assert!(ArchiveLocation::parse(&long).is_err());
    }

    #[test]
    fn a_value_that_may_hold_a_secret_is_not_shown() {
        for given in ["s3://key:s3cret@my-archive/outbox", "https://b.s3.example/?sig=s3cret"] {
            let error = ArchiveLocation::parse(given).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
