"""Writes template.json: infra/template.yaml as plain CloudFormation, which the construct includes.

    python template.py ../template.yaml > template.json

What SAM would make of the template at each deployment is made once, by SAM's own translator. `make check-cdk` fails if
template.json is not what this prints.
"""

import json
import logging
import os
import re
import sys

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

REFERENCE = re.compile(r"\$\{([^!}][^}]*)\}")


class NoManagedPolicies:
    """The template names no managed policy, so that nobody has to be asked for a list of them."""

    def load(self):
        return {}


def packaged(text):
    """As `sam package` leaves it: with the code in a bucket."""
    template = yaml_parse(text)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = {"Bucket": "bucket", "Key": "key"}
    return template


def translated(text, parameters):
    os.environ.setdefault("AWS_DEFAULT_REGION", "eu-west-1")  # It looks for a region, though it calls nobody.
    logging.disable(logging.WARNING)  # It warns of metrics of its own, which nobody publishes.
    return transform(packaged(text), parameters, NoManagedPolicies())


def included(template):
    """Without what a stack has and a construct has not; validate.ts has the rules, outbox-relay.ts the outputs."""
    kept = {name: template[name] for name in ("Parameters", "Mappings", "Conditions", "Resources")}
    for resource in kept["Resources"].values():
        resource.pop("Metadata", None)
        if resource["Type"] == "AWS::Lambda::Function":
            del resource["Properties"]["Tags"]  # SAM's own.
    return without_subs(kept)


def without_subs(value):
    """Fn::Sub as Fn::Join, since a prop may be a value that only CloudFormation knows, and no text has room for one."""
    if isinstance(value, list):
        return [without_subs(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "Fn::Sub" in value:
        sub = value["Fn::Sub"]
        return joined(sub, {}) if isinstance(sub, str) else joined(*sub)
    return {key: without_subs(item) for key, item in value.items()}


def joined(text, names):
    # Every second part is the name of a reference.
    parts = REFERENCE.split(text)
    parts[1::2] = [without_subs(names[name]) if name in names else reference(name) for name in parts[1::2]]
    parts = [part for part in parts if part != ""]
    return parts[0] if len(parts) == 1 else {"Fn::Join": ["", parts]}


def reference(name):
    if "." in name and "::" not in name:
        return {"Fn::GetAtt": name.split(".", 1)}
    return {"Ref": name}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    # The values of parameters are no part of what SAM makes: sameness.test.ts compares it for many of them.
    given = {name: "given" for name, parameter in yaml_parse(text)["Parameters"].items() if "Default" not in parameter}
    json.dump(included(translated(text, given)), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
