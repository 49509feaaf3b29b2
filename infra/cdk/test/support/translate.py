"""The SAM template as CloudFormation gets it: SAM's own translator, for sets of parameters read as JSON from standard input.

Prints {"template": as written, "translated": [one for each set]}. Called by sam.ts.
"""

import json
import logging
import sys

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse


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


def main():
    logging.disable(logging.WARNING)  # It warns of metrics of its own, which nobody publishes.
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    sets = json.load(sys.stdin)
    translated = [transform(packaged(text), parameters, NoManagedPolicies()) for parameters in sets]
    json.dump({"template": yaml_parse(text), "translated": translated}, sys.stdout)


main()
