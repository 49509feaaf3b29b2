"""The deploy template as a stack, and what is left of one."""

import re
from pathlib import Path

from botocore.exceptions import ClientError

from steps import Failure, eventually, expect

TEMPLATE = Path(__file__).parent.parent / "template.yaml"
FUNCTIONS = ["relay", "purge", "admin"]
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]


def packaged(s3, bucket, zips):
    """The template's text as `sam package` makes it: the code of each function is a zip in S3, and nothing else changes."""
    text = TEMPLATE.read_text()
    for function in FUNCTIONS:
        s3.upload_file(str(zips[function]), bucket, f"{function}.zip")
        source = re.compile(rf"CodeUri: \.\./functions/{function}$", re.MULTILINE)
        text, n_replaced = source.subn(f"CodeUri: s3://{bucket}/{function}.zip", text)
        expect(n_replaced == 1, f"template.yaml has {n_replaced} times the CodeUri of {function}, not once.")
    return text


class Stack:
    """A deployed template, or one that is being deployed or deleted."""

    def __init__(self, client, name):
        self.cloudformation = client("cloudformation")
        self.client = client
        self.name = name

    def create(self, template, parameters, bucket):
        # One of more than 51,200 bytes has to be in S3.
        s3 = self.client("s3")
        s3.put_object(Bucket=bucket, Key="template.yaml", Body=template.encode())
        parameters = [{"ParameterKey": key, "ParameterValue": str(value)} for key, value in parameters.items()]
        self.cloudformation.create_stack(
            StackName=self.name,
            TemplateURL=f"{s3.meta.endpoint_url}/{bucket}/template.yaml",
            Parameters=parameters,
            Capabilities=CAPABILITIES,
            OnFailure="DO_NOTHING",
        )
        state = eventually("the stack is created", 120, self.settled)
        if state != "CREATE_COMPLETE":
            raise Failure(f"the stack is {state}:\n{self.reasons()}")

    def settled(self):
        """Its state, unless that is about to change."""
        stack = self.cloudformation.describe_stacks(StackName=self.name)["Stacks"][0]
        return None if stack["StackStatus"].endswith("_IN_PROGRESS") else stack["StackStatus"]

    def reasons(self):
        events = self.cloudformation.describe_stack_events(StackName=self.name)["StackEvents"]
        failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
        return "\n".join(f"  {event['LogicalResourceId']}: {event.get('ResourceStatusReason')}" for event in failed)

    def outputs(self):
        stack = self.cloudformation.describe_stacks(StackName=self.name)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def resources(self):
        """Type -> physical ids."""
        found = {}
        for page in self.cloudformation.get_paginator("list_stack_resources").paginate(StackName=self.name):
            for resource in page["StackResourceSummaries"]:
                found.setdefault(resource["ResourceType"], []).append(resource["PhysicalResourceId"])
        return found

    def delete(self):
        self.cloudformation.delete_stack(StackName=self.name)
        eventually("the stack is deleted", 120, self.is_gone)

    def is_gone(self):
        try:
            state = self.settled()
        except ClientError as error:
            if "does not exist" in str(error):
                return True
            raise
        if state is not None and state != "DELETE_COMPLETE":
            raise Failure(f"the stack is {state} after its deletion:\n{self.reasons()}")
        return state == "DELETE_COMPLETE"

    def leftovers(self):
        """Whatever still bears the stack's name."""
        look_ups = {
            "function": lambda: self.client("lambda").list_functions()["Functions"],
            "schedule": lambda: self.client("scheduler").list_schedules()["Schedules"],
            "role": lambda: self.client("iam").list_roles()["Roles"],
            "policy": lambda: self.client("iam").list_policies(Scope="Local")["Policies"],
            "alarm": lambda: self.client("cloudwatch").describe_alarms()["MetricAlarms"],
            "dashboard": lambda: self.client("cloudwatch").list_dashboards()["DashboardEntries"],
            "log group": lambda: self.client("logs").describe_log_groups()["logGroups"],
            "queue": lambda: self.client("sqs").list_queues().get("QueueUrls", []),
            "topic": lambda: self.client("sns").list_topics()["Topics"],
        }
        return [f"{kind} {found}" for kind, look in look_ups.items() for found in look() if self.name in str(found)]
