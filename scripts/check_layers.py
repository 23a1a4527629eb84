#!/usr/bin/env python3
"""Checks every #include in src/ against src/LAYERS.

A line of LAYERS is 'module: modules it may include'; only modules of earlier lines may be named, so
the graph has no cycle by construction.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src"
INCLUDE = re.compile(r'\s*#\s*include\s+"(?:([^"/]+)/)?([^"]+)"')


def read_layers(problems):
    allowed = {}
    for number, line in enumerate((ROOT / "LAYERS").read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        module, _, names = line.partition(":")
        module = module.strip()
        if module in allowed:
            problems.append(f"src/LAYERS:{number}: module '{module}' stands twice")
        for name in names.split():
            if name not in allowed:
                problems.append(
                    f"src/LAYERS:{number}: '{module}' may not use '{name}', which is not on an earlier line"
                )
        allowed[module] = set(names.split())
    return allowed


def check_file(path, allowed, problems):
    module = path.relative_to(ROOT).parts[0]
    name = path.relative_to(ROOT.parent)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target, rest = match.groups()
        if target is None and rest.endswith(".pb-c.h"):
            continue  # made by protoc-c in the build directory
        if target is None:
            problems.append(f'{name}:{number}: write "module/{rest}", paths start at src/')
        elif target not in allowed:
            problems.append(f"{name}:{number}: '{target}' is no module of src/LAYERS")
        elif target != module and target not in allowed[module]:
            problems.append(f"{name}:{number}: module '{module}' may not include '{target}/'")


def main():
    problems = []
    allowed = read_layers(problems)
    for path in sorted(ROOT.rglob("*.[ch]")):
        module = path.relative_to(ROOT).parts[0]
        if module not in allowed:
            problems.append(f"{path.relative_to(ROOT.parent)}: module '{module}' is missing in src/LAYERS")
            continue
        check_file(path, allowed, problems)
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
