-- outbox.enqueue
-- Enqueue a message in the caller's transaction.
--   $1 text   destination          $2 text   message type     $3 text   payload
--   $4 text   message group        $5 uuid   message id       $6 jsonb  headers
--   $7 text   available at         $8 text   correlation id   $9 text   traceparent
--   $10 text  tracestate           $11 text  content type
-- Returns id: that of the row with this message id and destination, inserted now or earlier.
SELECT outbox.enqueue(
    destination => $1,
    message_type => $2,
    payload => $3,
    message_group => $4,
    message_id => $5,
    headers => $6,
    available_at => $7::text::timestamptz,
    correlation_id => $8,
    traceparent => $9,
    tracestate => $10,
    content_type => $11
) AS id
