//! A producer's trace context: read, never changed, for what the text itself can't do.
//!
//! The row's `traceparent` is the context that the message was created in. It is sent on as it is, well formed or not. A
//! well-formed one is also told in X-Ray's own words, and linked from the span of the request that sends it.

/// A W3C trace context, read from a well-formed `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext<'a> {
    /// The trace: 32 hex digits, not all of them 0.
    pub trace_id: &'a str,
    /// The span in which the message was created: 16 hex digits, not all of them 0.
    pub span_id: &'a str,
    /// Whether the producer records the trace.
    pub is_sampled: bool,
}

impl<'a> TraceContext<'a> {
    /// Reads a `traceparent` by the rules of W3C Trace Context: `00-<trace>-<span>-<flags>`, in lower case. A later version
    /// than 00 may have more behind it. `None` if it is not well formed.
    pub fn parse(traceparent: &'a str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let (version, trace_id, span_id, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_all_of_it = parts.next().is_none();
        let is_known = is_hex(version, 2) && version != "ff" && (version != "00" || is_all_of_it);
        let is_an_id = |text, digits| is_hex(text, digits) && text.bytes().any(|b| b != b'0');
        if !is_known || !is_an_id(trace_id, 32) || !is_an_id(span_id, 16) || !is_hex(flags, 2) {
            return None;
        }
        // The lowest bit of the flags; the others say nothing that X-Ray knows.
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        Some(Self { trace_id, span_id, is_sampled })
    }

    /// The same context as X-Ray writes it, for the system attribute `AWSTraceHeader`: version 1, the first eight digits of the
    /// trace id, the rest, as OpenTelemetry's own propagator for X-Ray writes it. Of ids that X-Ray makes the first eight are a
    /// time; whether it still shows a trace whose id has none there has not been tried on AWS.
    pub fn x_ray_header(&self) -> String {
        let (first, rest) = self.trace_id.split_at(8);
        let sampled = u8::from(self.is_sampled);
        format!("Root=1-{first}-{rest};Parent={};Sampled={sampled}", self.span_id)
    }
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_well_formed_context_is_told_in_the_words_of_x_ray() {
        for (flags, sampled) in [("01", 1), ("00", 0), ("03", 1), ("fe", 0)] {
            let traceparent = format!("00-{TRACE}-{SPAN}-{flags}");
            let header = TraceContext::parse(&traceparent).map(|context| context.x_ray_header());
            let expected = format!(
                "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled={sampled}"
            );
            assert_eq!(header, Some(expected), "{flags}");
        }
    }

    #[test]
    fn a_later_version_may_have_more_behind_it_and_version_00_may_not() {
        let is_read = |text: String| TraceContext::parse(&text).is_some();
        assert!(is_read(format!("01-{TRACE}-{SPAN}-01")));
        assert!(is_read(format!("01-{TRACE}-{SPAN}-01-what-is-to-come")));
        assert!(!is_read(format!("00-{TRACE}-{SPAN}-01-more")));
        assert!(!is_read(format!("ff-{TRACE}-{SPAN}-01")));
    }

    #[test]
    fn what_is_not_well_formed_is_no_context() {
        let zeros = "0".repeat(32);
        for traceparent in [
            String::new(),
            "00".to_owned(),
            "---".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-0g"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01 "),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{TRACE}-{}\u{e4}-01", &SPAN[2..]),
        ] {
            assert_eq!(TraceContext::parse(&traceparent), None, "{traceparent:?}");
        }
    }
}
