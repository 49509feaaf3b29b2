//! What an error code means, and which part of an error's text may be kept.

use outbox::{Failure, FailureClass, Scope};

use crate::codes::CODES;

use FailureClass::{DestinationFault, Permanent, Throttled};

/// Most characters of a failure's code; those of AWS are shorter.
const MAX_CODE_CHARS: usize = 64;

/// Most characters of a failure's text.
const MAX_DETAIL_CHARS: usize = 500;

/// What the text of a [`Permanent`] error has where in truth the destination is meant: SNS refuses an
/// unknown topic, or one of another region, with "Invalid parameter: `TopicArn`" (mozilla/security#8), and
/// both refuse FIFO fields on a standard target "that is not valid for this queue type"
/// (aws/aws-sdk-js#3187). No message may die of either.
const DESTINATION_WORDS: &[&str] =
    &["TopicArn", "QueueUrl", "for this queue type", "for this topic type"];

/// The class of an error code of SQS or SNS, in any of its spellings; `None` for a code not known here.
pub(crate) fn class_of(code: &str, text: Option<&str>) -> Option<FailureClass> {
    let name = bare(code);
    if name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("kms")) {
        // `KMS.ThrottlingException`, `KMSThrottling`, `KmsThrottled`: the rest are states of the key.
        return Some(if name.contains("Throttl") { Throttled } else { DestinationFault });
    }
    let (class, _) = CODES.iter().find(|(_, codes)| codes.contains(&name))?;
    let text = without_values(text.unwrap_or_default());
    if *class == Permanent && DESTINATION_WORDS.iter().any(|words| text.contains(words)) {
        return Some(DestinationFault);
    }
    Some(*class)
}

/// A failure whose code and text are bounded and fit for a log line.
pub(crate) fn failure(class: FailureClass, scope: Scope, code: &str, text: &str) -> Failure {
    let code: String = plain(bare(code)).chars().take(MAX_CODE_CHARS).collect();
    let code = if code.is_empty() { "no_code".to_owned() } else { code };
    // The first line only: a refused signature is followed by the canonical request, token and all.
    let line = text.trim().lines().next().unwrap_or_default();
    let detail = plain(&without_values(line)).chars().take(MAX_DETAIL_CHARS).collect();
    Failure { class, scope, code, detail }
}

/// Text that a row can hold: Postgres takes no U+0000, and one such answer would fail the mark of a whole claim.
pub(crate) fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The code without what differs by protocol: `com.amazonaws.sqs#QueueDoesNotExist`,
/// `AWS.SimpleQueueService.NonExistentQueue`, `ThrottlingException`, `ThrottlingException:http://...`.
pub(crate) fn bare(code: &str) -> &str {
    let code = code.split(':').next().unwrap_or(code);
    let code = code.rsplit('#').next().unwrap_or(code);
    let code = code.strip_prefix("AWS.SimpleQueueService.").unwrap_or(code);
    code.strip_suffix("Exception").unwrap_or(code)
}

/// AWS quotes what it refuses ("Value X for parameter Y is invalid"), and X may be a payload.
fn without_values(text: &str) -> String {
    for (before, after) in [("Value ", " for parameter "), ("Value '", "' at '")] {
        if let (Some(start), Some(end)) = (text.find(before), text.rfind(after)) {
            let start = start + before.len();
            if start <= end {
                return format!("{}...{}", &text[..start], &text[end..]);
            }
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    use FailureClass::Transient;

    #[test]
    fn an_answers_text_is_bounded_and_fit_for_a_row() {
        let failure = failure(Transient, Scope::Entry, "Odd\u{0}Code", &"a\u{0}b".repeat(1_000));
        assert_eq!(failure.code, "Odd Code");
        assert!(failure.detail.starts_with("a b") && failure.detail.len() == MAX_DETAIL_CHARS);
    }

    #[test]
    fn an_unknown_code_has_no_class() {
        for code in ["", "SomethingNew", "kms", "Ünbekannt"] {
            let class = class_of(code, Some("text"));
            assert!(class.is_none_or(|class| code == "kms" && class == DestinationFault), "{code}");
        }
    }

    /// Guarantee 5: a fault of the settings kills no message.
    #[test]
    fn a_parameter_of_the_destination_is_the_destinations_fault() {
        for (code, text) in [
            ("InvalidParameter", "Invalid parameter: TopicArn"),
            ("InvalidParameter", "Invalid parameter: TopicArn Reason: An ARN must have 6 elements"),
            (
                "InvalidParameterValue",
                "The request include parameter that is not valid for this queue type",
            ),
            ("InvalidParameterValue", "Value x for parameter QueueUrl is invalid."),
        ] {
            assert_eq!(class_of(code, Some(text)), Some(DestinationFault), "{text}");
        }
        // A payload that speaks of topics is a payload.
        let text = r#"Value {"TopicArn": 1} for parameter MessageBody is invalid."#;
        assert_eq!(class_of("InvalidParameterValue", Some(text)), Some(Permanent));
    }

    #[test]
    fn text_is_one_bounded_line_without_payload_or_signature() {
        let detail = |text: &str| failure(Permanent, Scope::Entry, "Code", text).detail;
        assert_eq!(
            detail(
                "Value {\"card\": 4111, \"for parameter \": 1} for parameter MessageBody is bad."
            ),
            "Value ... for parameter MessageBody is bad."
        );
        assert_eq!(
            detail("1 validation error detected: Value '[secret]' at 'entries' failed to satisfy"),
            "1 validation error detected: Value '...' at 'entries' failed to satisfy"
        );
        assert_eq!(
            detail("\n  The signature does not match.\n\nx-amz-security-token:secret\n"),
            "The signature does not match."
        );
        assert_eq!(detail(&"ü".repeat(600)), "ü".repeat(500));
    }

    #[test]
    fn a_code_is_bare_and_bounded() {
        let code = |code: &str| failure(Transient, Scope::Entry, code, "").code;
        assert_eq!(code("com.amazonaws.sqs#QueueDoesNotExist"), "QueueDoesNotExist");
        assert_eq!(code("AWS.SimpleQueueService.NonExistentQueue"), "NonExistentQueue");
        assert_eq!(code("InvalidParameterValueException"), "InvalidParameterValue");
        assert_eq!(code(""), "no_code");
        assert_eq!(code(&"x".repeat(100)), "x".repeat(64));
    }
}
