//! An entry: a message made ready for the wire, exactly as it will be sent each time.

use crate::check;
use crate::defect::Defect;
use crate::destination::Destination;
use crate::message::Message;
use crate::target::Target;
use crate::trace::TraceContext;

/// One entry of a batch request. It exists only for a message that its destination can take.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The claimed message; its payload is the body.
    pub message: Message,
    /// The message attributes in the order they are sent: the relay's own, then the row's headers.
    pub attributes: Vec<Attribute>,
    /// `MessageGroupId`, where the destination takes one.
    pub group_id: Option<String>,
    /// `MessageDeduplicationId`, on FIFO targets: the message id, the same on every attempt.
    pub deduplication_id: Option<String>,
    /// The system attribute `AWSTraceHeader`, for a queue and a well-formed `traceparent`. It counts neither as an attribute
    /// nor against the limits.
    pub trace_header: Option<String>,
    /// Bytes that count against the limits: body plus attribute names, types and values.
    pub bytes: usize,
}

/// A message attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its data type.
    pub data_type: AttributeType,
    /// Its value as text.
    pub value: String,
}

/// The data types that the relay sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    /// A JSON string of the headers, and all of the relay's own attributes.
    String,
    /// A JSON number of the headers, so that numeric filter policies match.
    Number,
}

impl AttributeType {
    /// The type's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Number => "Number",
        }
    }
}

/// A message that can never be sent as it is, and why.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The message.
    pub message: Message,
    /// What is wrong with it.
    pub defect: Defect,
}

impl Entry {
    /// Makes a message ready for its destination.
    ///
    /// # Errors
    /// [`Rejected`] gives the message back with the first [`Defect`] found; it would be refused by AWS
    /// on every attempt, and together with its neighbours.
    pub fn prepare(message: Message, destination: &Destination) -> Result<Self, Box<Rejected>> {
        match Self::parts(&message, destination) {
            Ok((attributes, bytes)) => {
                let fifo = destination.target.is_fifo();
                Ok(Self {
                    group_id: group_id(&message, destination),
                    deduplication_id: fifo.then(|| message.message_id.to_string()),
                    trace_header: trace_header(&message, destination),
                    message,
                    attributes,
                    bytes,
                })
            }
            Err(defect) => Err(Box::new(Rejected { message, defect })),
        }
    }

    fn parts(
        message: &Message,
        destination: &Destination,
    ) -> Result<(Vec<Attribute>, usize), Defect> {
        check::payload(&message.payload)?;
        check::group(message.message_group.as_deref(), destination)?;
        let attributes = attributes(message)?;
        check::attributes(&attributes)?;
        let bytes = message.payload.len() + attributes.iter().map(Attribute::bytes).sum::<usize>();
        check::size(bytes, destination)?;
        Ok((attributes, bytes))
    }
}

impl Attribute {
    fn string(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), data_type: AttributeType::String, value: value.into() }
    }

    /// Name, type and value count, as SQS and SNS document it.
    fn bytes(&self) -> usize {
        self.name.len() + self.data_type.as_str().len() + self.value.len()
    }
}

/// The relay's own attributes, then the headers by name.
fn attributes(message: &Message) -> Result<Vec<Attribute>, Defect> {
    let mut attributes = vec![
        Attribute::string("message_id", message.message_id.to_string()),
        Attribute::string("message_type", message.message_type.as_str()),
    ];
    let optional = [
        ("content_type", Some(&message.content_type)),
        ("correlation_id", message.correlation_id.as_ref()),
        ("traceparent", message.traceparent.as_ref()),
    ];
    // An attribute can't be empty, and an empty text here says no more than none.
    for (name, value) in optional {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            attributes.push(Attribute::string(name, value.as_str()));
        }
    }
    attributes.extend(check::headers(&message.headers)?);
    Ok(attributes)
}

/// FIFO targets demand a group. A message without one asks for no order, so it is a group of its own:
/// one shared default group would hold all of them back behind any that fails. Standard queues are sent
/// the group only where the destination is `fair`.
fn group_id(message: &Message, destination: &Destination) -> Option<String> {
    if destination.target.is_fifo() {
        Some(message.message_group.clone().unwrap_or_else(|| message.message_id.to_string()))
    } else if destination.fair {
        message.message_group.clone()
    } else {
        None
    }
}

/// SNS takes no system attributes. A `traceparent` that is not well formed is sent as it is, and has no other form.
fn trace_header(message: &Message, destination: &Destination) -> Option<String> {
    let Target::Queue { .. } = destination.target else { return None };
    Some(TraceContext::parse(message.traceparent.as_deref()?)?.x_ray_header())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::message;

    fn queue(name: &str) -> Destination {
        let arn = format!("arn:aws:sqs:eu-west-1:1:{name}");
        Destination::new("orders", Target::parse(&arn).unwrap())
    }

    #[test]
    fn the_relays_own_attributes_come_first_and_headers_after() {
        let mut message = message(7);
        message.correlation_id = Some("order-42".into());
        message.headers = r#"{"tenant": "acme", "amount": 1.10}"#.into();
        let entry = Entry::prepare(message, &queue("q")).unwrap();
        let names: Vec<_> = entry.attributes.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(
            names,
            ["message_id", "message_type", "content_type", "correlation_id", "amount", "tenant"]
        );
        let amount = &entry.attributes[4];
        assert_eq!((amount.data_type, amount.value.as_str()), (AttributeType::Number, "1.10"));
    }

    /// Cases A25 and A26: the deduplication id is the message id, whatever the attempt.
    #[test]
    fn a_fifo_entry_carries_group_and_deduplication_id() {
        let mut message = message(7);
        message.message_group = Some("customer-1".into());
        let first = Entry::prepare(message.clone(), &queue("q.fifo")).unwrap();
        message.attempts += 1;
        let second = Entry::prepare(message.clone(), &queue("q.fifo")).unwrap();
        assert_eq!(first.group_id.as_deref(), Some("customer-1"));
        assert_eq!(first.deduplication_id, Some(message.message_id.to_string()));
        assert_eq!(first.deduplication_id, second.deduplication_id);
    }

    /// Case A24: the documented default for a message without a group is a group of its own.
    #[test]
    fn an_ungrouped_message_to_a_fifo_target_is_a_group_of_its_own() {
        let entry = Entry::prepare(message(7), &queue("q.fifo")).unwrap();
        assert_eq!(entry.group_id, Some(entry.message.message_id.to_string()));
    }

    #[test]
    fn a_standard_queue_is_sent_the_group_only_when_fair() {
        let mut message = message(7);
        message.message_group = Some("tenant-1".into());
        let mut destination = queue("q");
        assert_eq!(Entry::prepare(message.clone(), &destination).unwrap().group_id, None);
        destination.fair = true;
        let entry = Entry::prepare(message, &destination).unwrap();
        assert_eq!(entry.group_id.as_deref(), Some("tenant-1"));
        assert_eq!(entry.deduplication_id, None);
    }

    const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn traced(traceparent: &str) -> Message {
        Message { traceparent: Some(traceparent.to_owned()), ..message(7) }
    }

    #[test]
    fn a_queue_is_told_a_well_formed_trace_in_a_system_attribute_that_costs_no_bytes() {
        let entry = Entry::prepare(traced(TRACEPARENT), &queue("q")).unwrap();
        let header = "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1";
        assert_eq!(entry.trace_header.as_deref(), Some(header));
        let untraced = Entry::prepare(message(7), &queue("q")).unwrap();
        assert_eq!(untraced.trace_header, None);
        let attribute = "traceparent".len() + "String".len() + TRACEPARENT.len();
        assert_eq!(entry.bytes, untraced.bytes + attribute);
    }

    #[test]
    fn a_topic_takes_no_system_attribute() {
        let topic = Target::parse("arn:aws:sns:eu-west-1:1:t").unwrap();
        let entry =
            Entry::prepare(traced(TRACEPARENT), &Destination::new("events", topic)).unwrap();
        assert_eq!(entry.trace_header, None);
    }

    /// A trace is never worth a message.
    #[test]
    fn a_traceparent_that_is_not_well_formed_is_sent_as_it_is_and_nothing_else() {
        for traceparent in ["", "00-xyz", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"]
        {
            let entry = Entry::prepare(traced(traceparent), &queue("q")).unwrap();
            assert_eq!(entry.trace_header, None, "{traceparent}");
            let sent = entry.attributes.iter().find(|attribute| attribute.name == "traceparent");
            let sent = sent.map_or("", |attribute| attribute.value.as_str());
            assert_eq!(sent, traceparent);
        }
    }

    /// The quota of ten attributes is for those of the message.
    #[test]
    fn ten_attributes_leave_room_for_the_trace_header() {
        let headers: Vec<_> = (0..6).map(|n| format!(r#""h{n}": "x""#)).collect();
        let message =
            Message { headers: format!("{{{}}}", headers.join(",")), ..traced(TRACEPARENT) };
        let entry = Entry::prepare(message, &queue("q")).unwrap();
        assert_eq!((entry.attributes.len(), entry.trace_header.is_some()), (10, true));
    }
}
