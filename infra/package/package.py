"""From built functions to what is shipped: zips, SBOMs and checksums."""

import hashlib
import sys
from pathlib import Path

from archive import archive
from sbom import sboms


def main(built, folder, architecture, target, most_bytes, *functions):
    built, folder = Path(built), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    programs = {function: built / function / "bootstrap" for function in functions}
    documents = sboms(functions, target)
    for function, program in programs.items():
        path = folder / f"{function}-{architecture}.zip"
        archive(program, path)
        if path.stat().st_size > int(most_bytes):
            sys.exit(f"make package: {path} has {path.stat().st_size} bytes, more than {most_bytes}.")
        (folder / f"{function}-{architecture}.cdx.json").write_text(documents[function])
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
    sums = folder / "SHA256SUMS"
    shipped = sorted([*folder.glob("*.zip"), *folder.glob("*.cdx.json")])
    sums.write_text("".join(f"{checksum(path)}  {path.name}\n" for path in shipped))
    print(f"{sums}  (sha256sum --check SHA256SUMS)")


def checksum(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main(*sys.argv[1:])
