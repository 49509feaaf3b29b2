"""make e2e: the real template deployed to an emulator of AWS, with the real functions, from INSERT to queue and back to nothing."""

import json
import secrets
import shutil
import signal
import sys
import tempfile
import traceback
from contextlib import ExitStack, contextmanager
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

import localstack
from deployment import FUNCTIONS, Stack, packaged
from emulator import Emulator
from messages import Destinations, all_dispatched, enqueue
from postgres import HOST, NAME, Postgres, secret_string
from steps import Failure, eventually, expect, step

ALARMS = ["backlog-age", "dead-messages", "failure-queue", "purge-failures", "relay-failures"]


def main(zip_folder, architecture, outbox):
    zips = {name: Path(zip_folder, f"{name}-{architecture}.zip") for name in FUNCTIONS}
    for path in zips.values():
        expect(path.is_file(), f"{path} is missing; make package makes it.")
    with ExitStack() as started:
        folder = started.enter_context(temporary_folder())
        database = started.enter_context(Postgres(folder).running())
        database.migrate(outbox)
        step("Postgres has the schema, and takes only TLS with a certificate that its own authority signed")
        emulator = started.enter_context(Emulator(folder).running())
        step(f"MiniStack answers on 127.0.0.1:{emulator.port}; it judges each call by the caller's policies")

        with shown_if_it_fails(emulator, database):
            deployed(emulator, database, zips, architecture, secrets.token_hex(3))
        localstack.deployed(secrets.token_hex(3))
        # While what has been started is stopped, a second Ctrl-C would leave the rest behind.
        ignore_signals()


def deployed(emulator, database, zips, architecture, run):
    """The whole life of a stack."""
    destinations = Destinations(emulator.client)
    client = emulator.client
    stack = Stack(client, f"outbox-{run}")
    for bucket in [f"code-{run}", f"archive-{run}"]:
        client("s3").create_bucket(Bucket=bucket)
    template = packaged(client("s3"), f"code-{run}", zips)
    parameters = parameters_of(client, database, destinations, architecture, run)
    stack.create(template, parameters, f"code-{run}")
    resources = stack.resources()
    n_resources = sum(len(ids) for ids in resources.values())
    step(f"The stack is created from the template: {n_resources} resources, with {len(FUNCTIONS)} functions")
    check_alarms(client, stack, parameters["AlarmTopicArn"])

    messages = enqueue(database)
    step(f"{len(messages)} messages are enqueued, and one in a transaction that is rolled back")
    received = destinations.receive_all(messages)
    step("The timer has started the relay: each message arrived, through SNS or directly, as it was enqueued")
    destinations.check(messages, received)
    eventually("all is marked dispatched", 30, lambda: all_dispatched(database, messages))
    step("All are marked dispatched, and nothing else is in the table or the queues")

    outputs = stack.outputs()
    status = invoke(client, outputs["AdminFunction"], {"command": "status"})
    step(f"The admin function answers: {json.dumps(status)[:120]}")
    purged = invoke(client, outputs["PurgeFunction"], {})
    step(f"The purge function answers: {json.dumps(purged)[:160]}")
    check_logs(client, stack)
    check_failure_queue(client, outputs["FailureQueue"])

    stack.delete()
    leftovers = stack.leftovers()
    expect(not leftovers, "the deleted stack has left behind:\n  " + "\n  ".join(leftovers))
    step("The stack is deleted, and nothing bears its name any more")


def parameters_of(client, database, destinations, architecture, run):
    subnets = [subnet["SubnetId"] for subnet in client("ec2").describe_subnets()["Subnets"]]
    groups = [group["GroupId"] for group in client("ec2").describe_security_groups()["SecurityGroups"]]
    manager = client("secretsmanager")
    secret = {
        role: manager.create_secret(Name=f"{role}-{run}", SecretString=secret_string(database.login(role)))["ARN"]
        for role in ["outbox_relay", "outbox_admin"]
    }
    return {
        "SubnetIds": ",".join(subnets),
        "SecurityGroupIds": ",".join(groups[:1]),
        "DatabaseHost": HOST,
        "DatabasePort": database.port,
        "DatabaseName": NAME,
        "DatabaseCaFile": database.ca_file,
        "DatabaseAuth": "secret",
        "RelaySecretArn": secret["outbox_relay"],
        "AdminSecretArn": secret["outbox_admin"],
        "Destinations": json.dumps(destinations.setting()),
        "QueueArns": ",".join(destinations.queue_arns()),
        "TopicArns": ",".join(destinations.topic_arns()),
        "RetentionHours": 0,
        "ArchiveLocation": f"s3://archive-{run}/purged",
        "Architecture": architecture,
        "AlarmTopicArn": client("sns").create_topic(Name=f"alarms-{run}")["TopicArn"],
    }


def invoke(client, function, event):
    answer = client("lambda").invoke(FunctionName=function, Payload=json.dumps(event))
    text = answer["Payload"].read().decode()
    expect("FunctionError" not in answer, f"{function} failed: {text}")
    return json.loads(text)


def check_alarms(client, stack, topic):
    alarms = client("cloudwatch").describe_alarms(AlarmNamePrefix=stack.name)["MetricAlarms"]
    names = sorted(alarm["AlarmName"] for alarm in alarms)
    wanted = [f"{stack.name}-{name}" for name in ALARMS]
    expect(set(wanted) <= set(names), f"alarms {names}; wanted {wanted}")
    for alarm in alarms:
        expect(alarm["AlarmActions"] == [topic], f"{alarm['AlarmName']} tells nobody: {alarm['AlarmActions']}")
    step(f"{len(alarms)} alarms are there, and tell their topic")


def check_logs(client, stack):
    """Each function has written to its own log group, and no error."""
    for function in FUNCTIONS:
        group = f"/aws/lambda/{stack.name}-{function}"
        events = client("logs").filter_log_events(logGroupName=group)["events"]
        lines = [event["message"] for event in events]
        expect(lines, f"{group} is empty.")
        bad = [line for line in lines if '"level":"ERROR"' in line or '"level":"WARN"' in line]
        expect(not bad, f"{group} has errors or warnings:\n" + "\n".join(bad))
    step("Each function has written to its log group, without an error or a warning")


def check_failure_queue(client, url):
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    counts = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    expect(set(counts.values()) == {"0"}, f"runs have failed: {counts}")
    step("The failure queue is empty")


@contextmanager
def shown_if_it_fails(emulator, database):
    """What functions and servers said last, before all of it goes."""
    try:
        yield
    except (Failure, BotoCoreError, ClientError):
        for group, lines in function_logs(emulator.client):
            show(group, lines)
        failed = "SELECT destination, status, last_error_code, last_error FROM outbox.message_status WHERE status <> 'dispatched'"
        show("the messages", [str(row) for row in database.query(failed)])
        for log in (emulator.log, database.log):
            show(log.name, log.read_text(errors="replace").splitlines())
        raise


def function_logs(client):
    for group in client("logs").describe_log_groups()["logGroups"]:
        events = client("logs").filter_log_events(logGroupName=group["logGroupName"])["events"]
        yield group["logGroupName"], [event["message"].rstrip() for event in events]


def show(name, lines):
    print(f"The end of {name}:", *[f"  | {line[:500]}" for line in lines[-8:]], sep="\n", file=sys.stderr)


def report(run):
    """The exit status of a run, and why it failed."""
    try:
        run()
    except Failure as failure:
        print(f"make e2e: {failure}", file=sys.stderr)
        return 1
    except (BotoCoreError, ClientError):
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def temporary_folder():
    """Readable to the user that Postgres runs as."""
    folder = Path(tempfile.mkdtemp(prefix="outbox-e2e."))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def interrupted(number, _):
    ignore_signals()
    raise Failure(f"interrupted by {signal.Signals(number).name}.")


def ignore_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    sys.exit(report(lambda: main(*sys.argv[1:])))
