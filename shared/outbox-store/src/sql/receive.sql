-- outbox.receive
-- Take a message into a consumer's inbox, in the transaction of the effect.
--   $1 text  consumer
--   $2 uuid  message id
-- Returns is_first: true the first time, false for a copy.
SELECT outbox.receive(consumer => $1, message_id => $2) AS is_first
