//! What an error code means, and which part of an error's text may be kept.

use outbox::{Failure, FailureClass, Scope};

use FailureClass::{DestinationFault, Permanent, Throttled, Transient};

/// Most characters of a failure's code; those of AWS are shorter.
const MAX_CODE_CHARS: usize = 64;

/// Most characters of a failure's text.
const MAX_DETAIL_CHARS: usize = 500;

/// Error codes by what they say of a message, as [`bare`] leaves them.
///
/// From the error shapes of `SendMessageBatch` and `PublishBatch` in the SDKs, the pages "Common errors"
/// of both API references, and the SDK's own list of throttling codes.
const CODES: &[(FailureClass, &[&str])] = &[
    (
        Throttled,
        &[
            "BandwidthLimitExceeded",
            "EC2Throttled",
            "LimitExceeded",
            "OverLimit",
            "PriorRequestNotComplete",
            "ProvisionedThroughputExceeded",
            "RequestLimitExceeded",
            "RequestThrottled",
            "SlowDown",
            "Throttled",
            "Throttling",
            "TooManyRequests",
            "TransactionInProgress",
        ],
    ),
    (
        DestinationFault,
        &[
            // The queue or topic.
            "EndpointDisabled",
            "InvalidAddress",
            "NonExistentQueue",
            "NotFound",
            "PlatformApplicationDisabled",
            "QueueDeletedRecently",
            "QueueDoesNotExist",
            "ResourceNotFound",
            "UnsupportedOperation",
            // Permissions.
            "AccessDenied",
            "AuthorizationError",
            "InvalidSecurity",
            "NotAuthorized",
            "OptInRequired",
            // Credentials, signature and clock.
            "AuthFailure",
            "ExpiredToken",
            "IncompleteSignature",
            "InvalidAccessKeyId",
            "InvalidClientTokenId",
            "InvalidSignature",
            "MissingAuthenticationToken",
            "MissingClientTokenId",
            "RequestExpired",
            "RequestTimeTooSkewed",
            "SignatureDoesNotMatch",
            "UnrecognizedClient",
            // An endpoint of something else.
            "InvalidAction",
            "UnknownOperation",
        ],
    ),
    (
        Permanent,
        &[
            "BatchRequestTooLong",
            "InvalidAttributeName",
            "InvalidAttributeValue",
            "InvalidMessageContents",
            "InvalidParameter",
            "InvalidParameterCombination",
            "InvalidParameterValue",
            "MissingParameter",
            "MissingRequiredParameter",
            "ParameterValueInvalid",
            "Validation",
            "ValidationError",
        ],
    ),
    (
        Transient,
        &[
            "InternalError",
            "InternalFailure",
            "InternalServerError",
            "RequestTimeout",
            "ServiceUnavailable",
            // Faults of this crate or of the packer, which no message must die of.
            "BatchEntryIdsNotDistinct",
            "EmptyBatchRequest",
            "InvalidBatchEntryId",
            "TooManyEntriesInBatchRequest",
        ],
    ),
];

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
/// `AWS.SimpleQueueService.NonExistentQueue`, `ThrottlingException`.
fn bare(code: &str) -> &str {
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

    #[test]
    fn an_answers_text_is_bounded_and_fit_for_a_row() {
        let failure = failure(Transient, Scope::Entry, "Odd\u{0}Code", &"a\u{0}b".repeat(1_000));
        assert_eq!(failure.code, "Odd Code");
        assert!(failure.detail.starts_with("a b") && failure.detail.len() == MAX_DETAIL_CHARS);
    }

    /// Cases B09 and B11: one class for each error, whatever the protocol or the age of its spelling.
    #[test]
    fn every_spelling_of_an_error_has_the_same_class() {
        for (class, spellings) in [
            (
                DestinationFault,
                &[
                    "QueueDoesNotExist",
                    "com.amazonaws.sqs#QueueDoesNotExist",
                    "AWS.SimpleQueueService.NonExistentQueue",
                    "NotFound",
                    "NotFoundException",
                ][..],
            ),
            (DestinationFault, &["AccessDenied", "AccessDeniedException", "AuthorizationError"]),
            (
                DestinationFault,
                &["KMS.DisabledException", "KMSDisabled", "KmsDisabled", "KMS.OptInRequired"],
            ),
            (
                DestinationFault,
                &["KMS.AccessDeniedException", "KMSAccessDenied", "KMS.InvalidStateException"],
            ),
            (DestinationFault, &["AWS.SimpleQueueService.UnsupportedOperation"]),
            (DestinationFault, &["ExpiredToken", "ExpiredTokenException"]),
            (Throttled, &["KMS.ThrottlingException", "KMSThrottling", "KmsThrottled"]),
            (Throttled, &["RequestThrottled", "ThrottlingException", "Throttling"]),
            (
                Permanent,
                &["AWS.SimpleQueueService.BatchRequestTooLong", "BatchRequestTooLongException"],
            ),
            (Permanent, &["InvalidParameterValue", "ParameterValueInvalid", "ValidationException"]),
            (Transient, &["InternalError", "InternalFailure", "ServiceUnavailable"]),
            (Transient, &["AWS.SimpleQueueService.TooManyEntriesInBatchRequest"]),
        ] {
            for code in spellings {
                assert_eq!(class_of(code, None), Some(class), "{code}");
            }
        }
    }

    #[test]
    fn what_the_sdk_takes_for_throttling_is_throttling() {
        for code in aws_runtime::retries::classifiers::THROTTLING_ERRORS {
            assert_eq!(class_of(code, None), Some(Throttled), "{code}");
        }
    }

    #[test]
    fn no_code_is_in_the_table_twice() {
        let mut codes: Vec<_> = CODES.iter().flat_map(|(_, codes)| *codes).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
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
