"""The stack without its functions, on LocalStack: a second reading of the same template."""

import json
import os

from samtranslator.yaml_helper import yaml_parse

from deployment import TEMPLATE, Stack
from emulator import client
from steps import expect, step

FUNCTION = "AWS::Serverless::Function"


def deployed(run):
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    expect(endpoint and "amazonaws.com" not in endpoint, "AWS_ENDPOINT_URL leads to no LocalStack; make up starts one.")
    region = os.environ["AWS_REGION"]
    stack = Stack(lambda service: client(service, endpoint, region), f"outbox-plain-{run}")
    bucket = f"template-{run}"
    s3 = stack.client("s3")
    s3.create_bucket(Bucket=bucket)
    try:
        stack.create(without_functions(stack.name), parameters(), bucket)
        n_resources = sum(len(ids) for ids in stack.resources().values())
        step(f"LocalStack has the stack without its functions: {n_resources} resources")
        stack.delete()
        leftovers = stack.leftovers()
        expect(not leftovers, "LocalStack has kept:\n  " + "\n  ".join(leftovers))
        step("LocalStack has deleted it")
    finally:
        s3.delete_object(Bucket=bucket, Key="template.yaml")
        s3.delete_bucket(Bucket=bucket)


def parameters():
    """Those that have no default, and every list: an empty one LocalStack does not take for empty."""
    return {
        "SubnetIds": "subnet-0123456789abcdef0",
        "SecurityGroupIds": "sg-0123456789abcdef0",
        "DatabaseHost": "db.example.com",
        "DatabaseName": "shop",
        "DatabaseResourceId": "db-ABCDEFGHIJKLMNOP",
        "Destinations": '{"events": "arn:aws:sns:us-east-1:000000000000:events"}',
        "QueueArns": "arn:aws:sqs:us-east-1:000000000000:orders",
        "TopicArns": "arn:aws:sns:us-east-1:000000000000:events",
        "DestinationKmsKeyArns": "arn:aws:kms:us-east-1:000000000000:key/0123",
    }


def without_functions(stack):
    """The template as JSON; where it speaks of a function, the name stands that the function would have."""
    template = yaml_parse(TEMPLATE.read_text())
    resources = template["Resources"]
    functions = [name for name, resource in resources.items() if resource["Type"] == FUNCTION]
    names = {name: f"{stack}-{name.removesuffix('Function').lower()}" for name in functions}
    for name in names:
        del resources[name]
    del template["Transform"], template["Globals"]
    # A rule is about the user's values; these are ours.
    template.pop("Rules", None)
    # LocalStack 4.13 takes a list for one text in conditions, and then can't delete a stack that joins it.
    template["Conditions"] = unjoined(template["Conditions"])
    return json.dumps(named(template, names))


def unjoined(value):
    if isinstance(value, list):
        return [unjoined(item) for item in value]
    if not isinstance(value, dict):
        return value
    return unjoined(value["Fn::Join"][1]) if "Fn::Join" in value else {key: unjoined(one) for key, one in value.items()}


def named(value, names):
    if isinstance(value, list):
        return [named(item, names) for item in value]
    if isinstance(value, str):
        for function, name in names.items():
            value = value.replace(f"${{{function}}}", name)
        return value
    if not isinstance(value, dict):
        return value
    if value.get("Ref") in names:
        return names[value["Ref"]]
    function, attribute = value.get("Fn::GetAtt", ("", ""))
    if function in names and attribute == "Arn":
        arn = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:"
        return {"Fn::Sub": arn + names[function]}
    return {key: named(item, names) for key, item in value.items()}
