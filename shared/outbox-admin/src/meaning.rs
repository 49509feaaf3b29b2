//! What the code of a last error means, and what to do about it: `docs/outcomes.md` and `docs/limits.md` in short.
//!
//! The relay decides by the table of `outbox-publish`, which knows the SDKs; this one is for people, so that the admin
//! function needs no SDK to explain. A test reads the codes of both pages and finds each here.

/// Codes, or how they begin where they end in `*`; what they mean; what to do.
type Row = (&'static [&'static str], &'static str, &'static str);

const MEANINGS: &[Row] = &[
    (
        &["no_route"],
        "the relay's OUTBOX_DESTINATIONS does not have its destination",
        "add the destination to the relay's settings and redrive, or discard it",
    ),
    (
        &[
            "too_large",
            "BatchRequestTooLong",
            "MessageTooLong",
            "RequestEntityTooLarge",
            "http_413",
        ],
        "it has more bytes than its destination takes",
        "raise the queue's limit and the destination's max_bytes and redrive, or enqueue a smaller one and discard it",
    ),
    (
        &["invalid_message_group"],
        "its message group can't be a MessageGroupId: 1 to 128 ASCII letters, digits and punctuation marks, no space",
        "enqueue it with another group and discard it; or, if the target need not be FIFO or `fair`, change that and redrive",
    ),
    (
        &[
            "empty_payload",
            "invalid_character",
            "too_many_attributes",
            "invalid_headers",
            "invalid_attribute_name",
            "invalid_attribute_value",
        ],
        "it breaks a rule of SQS and SNS, and can never be sent as it is (docs/limits.md)",
        "enqueue a right one and discard it",
    ),
    (
        &["no_outcome"],
        "each relay that claimed it ended without an outcome, at last with this message alone",
        "look why the relay died (its log, memory, timeout), then redrive it",
    ),
    (
        &[
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
        "SQS or SNS refuses the message itself, and would each time",
        "read the error's text: put the queue or topic right and redrive, or enqueue a right one and discard it",
    ),
    (
        &[
            "KMSThrottling*",
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
            "http_429",
        ],
        "too much at once for its destination; no message dies of it",
        "wait; if it lasts, lower OUTBOX_CONCURRENCY or have the quota raised",
    ),
    (
        &["KMS*"],
        "the key of the queue or topic can't be used",
        "repair the key: its policy, its state, the relay's kms:GenerateDataKey and kms:Decrypt",
    ),
    (
        &[
            "EndpointDisabled",
            "InvalidAddress",
            "NonExistentQueue",
            "NotFound",
            "PlatformApplicationDisabled",
            "QueueDeletedRecently",
            "QueueDoesNotExist",
            "ResourceNotFound",
            "UnsupportedOperation",
            "http_404",
        ],
        "the queue or topic is not there, or is of another kind",
        "create it, or put its address in OUTBOX_DESTINATIONS right; outbox doctor looks at each",
    ),
    (
        &[
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
            "http_403",
        ],
        "the relay may not send there",
        "allow its role sqs:SendMessage or sns:Publish, in its own policy and in that of the queue or topic",
    ),
    (
        &[
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
            "no_credentials",
            "credentials_failed",
            "credentials_timeout",
            "credentials_misconfigured",
        ],
        "the relay's AWS credentials are missing, wrong or expired, or its clock is off",
        "repair the relay's role or credentials",
    ),
    (
        &[
            "InvalidAction",
            "InvalidHttpRequest",
            "InvalidURI",
            "MalformedHttpRequest",
            "MalformedQueryString",
            "MissingAction",
            "NoSuchVersion",
            "UnknownOperation",
            "request_failed",
        ],
        "what answers there is not SQS or SNS as the relay knows it, or no region is set",
        "look at AWS_ENDPOINT_URL, AWS_REGION and what stands between",
    ),
    (
        &["connect_failed", "connect_timeout"],
        "no connection to SQS or SNS",
        "look at the network: VPC endpoint, security group, DNS, certificate",
    ),
    (
        &["timeout", "connection_lost", "unreadable_answer", "not_listed", "listed_twice"],
        "nobody knows whether it was accepted; a copy may have gone out, under the same message id",
        "redrive it if it is dead: a consumer that keeps message ids tells a copy",
    ),
    (
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
            "BatchEntryIdsNotDistinct",
            "EmptyBatchRequest",
            "InvalidBatchEntryId",
            "TooManyEntriesInBatchRequest",
            "http_*",
        ],
        "SQS or SNS failed for a moment, or what stands between",
        "wait; redrive it if it is dead",
    ),
];

/// What a code means, and what to do.
pub(crate) fn meaning(code: &str) -> (&'static str, &'static str) {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => code.starts_with(beginning),
        None => code == pattern,
    };
    let row = MEANINGS.iter().find(|(codes, ..)| codes.iter().any(|pattern| matches(pattern)));
    row.map_or(
        (
            "a code that outbox does not know, and takes for a failure that passes",
            "read the error's text; redrive it if it is dead",
        ),
        |&(_, meaning, advice)| (meaning, advice),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words in backticks of some columns of a page's tables.
    fn codes(page: &str, is_wanted: impl Fn(&str) -> bool, column_from_end: usize) -> Vec<String> {
        let rows = page.lines().filter(|line| line.starts_with('|') && is_wanted(line));
        let cells = rows.filter_map(|row| row.rsplit('|').nth(column_from_end).map(str::to_owned));
        cells
            .flat_map(|cell| {
                cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn every_code_of_the_pages_of_outcomes_and_limits_has_a_meaning() {
        let outcomes = codes(include_str!("../../../docs/outcomes.md"), |_| true, 1);
        let limits = codes(include_str!("../../../docs/limits.md"), |_| true, 2);
        assert!(outcomes.len() > 80 && limits.len() > 9, "{outcomes:?} {limits:?}");
        for code in outcomes.iter().chain(&limits) {
            assert_ne!(meaning(code), meaning("Nonesuch"), "{code} has no meaning");
        }
    }

    #[test]
    fn no_code_stands_in_two_rows_and_what_begins_alike_goes_to_the_nearer() {
        let mut all: Vec<&str> = MEANINGS.iter().flat_map(|(codes, ..)| *codes).copied().collect();
        let n_codes = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n_codes);
        assert!(meaning("KMSThrottling").0.starts_with("too much"));
        assert!(meaning("KMSAccessDenied").0.contains("key"));
        assert!(meaning("http_403").0.contains("may not"));
        assert!(meaning("http_503").0.contains("for a moment"));
    }
}
