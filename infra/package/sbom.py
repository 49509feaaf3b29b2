"""CycloneDX documents of what the functions are made of.

cargo-cyclonedx knows licences and checksums, but takes the features of the whole workspace together: the purge would
have the SDK of SQS. What a program is really built of, cargo itself tells; all else is left out.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ["Cargo.toml", "Cargo.lock", "shared", "functions", "tests", "examples", "rust-toolchain.toml"]


def sboms(functions, target):
    """Function -> its document, equal whenever and wherever it is made."""
    with tempfile.TemporaryDirectory(prefix="outbox-sbom.") as folder:
        # cargo-cyclonedx writes beside the manifests, so it gets a copy of them.
        for name in MANIFESTS:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, Path(folder, name))
            elif (ROOT / name).exists():
                shutil.copy(ROOT / name, folder)
        describe(folder, target)
        return {function: pruned(folder, function, target) for function in functions}


def describe(folder, target):
    command = ["cargo-cyclonedx", "cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5"]
    command += ["--describe", "binaries", "--target", target]
    tools = ROOT / ".local/cargo-tools/bin"
    environment = dict(os.environ, SOURCE_DATE_EPOCH="0", PATH=f"{tools}:{os.environ['PATH']}")
    subprocess.run(command, cwd=folder, env=environment, check=True)


def pruned(folder, function, target):
    path = Path(folder, "functions", function, f"{function}_bin.cdx.json")
    text = path.read_text().replace(f"file://{folder}", "file:///outbox")
    document = json.loads(text)
    shipped = crates(function, target)
    components = [part for part in document["components"] if (part["name"], part["version"]) in shipped]
    known = {(part["name"], part["version"]) for part in components}
    missing = {crate for crate in shipped - known if crate[0] != function}
    if missing:
        raise SystemExit(f"make package: the SBOM of {function} lacks {sorted(missing)}.")
    refs = {part["bom-ref"] for part in [document["metadata"]["component"], *components]}
    dependencies = [
        {**edges, "dependsOn": [ref for ref in edges.get("dependsOn", []) if ref in refs]}
        for edges in document["dependencies"]
        if edges["ref"] in refs
    ]
    return json.dumps({**document, "components": components, "dependencies": dependencies}, indent=1) + "\n"


def crates(function, target):
    """Name and version of each crate that the function is built of, with those that only help to build it."""
    command = ["cargo", "tree", "--locked", "--package", function, "--target", target]
    command += ["--edges", "normal,build", "--prefix", "none", "--format", "{p}"]
    tree = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    pairs = [line.split()[:2] for line in tree.splitlines() if line]
    return {(name, version.removeprefix("v")) for name, version in pairs}
