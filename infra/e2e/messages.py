"""What is enqueued, where it goes, and how it must arrive."""

import json
import uuid

from steps import eventually, expect

N_EVENTS = 40
N_GROUPS = 5


class Destinations:
    """A topic with a subscribed queue, and a FIFO queue."""

    def __init__(self, client):
        self.sqs, self.sns = client("sqs"), client("sns")
        self.topic = self.sns.create_topic(Name="events")["TopicArn"]
        self.subscriber = self.queue("events-subscriber")
        self.orders = self.queue("orders.fifo")
        arn = self.arn(self.subscriber)
        policy = {
            "Version": "2012-10-17",
            "Statement": {
                "Effect": "Allow",
                "Principal": {"Service": "sns.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": arn,
                "Condition": {"ArnEquals": {"aws:SourceArn": self.topic}},
            },
        }
        self.sqs.set_queue_attributes(QueueUrl=self.subscriber, Attributes={"Policy": json.dumps(policy)})
        raw = {"RawMessageDelivery": "true"}
        self.sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint=arn, Attributes=raw)

    def queue(self, name):
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        return self.sqs.create_queue(QueueName=name, Attributes=fifo)["QueueUrl"]

    def arn(self, url):
        return self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def setting(self):
        return {"events": self.topic, "orders": self.arn(self.orders)}

    def queue_arns(self):
        return [self.arn(self.orders)]

    def topic_arns(self):
        return [self.topic]

    def receive_all(self, messages):
        """Destination -> (id, body, group) of what arrived, in order."""
        received = {"events": [], "orders": []}

        def all_arrived():
            received["events"] += self.receive(self.subscriber)
            received["orders"] += self.receive(self.orders)
            return sum(len(arrived) for arrived in received.values()) >= len(messages)

        # A timer of a minute fires in its first or second; the rest is for a slow machine.
        eventually("all messages have arrived", 150, all_arrived)
        for name, url in [("events", self.subscriber), ("orders", self.orders)]:
            received[name] += self.receive(url)
        return received

    def receive(self, url):
        arrived = []
        while True:
            answer = self.sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=10,
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=["MessageGroupId"],
            ).get("Messages", [])
            for message in answer:
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                message_id = message["MessageAttributes"]["message_id"]["StringValue"]
                group = message.get("Attributes", {}).get("MessageGroupId")
                arrived.append((message_id, message["Body"], group))
            if not answer:
                return arrived

    def check(self, messages, received):
        for destination, arrived in received.items():
            wanted = [message[1:] for message in messages if message[0] == destination]
            expect(sorted(arrived, key=str) == sorted(wanted, key=str), f"{destination}: {arrived} instead of {wanted}")
        for group in {group for _, _, group in received["orders"]}:
            in_order = [entry for entry in received["orders"] if entry[2] == group]
            wanted = [message[1:] for message in messages if message[3] == group]
            expect(in_order == wanted, f"group {group} is out of order: {in_order}")


def enqueue(database):
    """As a producer: all in one transaction, and one message in another that is rolled back."""
    messages = [("events", str(uuid.uuid4()), json.dumps({"n": n, "text": "naïve – ✓"}), None) for n in range(N_EVENTS)]
    messages += [
        ("orders", str(uuid.uuid4()), json.dumps({"n": n}), f"customer-{n % N_GROUPS}") for n in range(N_EVENTS)
    ]
    login = database.login("outbox_producer")
    producer = database.connect(login["username"], login["password"])
    cursor = producer.cursor()
    for message in messages:
        enqueue_one(cursor, message)
    producer.commit()
    enqueue_one(cursor, ("events", str(uuid.uuid4()), "rolled back", None))
    producer.rollback()
    producer.close()
    return messages


def enqueue_one(cursor, message):
    sql = """SELECT outbox.enqueue(destination => %s, message_type => 'e2e.v1', message_id => CAST(%s AS uuid),
                                   payload => %s, message_group => %s)"""
    destination, message_id, payload, group = message
    cursor.execute(sql, (destination, message_id, payload, group))


def all_dispatched(database, messages):
    """Whether each message is, and no other message is in the table."""
    rows = database.query("SELECT status, count(*) FROM outbox.message_status GROUP BY status")
    return dict(rows) == {"dispatched": len(messages)}
