//! What the endpoint was sent, the same for both protocols.

use std::collections::BTreeMap;

/// How a request is written, and so how its answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// SQS: JSON both ways.
    Json,
    /// SNS: a form, answered in XML.
    Query,
}

/// One batch request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its place in the order of arrival, from 1.
    pub number: usize,
    /// How it was written.
    pub protocol: Protocol,
    /// The queue's URL or the topic's ARN, as sent.
    pub target: String,
    /// The region that the request was signed for.
    pub region: String,
    /// Its entries in order.
    pub entries: Vec<Received>,
}

/// One entry of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The number of its request.
    pub request_number: usize,
    /// The queue's URL or the topic's ARN, as sent.
    pub target: String,
    /// The id that the endpoint gives it, and answers with if it accepts it.
    pub broker_message_id: String,
    /// The entry's id in the request.
    pub id: String,
    /// The body.
    pub body: String,
    /// Data type and value of each attribute, by name.
    pub attributes: BTreeMap<String, (String, String)>,
    /// `MessageGroupId`.
    pub group_id: Option<String>,
    /// `MessageDeduplicationId`.
    pub deduplication_id: Option<String>,
    /// The system attribute `AWSTraceHeader`.
    pub trace_header: Option<String>,
    /// `DelaySeconds`, which the relay never sends.
    pub delay_seconds: Option<String>,
    /// `Subject`, which the relay never sends.
    pub subject: Option<String>,
}

impl Request {
    /// The ids of the entries in order.
    pub fn ids(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.id.as_str()).collect()
    }

    /// Bytes of the request as AWS counts them.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(Received::bytes).sum()
    }

    /// Whether the target is FIFO.
    pub fn is_fifo(&self) -> bool {
        self.target.rsplit_once('.').is_some_and(|(_, end)| end == "fifo")
    }
}

impl Received {
    /// The value of the attribute of that name; empty when there is none.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", |(_, value)| value)
    }

    /// The attribute by which a consumer tells copies.
    pub fn message_id(&self) -> &str {
        self.attribute("message_id")
    }

    /// Body and attribute names, types and values.
    pub fn bytes(&self) -> usize {
        let attributes = self.attributes.iter();
        let attributes =
            attributes.map(|(name, (kind, value))| name.len() + kind.len() + value.len());
        self.body.len() + attributes.sum::<usize>()
    }
}
