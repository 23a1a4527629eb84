#!/usr/bin/env python3
"""Prints the longest functions and files of src/. Informative: the sizes are guidance, not limits."""
import json
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
N_SHOWN = 20
FUNCTION_LINES = 70  # look again above this
FILE_LINES = 700


def functions():
    command = ["ctags", "--output-format=json", "--fields=+ne", "--languages=C", "--kinds-C=f", "-R", "-f", "-", "src"]
    output = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        tag = json.loads(line)
        if "end" in tag:
            yield tag["end"] - tag["line"] + 1, f"{tag['path']}:{tag['line']}", tag["name"]


def main():
    found = sorted(functions(), reverse=True)
    lengths = sorted(length for length, _, _ in found)
    if not lengths:
        print("no functions")
        return 0
    print(f"{len(lengths)} functions, median {lengths[len(lengths) // 2]} lines,"
          f" p90 {lengths[len(lengths) * 9 // 10]}, longest {lengths[-1]}")
    for length, place, name in found[:N_SHOWN]:
        mark = "  look again" if length > FUNCTION_LINES else ""
        print(f"{length:5}  {name:40} {place}{mark}")
    files = sorted(((len(p.read_text().splitlines()), str(p.relative_to(TOP)))
                    for p in (TOP / "src").rglob("*.[ch]")), reverse=True)
    print(f"\n{len(files)} files, {sum(n for n, _ in files)} lines")
    for length, name in files[:N_SHOWN]:
        mark = "  look again" if length > FILE_LINES else ""
        print(f"{length:5}  {name}{mark}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
