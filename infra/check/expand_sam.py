"""Prints what CloudFormation makes of a SAM template, as JSON: the rules are for what is deployed, whoever wrote it.

Used as: python expand_sam.py TEMPLATE. Needs no account: the template names no managed policy and no bucket.
"""

import json
import sys

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse


def main(path):
    with open(path, encoding="utf-8") as file:
        template = yaml_parse(file)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            # As `sam package` would have it.
            resource["Properties"]["CodeUri"] = "s3://bucket/code.zip"
    defaults = {name: one.get("Default", name) for name, one in template["Parameters"].items()}
    parameters = {**defaults, "AWS::Region": "us-east-1"}
    expanded = Translator({}, Parser()).translate(template, parameter_values=parameters)
    json.dump(expanded, sys.stdout, indent=1)


main(sys.argv[1])
