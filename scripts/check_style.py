#!/usr/bin/env python3
"""Checks rules of src/ that neither compiler nor clang-format knows.

- banned functions, with what to use instead;
- each header compiles alone, and in its first comment a paragraph such as "Memory:" begins a line (clang-format
  runs it into the one before where a line is too long);
- a public function is named after its file (or the leading words of its name), a type that its
  header defines, or its module: src/io/sock.c defines sock_*, listener_* (struct listener) or io_*,
  src/dialect/openai_request.c openai_*; two files of different modules do not share a prefix;
- each source file starts with the licence line;
- each module with sources has a README.md.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
SRC = TOP / "src"

NO_BOUND = "has no bound"
BANNED = {
    "strcpy": NO_BOUND,
    "strcat": NO_BOUND,
    "sprintf": NO_BOUND,
    "vsprintf": NO_BOUND,
    "gets": NO_BOUND,
    "strtok": "keeps hidden state; use span_split",
    "atoi": "hides errors; use base/num.h",
    "atol": "hides errors; use base/num.h",
    "atof": "hides errors; use base/num.h",
    "strtol": "accepts too much; use base/num.h",
    "strtoul": "accepts too much; use base/num.h",
    "strtoll": "accepts too much; use base/num.h",
    "strtoull": "accepts too much; use base/num.h",
    "alloca": "has no bound",
    "localtime": "not thread safe; use localtime_r",
    "gmtime": "not thread safe; use gmtime_r",
    "strerror": "not thread safe; use err_str",
    "rand": "use base/rng.h",
    "system": "runs a shell",
    "popen": "runs a shell",
    "signal": "not portable in what it does; use sigaction or signalfd",
}
BANNED_OUTSIDE_BASE = {
    "malloc": "use base/mem.h",
    "calloc": "use base/mem.h",
    "realloc": "use base/mem.h",
    "free": "use base/mem.h",
    "strdup": "use base/mem.h",
    "strndup": "use base/mem.h",
    "time": "use base/clock.h",
    "gettimeofday": "use base/clock.h",
    "clock_gettime": "use base/clock.h",
}

# Names that do not follow their file, each with its reason: "path:function": "reason".
NAME_EXCEPTIONS = {
    "src/cli/main.c:main": "the C language names it",
}

# Comments and literals, replaced by spaces so that line numbers stay right.
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# A definition: starts in the first column, ends its head with ")" and a "{" on the next line.
DEFINITION = re.compile(r"^(?P<head>[A-Za-z_][\w \t\*\n]*?[\s\*])(?P<name>\w+)\((?P<args>[^;{}]*)\)[^;{}()]*\n\{", re.M)

# A paragraph's name behind the end of a sentence, and names that are not the usual one.
PARAGRAPH = re.compile(r"^ \* .*[.;)] (Role|Memory|Limits|Errors|Source|Threading):|^ \* (Threads):", re.M)

TYPE = re.compile(r"\b(?:struct|enum)\s+(\w+)\s*[{;]")


def shown(path):
    return str(path.relative_to(TOP))


def without_noise(text):
    return NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def check_banned(path, text):
    banned = dict(BANNED)
    if path.relative_to(SRC).parts[0] != "base":
        banned.update(BANNED_OUTSIDE_BASE)
    # A member that happens to be called so (ops->free) is somebody else.
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(banned) + r")\s*\(")
    for match in pattern.finditer(text):
        yield f"{shown(path)}:{line_of(text, match.start())}: {match[1]}() {banned[match[1]]}"


def name_prefixes(path):
    """What the names of the public functions in this file may start with."""
    words = path.stem.split("_")
    prefixes = {"_".join(words[:n + 1]) for n in range(len(words))}
    prefixes.add(path.relative_to(SRC).parts[0])
    header = path.with_suffix(".h")
    if header.exists():
        prefixes.update(TYPE.findall(without_noise(header.read_text())))
    return prefixes


def public_functions(path, text):
    for match in DEFINITION.finditer(text):
        if not re.search(r"\bstatic\b", match["head"]):
            yield match["name"], line_of(text, match.start("name"))


def has_prefix(name, prefix):
    return name == prefix or name.startswith(prefix + "_")


def check_names(path, text, owners):
    module, prefixes = path.relative_to(SRC).parts[0], name_prefixes(path)
    for name, line in public_functions(path, text):
        if f"{shown(path)}:{name}" in NAME_EXCEPTIONS:
            continue
        if not any(has_prefix(name, prefix) for prefix in prefixes):
            yield f"{shown(path)}:{line}: {name} should be named {path.stem}_*, after its file"
        if has_prefix(name, path.stem):
            owner = owners.setdefault(path.stem, module)
            if owner != module:
                yield f"{shown(path)}:{line}: {name}: the prefix {path.stem}_ belongs to module '{owner}'"


def check_paragraphs(path, raw):
    first = re.match(r"(?:/\*.*?\*/\n){2}", raw, re.S)
    for match in PARAGRAPH.finditer(first[0] if first else ""):
        what = f'"{match[1]}:" begins a line' if match[1] else '"Threads:" is called "Threading:"'
        yield f"{shown(path)}:{line_of(raw, match.start())}: {what}"


def check_header_alone(path):
    unit = f'#include "{path.relative_to(SRC)}"\n'
    command = [
        os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-DMODULE_ID=0", '-DMODULE_NAME="check"',
        "-Wall", "-Wextra", "-Werror", f"-I{SRC}", "-fsyntax-only", "-x", "c", "-",
    ]
    result = subprocess.run(command, input=unit, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return [f"{shown(path)}: does not compile alone:\n{result.stderr.rstrip()}"]
    return []


def check_readmes():
    for module in sorted(p for p in SRC.iterdir() if p.is_dir()):
        if any(module.glob("*.c")) and not (module / "README.md").exists():
            yield f"{shown(module)}/: README.md is missing"


def main():
    problems, owners = [], {}
    sources = sorted(SRC.rglob("*.c"))
    headers = sorted(SRC.rglob("*.h"))
    for path in sources + headers:
        raw = path.read_text()
        if not raw.startswith("/* SPDX-License-Identifier: Apache-2.0 */\n"):
            problems.append(f"{shown(path)}:1: the licence line is missing")
        text = without_noise(raw)
        problems += check_banned(path, text)
        if path.suffix == ".c":
            problems += check_names(path, text, owners)
        else:
            problems += check_paragraphs(path, raw)
    problems += check_readmes()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for found in pool.map(check_header_alone, headers):
            problems += found
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
