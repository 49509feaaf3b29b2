//! The one table of error codes: what each says of a message. `docs/outcomes.md` shows it to people.
//!
//! From the error shapes of `SendMessageBatch` and `PublishBatch` in the SDKs, the pages "Common errors" of the SQS, SNS and
//! STS references in all their versions, and the SDK's own list of throttling codes. Codes of KMS are told by
//! their beginning, in `classify.rs`.

use outbox::FailureClass;

use FailureClass::{DestinationFault, Permanent, Throttled, Transient};

/// Error codes by class, each in its [`bare`](crate::classify::bare) spelling.
pub(crate) const CODES: &[(FailureClass, &[&str])] = &[
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
            // Permissions and the account.
            "AccessDenied",
            "AccessFailure",
            "AuthorizationError",
            "InvalidSecurity",
            "NotAuthorized",
            "NotSignedUp",
            "OptInRequired",
            "RegionDisabled",
            "SubscriptionRequired",
            "UnauthorizedOperation",
            // Credentials, signature and clock.
            "AuthFailure",
            "ExpiredToken",
            "IDPCommunicationError",
            "IDPRejectedClaim",
            "IncompleteSignature",
            "InvalidAccessKeyId",
            "InvalidClientTokenId",
            "InvalidIdentityToken",
            "InvalidSecurityToken",
            "InvalidSignature",
            "InvalidToken",
            "MissingAuthenticationToken",
            "MissingClientTokenId",
            "MissingCredentials",
            "MissingSecurityHeader",
            "RequestExpired",
            "RequestTimeTooSkewed",
            "SignatureDoesNotMatch",
            "TokenRefreshRequired",
            "UnrecognizedClient",
            // An endpoint of something else, or of another version.
            "InvalidAction",
            "InvalidHttpRequest",
            "InvalidURI",
            "MalformedHttpRequest",
            "MalformedQueryString",
            "MissingAction",
            "NoSuchVersion",
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
            "MessageTooLong",
            "MissingParameter",
            "MissingRequiredParameter",
            "ParameterValueInvalid",
            "RequestEntityTooLarge",
            "Validation",
            "ValidationError",
        ],
    ),
    (
        Transient,
        &[
            "ConcurrentAccess",
            "InternalError",
            "InternalFailure",
            "InternalServer",
            "InternalServerError",
            "RequestAborted",
            "RequestTimeout",
            "ServerUnavailable",
            "ServiceUnavailable",
            // Faults of this crate or of the packer, which no message must die of.
            "BatchEntryIdsNotDistinct",
            "EmptyBatchRequest",
            "InvalidBatchEntryId",
            "TooManyEntriesInBatchRequest",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{bare, class_of};

    /// Cases B04, B07, B09 and B11: one class for each error, whatever the protocol or the age of its spelling.
    #[test]
    fn every_spelling_of_an_error_has_the_same_class() {
        for (class, spellings) in [
            // A missing queue or topic: JSON with and without its namespace, query, and SNS.
            (DestinationFault, "QueueDoesNotExist com.amazonaws.sqs#QueueDoesNotExist"),
            (DestinationFault, "AWS.SimpleQueueService.NonExistentQueue NonExistentQueue"),
            (
                DestinationFault,
                "com.amazonaws.sqs#QueueDoesNotExist:http://internal.amazon.com/coral/x/",
            ),
            (
                DestinationFault,
                "NotFound NotFoundException ResourceNotFoundException InvalidAddress",
            ),
            (DestinationFault, "AWS.SimpleQueueService.QueueDeletedRecently QueueDeletedRecently"),
            (DestinationFault, "AWS.SimpleQueueService.UnsupportedOperation UnsupportedOperation"),
            // Permissions.
            (
                DestinationFault,
                "AccessDenied AccessDeniedException com.amazonaws.sqs#AccessDeniedException",
            ),
            (
                DestinationFault,
                "AuthorizationError AuthorizationErrorException AccessFailure NotAuthorized",
            ),
            (DestinationFault, "OptInRequired InvalidSecurity RegionDisabledException"),
            // Keys.
            (
                DestinationFault,
                "KMS.DisabledException KMSDisabled KMSDisabledException KmsDisabled",
            ),
            (DestinationFault, "KMS.AccessDeniedException KMSAccessDenied KmsAccessDenied"),
            (DestinationFault, "KMS.InvalidStateException KMSInvalidState KmsInvalidState"),
            (DestinationFault, "KMS.InvalidKeyUsageException KmsInvalidKeyUsage"),
            (DestinationFault, "KMS.NotFoundException KMSNotFound KmsNotFound"),
            (DestinationFault, "KMS.OptInRequired KMSOptInRequired KmsOptInRequired"),
            (
                Throttled,
                "KMS.ThrottlingException KMSThrottling KMSThrottlingException KmsThrottled",
            ),
            // Credentials, signature and clock.
            (
                DestinationFault,
                "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired",
            ),
            (
                DestinationFault,
                "InvalidClientTokenId InvalidAccessKeyId UnrecognizedClientException",
            ),
            (
                DestinationFault,
                "SignatureDoesNotMatch InvalidSignatureException IncompleteSignature",
            ),
            (
                DestinationFault,
                "MissingAuthenticationToken MissingAuthenticationTokenException AuthFailure",
            ),
            (
                DestinationFault,
                "InvalidIdentityToken InvalidIdentityTokenException RequestTimeTooSkewed",
            ),
            // Something else than SQS or SNS.
            (
                DestinationFault,
                "InvalidAction UnknownOperationException MalformedHttpRequestException",
            ),
            // Too much at once.
            (
                Throttled,
                "RequestThrottled com.amazonaws.sqs#RequestThrottled RequestThrottledException",
            ),
            (Throttled, "Throttling ThrottlingException Throttled ThrottledException SlowDown"),
            (Throttled, "OverLimit AWS.SimpleQueueService.OverLimit TooManyRequestsException"),
            // The message.
            (Permanent, "InvalidMessageContents com.amazonaws.sqs#InvalidMessageContents"),
            (Permanent, "BatchRequestTooLong AWS.SimpleQueueService.BatchRequestTooLong"),
            (
                Permanent,
                "BatchRequestTooLongException RequestEntityTooLargeException MessageTooLong",
            ),
            (
                Permanent,
                "InvalidParameterValue InvalidParameterValueException ParameterValueInvalid",
            ),
            (
                Permanent,
                "InvalidParameter InvalidParameterException ValidationException ValidationError",
            ),
            (Permanent, "InvalidAttributeValue InvalidAttributeName MissingParameter"),
            // The service, for a moment.
            (
                Transient,
                "InternalError AWS.SimpleQueueService.InternalError InternalErrorException",
            ),
            (Transient, "InternalFailure InternalServerError InternalServerException"),
            (Transient, "ServiceUnavailable ServiceUnavailableException RequestTimeoutException"),
            // Ours.
            (
                Transient,
                "AWS.SimpleQueueService.TooManyEntriesInBatchRequest TooManyEntriesInBatchRequest",
            ),
            (
                Transient,
                "AWS.SimpleQueueService.BatchEntryIdsNotDistinct EmptyBatchRequestException",
            ),
        ] {
            for code in spellings.split(' ') {
                assert_eq!(class_of(code, None), Some(class), "{code}");
            }
        }
    }

    #[test]
    fn what_the_sdk_takes_for_throttling_or_a_passing_fault_is_that() {
        use aws_runtime::retries::classifiers::{THROTTLING_ERRORS, TRANSIENT_ERRORS};
        for (codes, class) in [(THROTTLING_ERRORS, Throttled), (TRANSIENT_ERRORS, Transient)] {
            for code in codes {
                assert_eq!(class_of(code, None), Some(class), "{code}");
            }
        }
    }

    #[test]
    fn every_code_of_the_table_is_there_once_in_its_bare_spelling() {
        let mut codes: Vec<_> = CODES.iter().flat_map(|(_, codes)| *codes).collect();
        assert!(codes.iter().all(|code| bare(code) == **code && !code.starts_with("KMS")));
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }

    /// `docs/outcomes.md` has a row for each class, which begins with the class and ends with its codes.
    #[test]
    fn the_page_for_people_has_the_table_as_it_is() {
        let page = include_str!("../../../docs/outcomes.md");
        for (class, codes) in CODES {
            let codes: Vec<_> = codes.iter().map(|code| format!("`{code}`")).collect();
            let row = page.lines().find(|line| line.starts_with(&format!("| {class:?} ")));
            let row = row.unwrap_or_else(|| panic!("docs/outcomes.md has no row for {class:?}"));
            let end = format!("{} |", codes.join(", "));
            assert!(row.ends_with(&end), "in docs/outcomes.md, {class:?} ends with {end}");
        }
    }
}
