//! Where a destination's messages really go: an SQS queue or an SNS topic, and in which region.

use thiserror::Error;

/// A queue or a topic, as named in the settings by URL or ARN.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// An SQS queue.
    Queue {
        /// The queue's URL, passed to SQS unchanged.
        url: String,
        /// The queue's region where the URL or ARN tells it; else the client's own.
        region: Option<String>,
    },
    /// An SNS topic.
    Topic {
        /// The topic's ARN.
        arn: String,
        /// The topic's region, from its ARN.
        region: String,
    },
}

/// A target that is neither a queue's URL, nor a queue's ARN, nor a topic's ARN.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "target {given} is {problem}; allowed: an SQS queue URL, an SQS queue ARN or an SNS topic ARN, \
     for example \"arn:aws:sqs:eu-west-1:123456789012:orders\""
)]
pub struct TargetError {
    given: String,
    problem: &'static str,
}

impl Target {
    /// Reads a queue URL, a queue ARN or a topic ARN.
    ///
    /// # Errors
    /// [`TargetError`] names the value, what is wrong with it and what is allowed.
    pub fn parse(given: &str) -> Result<Self, TargetError> {
        let refuse = |problem| TargetError { given: without_secrets(given), problem };
        if given.starts_with("arn:") {
            Self::from_arn(given).map_err(refuse)
        } else if given.starts_with("https://") || given.starts_with("http://") {
            Self::from_queue_url(given).map_err(refuse)
        } else {
            // It may be anything, a secret that has gone astray too.
            Err(TargetError {
                given: "(not shown)".to_owned(),
                problem: "neither a URL nor an ARN",
            })
        }
    }

    /// `arn:PARTITION:SERVICE:REGION:ACCOUNT:NAME`, with nothing behind the name: the ARN of a
    /// subscription or of a Lambda function is not a target.
    fn from_arn(arn: &str) -> Result<Self, &'static str> {
        let parts: Vec<&str> = arn.split(':').collect();
        let ["arn", partition, service, region, account, name] = parts[..] else {
            return Err("not an ARN of six parts");
        };
        if region.is_empty() || account.is_empty() || name.is_empty() {
            return Err("an ARN without region, account or name");
        }
        let is_of_names = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if !arn.chars().all(is_of_names) {
            return Err("an ARN with another character than letters, digits and - _ .");
        }
        match service {
            "sns" => Ok(Self::Topic { arn: arn.to_owned(), region: region.to_owned() }),
            "sqs" => {
                // The China partition has a DNS suffix of its own.
                let suffix =
                    if partition == "aws-cn" { "amazonaws.com.cn" } else { "amazonaws.com" };
                let url = format!("https://sqs.{region}.{suffix}/{account}/{name}");
                Ok(Self::Queue { url, region: Some(region.to_owned()) })
            }
            _ => Err("an ARN of another service than sqs or sns"),
        }
    }

    fn from_queue_url(url: &str) -> Result<Self, &'static str> {
        let (_, rest) = url.split_once("://").ok_or("not a URL")?;
        let (host, path) = rest.split_once('/').ok_or("a URL without account and queue name")?;
        if host.is_empty() || host.contains('@') {
            return Err("a URL without a plain host");
        }
        match path.trim_end_matches('/').rsplit_once('/') {
            Some((account, name)) if !account.is_empty() && !name.is_empty() => {}
            _ => return Err("a URL without account and queue name"),
        }
        if url.chars().any(|c| c.is_whitespace() || c == '?' || c == '#') {
            return Err("a URL with a space, a query or a fragment");
        }
        Ok(Self::Queue { url: url.to_owned(), region: region_of_host(host) })
    }

    /// Whether the target is FIFO: AWS reserves the ending `.fifo` for those, and demands it of them.
    pub fn is_fifo(&self) -> bool {
        let name = match self {
            Self::Queue { url, .. } => url.trim_end_matches('/'),
            Self::Topic { arn, .. } => arn,
        };
        name.strip_suffix(".fifo").is_some()
    }

    /// The limit of the target as AWS creates it, in bytes of body and attributes: 1 MiB for a queue
    /// (attribute `MaximumMessageSize`, August 2025), 256 KiB for a topic.
    pub fn default_max_bytes(&self) -> usize {
        match self {
            Self::Queue { .. } => 1_048_576,
            Self::Topic { .. } => 262_144,
        }
    }

    /// The region to sign for and to send to, where the target names one.
    pub fn region(&self) -> Option<&str> {
        match self {
            Self::Queue { region, .. } => region.as_deref(),
            Self::Topic { region, .. } => Some(region),
        }
    }
}

/// What may be repeated in an error, in quotes: a URL with credentials in it is a secret.
fn without_secrets(given: &str) -> String {
    match given.rsplit_once('@') {
        Some((_, host)) => format!("{:?}", format!("…@{host}")),
        None => format!("{given:?}"),
    }
}

/// `sqs.REGION.…`, `sqs-fips.REGION.…` and the legacy `REGION.queue.…`; any other host names no region.
fn region_of_host(host: &str) -> Option<String> {
    let mut labels = host.split(':').next().unwrap_or(host).split('.');
    let (first, second) = (labels.next()?, labels.next()?);
    let (("sqs" | "sqs-fips", region) | (region, "queue")) = (first, second) else {
        return None;
    };
    region.contains('-').then(|| region.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_arn_becomes_the_url_of_its_own_region_and_partition() {
        let url_of = |arn| match Target::parse(arn).unwrap() {
            Target::Queue { url, .. } => url,
            Target::Topic { .. } => panic!("{arn} is a queue"),
        };
        assert_eq!(
            url_of("arn:aws:sqs:eu-west-1:123456789012:orders.fifo"),
            "https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo"
        );
        assert_eq!(
            url_of("arn:aws-cn:sqs:cn-north-1:123456789012:orders"),
            "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/orders"
        );
    }

    /// Case B18: the region comes from the URL or ARN, not from where the function runs.
    #[test]
    fn the_region_is_read_off_the_target() {
        let region_of = |target| Target::parse(target).unwrap().region().map(str::to_owned);
        let eu = Some("eu-west-1".to_owned());
        assert_eq!(region_of("https://sqs.eu-west-1.amazonaws.com/1/q"), eu);
        assert_eq!(region_of("https://sqs-fips.eu-west-1.amazonaws.com/1/q"), eu);
        assert_eq!(region_of("https://eu-west-1.queue.amazonaws.com/1/q"), eu);
        assert_eq!(region_of("arn:aws:sns:eu-west-1:1:t"), eu);
        assert_eq!(region_of("http://localhost:4566/000000000000/q"), None);
        assert_eq!(region_of("http://127.0.0.1:4566/000000000000/q"), None);
    }

    #[test]
    fn the_ending_fifo_makes_a_target_fifo() {
        assert!(Target::parse("https://sqs.eu-west-1.amazonaws.com/1/q.fifo").unwrap().is_fifo());
        assert!(Target::parse("arn:aws:sns:eu-west-1:1:t.fifo").unwrap().is_fifo());
        assert!(!Target::parse("arn:aws:sns:eu-west-1:1:fifo").unwrap().is_fifo());
    }

    #[test]
    fn what_is_no_target_is_refused_with_value_allowed_forms_and_example() {
        for given in [
            "https://sqs.eu-west-1.amazonaws.com/orders",
            "https://user:secret@host/1/q",
            "https://sqs.eu-west-1.amazonaws.com/1/q?x=1",
            "arn:aws:lambda:eu-west-1:1:function:f",
            "arn:aws:kinesis:eu-west-1:1:s",
            "arn:aws:sqs::1:q",
            "arn:aws:sqs:eu west:1:q",
            "arn:aws:sqs:eu-west-1:1:a b",
            "arn:aws:sns:eu-west-1:1:topic:subscription",
        ] {
            let message = Target::parse(given).unwrap_err().to_string();
            assert!(message.contains(&without_secrets(given)), "{message}");
            assert!(!message.contains("secret"), "{message}");
            assert!(message.contains("for example"), "{message}");
        }
        for given in ["", "orders", "s3cret", "ftp://x/1/q"] {
            let message = Target::parse(given).unwrap_err().to_string();
            assert!(
                message.starts_with("target (not shown) is neither a URL nor an ARN"),
                "{message}"
            );
            assert!(message.contains("for example"), "{message}");
        }
    }
}
