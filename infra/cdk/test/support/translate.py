"""The SAM template as CloudFormation gets it: SAM's own translator, for sets of parameters read as JSON from standard input.

Prints {"template": as written, "translated": [one for each set], "included": what template.json should be}. Called by sam.ts.
"""

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import template as package  # noqa: E402


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    sets = json.load(sys.stdin)
    with redirect_stdout(io.StringIO()) as included:
        package.main()
    answer = {
        "template": package.yaml_parse(text),
        "translated": [package.translated(text, parameters) for parameters in sets],
        "included": included.getvalue(),
    }
    json.dump(answer, sys.stdout)


main()
