"""Starts MiniStack, mended where version 1.5.33 differs from AWS and the template feels it.

The template stays as it is. Each of these can go once a version does without it.
"""

import sys
import time

from ministack import app
from ministack.core import iam_actions
from ministack.core.lambda_runtime import ProvidedWorker
from ministack.services import lambda_svc
from ministack.services.cloudformation import changesets, engine, handlers, stacks

REGISTERED = b'{"functionName": "function", "functionVersion": "$LATEST", "handler": "bootstrap"}'

# IAM knows no action for a batch: who may send, may send ten.
ACTIONS_OF_BATCHES = {"sqs:SendMessageBatch": "sqs:SendMessage", "sns:PublishBatch": "sns:Publish"}

request_origin = app.pin_request_origin
action_of = iam_actions.extract_iam_action
worker_environment = lambda_svc._provided_worker_env
runtime_api = ProvidedWorker._build_handler_class
evaluate_conditions = engine._evaluate_conditions


def as_by_tls(source_ip, _secure_transport):
    """AWS is called by TLS, which the template demands of the failure queue; the emulator listens on loopback without."""
    request_origin(source_ip, True)


def texts_only(*args):
    """CloudFormation makes texts of a function's variables; a number would keep the function from starting."""
    return {name: str(value) for name, value in worker_environment(*args).items()}


def action_as_iam_knows_it(*args):
    action = action_of(*args)
    return ACTIONS_OF_BATCHES.get(action, action)


def with_joined_lists(template, parameters):
    """Conditions know Fn::Join, which is how a template asks whether a list is empty; here it would never be."""
    conditions = joined(template.get("Conditions", {}), parameters)
    return evaluate_conditions({**template, "Conditions": conditions}, parameters)


def joined(value, parameters):
    if isinstance(value, list):
        return [joined(item, parameters) for item in value]
    if not isinstance(value, dict):
        return value
    if "Fn::Join" in value:
        separator, items = value["Fn::Join"]
        if isinstance(items, dict):
            items = str(parameters[items["Ref"]]["Value"]).split(",")
        return separator.join(items)
    return {key: joined(item, parameters) for key, item in value.items()}


def with_extensions(worker, *args):
    """The Extensions API, without which Lambda tells no function that it is about to end; the functions ask for that."""

    class WithExtensions(runtime_api(worker, *args)):
        def do_POST(self):
            if not self.path.endswith("/extension/register"):
                return super().do_POST()
            self._read_body()
            self.send_response(200)
            self.send_header("Lambda-Extension-Identifier", "internal")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(REGISTERED)))
            self.end_headers()
            self.wfile.write(REGISTERED)

        def do_GET(self):
            if not self.path.endswith("/extension/event/next"):
                return super().do_GET()
            # An internal extension that asks for no event waits for ever.
            while not worker._stopping:
                time.sleep(0.1)
            self._stopped()

    return WithExtensions


app.pin_request_origin = as_by_tls
iam_actions.extract_iam_action = action_as_iam_knows_it
ProvidedWorker._build_handler_class = with_extensions
lambda_svc._provided_worker_env = texts_only
for module in (changesets, engine, handlers, stacks):
    if hasattr(module, "_evaluate_conditions"):
        module._evaluate_conditions = with_joined_lists

if __name__ == "__main__":
    sys.exit(app.main())
