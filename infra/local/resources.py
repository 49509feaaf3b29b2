"""Creates the queues and topics that the demo and the tests expect, and prints their addresses.

Every call is safe to repeat. Prints KEY=value lines; the endpoint, region and credentials come
from the standard AWS variables.
"""

import json
import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

sqs = boto3.client("sqs")
sns = boto3.client("sns")


def main() -> None:
    addresses = {
        "ORDERS_QUEUE_URL": queue("orders"),
        "ORDERS_FIFO_QUEUE_URL": queue("orders.fifo"),
        "EVENTS_TOPIC_ARN": topic("events"),
        "EVENTS_FIFO_TOPIC_ARN": topic("events.fifo"),
        "EVENTS_SUBSCRIBER_QUEUE_URL": queue("events-subscriber"),
        "EVENTS_SUBSCRIBER_FIFO_QUEUE_URL": queue("events-subscriber.fifo"),
    }
    subscribe(addresses["EVENTS_TOPIC_ARN"], addresses["EVENTS_SUBSCRIBER_QUEUE_URL"])
    subscribe(addresses["EVENTS_FIFO_TOPIC_ARN"], addresses["EVENTS_SUBSCRIBER_FIFO_QUEUE_URL"])
    for key, address in addresses.items():
        print(f"{key}={address}")


def queue(name: str) -> str:
    attributes = fifo_attributes(name, "FifoQueue")
    return sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]


def topic(name: str) -> str:
    attributes = fifo_attributes(name, "FifoTopic")
    return sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]


def fifo_attributes(name: str, kind: str) -> dict[str, str]:
    """The sender gives the deduplication id: the message's own id, never a hash of its body."""
    if not name.endswith(".fifo"):
        return {}
    return {kind: "true", "ContentBasedDeduplication": "false"}


def subscribe(topic_arn: str, queue_url: str) -> None:
    """Raw delivery: the queue gets body and attributes as published, without an envelope."""
    attributes = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])
    queue_arn = attributes["Attributes"]["QueueArn"]
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "sns.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": queue_arn,
                "Condition": {"ArnEquals": {"aws:SourceArn": topic_arn}},
            }
        ],
    }
    sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"Policy": json.dumps(policy)})
    sns.subscribe(
        TopicArn=topic_arn,
        Protocol="sqs",
        Endpoint=queue_arn,
        Attributes={"RawMessageDelivery": "true"},
    )


if __name__ == "__main__":
    try:
        main()
    except (BotoCoreError, ClientError) as error:
        sys.exit(str(error))
