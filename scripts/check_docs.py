#!/usr/bin/env python3
"""Checks what documents say about the tree, and that both READMEs say the same.

- every relative link in a *.md file leads to a file, and its #anchor to a heading there;
- every src/... path named in README*.md and docs/ exists;
- every file.c:function named there is a function (or a table) of that file;
- docs/ARCHITECTURE.md has a row for each module of src/LAYERS and names each of its .c files (a * stands for
  any text);
- the runbook_url of each alert in deploy/rules leads to its own section of docs/RUNBOOK.md, and each section
  there (###) is of an alert;
- README.md and README.zh-CN.md have the same headings by level, and under each heading the same code
  blocks, table rows, links and numbers.

Prints FILE:LINE: MESSAGE for each fault; exits with 1 when there is one.
"""
import collections
import fnmatch
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
ARCHITECTURE = TOP / "docs/ARCHITECTURE.md"
RUNBOOK = TOP / "docs/RUNBOOK.md"
READMES = ("README.md", "README.zh-CN.md")
SKIPPED = {"build", "node_modules", "data", ".git"}

HEADING = re.compile(r"(#{1,6}) +(.*?)\s*#*$")
FENCE = re.compile(r"\s*(```+|~~~+)\s*(\S*)")
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)<>\s]+)>?(?:\s+\"[^\"]*\")?\)")
CODE_SPAN = re.compile(r"`[^`]*`")
PATH = re.compile(r"(?<![\w/.-])src/[\w*{},./-]*")
FUNCTION = re.compile(r"(?<![\w/.-])((?:[\w-]+/)*[\w-]+\.[ch]):([A-Za-z_]\w*)")
ALERT = re.compile(r"\s*- alert: *(\w+)$")
# Alerts whose rules the program writes itself.
GENERATED = TOP / "src/slo/slo_rules.c"
GENERATED_ALERT = re.compile(r'"(SLO[A-Z]\w+)"')
RUNBOOK_URL = re.compile(r"\s*runbook_url: *(\S+)$")
NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d+(?:[.,]\d+)*")


class Doc:
    """One Markdown file: its lines, and which of them are in code blocks."""

    def __init__(self, path):
        self.path = path
        self.name = path.relative_to(TOP).as_posix()
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.is_code = []
        self.languages = {}  # line number of each code block's beginning
        fence = None
        for number, line in enumerate(self.lines, 1):
            m = FENCE.match(line)
            if fence is None and m:
                fence = m[1]
                self.is_code.append(True)
                self.languages[number] = m[2]
            elif fence is not None:
                self.is_code.append(True)
                if m and m[1].startswith(fence) and not m[2]:
                    fence = None
            else:
                self.is_code.append(False)

    def prose(self):
        for number, line in enumerate(self.lines, 1):
            if not self.is_code[number - 1]:
                yield number, line

    def anchors(self):
        """As GitHub makes them: lower case, punctuation dropped, spaces to dashes."""
        seen = collections.Counter()
        for _, line in self.prose():
            m = HEADING.match(line)
            if not m:
                continue
            text = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", m[2]).lower())
            anchor = text.replace(" ", "-")
            yield anchor if not seen[anchor] else f"{anchor}-{seen[anchor]}"
            seen[anchor] += 1


def documents():
    return [Doc(p) for p in sorted(TOP.rglob("*.md"))
            if not SKIPPED & set(p.relative_to(TOP).parts[:-1])]


def check_links(doc, problems):
    for number, line in doc.prose():
        for target in LINK.findall(CODE_SPAN.sub("", line)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (doc.path.parent / path).resolve() if path else doc.path
            if not file.exists():
                problems.append((doc.name, number, f"the link \"{target}\" leads nowhere"))
            elif anchor and file.suffix == ".md" and anchor not in Doc(file).anchors():
                problems.append((doc.name, number, f"there is no heading for \"#{anchor}\" in {file.name}"))


def braces(text):
    """a{b,c} -> ab, ac."""
    m = re.search(r"\{([^{}]*)\}", text)
    if not m:
        return [text]
    return [t for part in m[1].split(",") for t in braces(text[:m.start()] + part + text[m.end():])]


def is_there(pattern):
    if "*" in pattern:
        return any(TOP.glob(pattern.rstrip("/")))
    return (TOP / pattern).exists()


def check_paths(doc, problems):
    for number, line in enumerate(doc.lines, 1):
        for text in PATH.findall(line):
            for path in braces(text.rstrip(".,")):
                if not is_there(path):
                    problems.append((doc.name, number, f"there is no {path}"))


def source_file(name):
    """A path from the top, or from src/."""
    for path in (TOP / name, TOP / "src" / name):
        if path.is_file():
            return path
    return None


def has_definition(path, name):
    text = path.read_text(encoding="utf-8")
    function = rf"^(?![ \t#/*])[^\n;=()]*\b{name}\([^;]*?\)\s*\{{"  # a prototype has ; before {
    table = rf"^(?![ \t#/*])[^\n;()]*\b{name}(?:\[[^\]]*\])*\s*="
    macro = rf"^\s*#\s*define\s+{name}\b"
    declared = rf"^(?![ \t#/*])[^\n;=()]*\b{name}\(" if path.suffix == ".h" else r"(?!)"
    return any(re.search(p, text, re.M) for p in (function, table, macro, declared))


def check_functions(doc, problems):
    for number, line in enumerate(doc.lines, 1):
        for file, name in FUNCTION.findall(line):
            path = source_file(file)
            if path is None:
                problems.append((doc.name, number, f"there is no file {file}"))
            elif not has_definition(path, name):
                problems.append((doc.name, number, f"{file} does not define {name}"))


def layer_modules():
    for number, line in enumerate((TOP / "src/LAYERS").read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if line:
            yield number, line.split(":")[0].strip()


def check_architecture(doc, problems):
    """A module's row is a table row that begins with its name in backticks."""
    rows = collections.defaultdict(str)
    for _, line in doc.prose():
        m = re.match(r"\|\s*`([a-z]+)/?`", line)
        if m:
            rows[m[1]] += line
    for number, module in layer_modules():
        if module not in rows:
            problems.append(("src/LAYERS", number, f"module '{module}' has no row in {doc.name}"))
            continue
        named = re.findall(r"[\w*]+\.c", rows[module])
        for pattern in named:
            if not any((TOP / "src" / module).glob(pattern)):
                problems.append((doc.name, number, f"names {pattern} in the row of {module}, which has no such file"))
        for file in sorted((TOP / "src" / module).glob("*.c")):
            if not any(fnmatch.fnmatch(file.name, pattern) for pattern in named):
                problems.append((f"src/{module}/{file.name}", 1, f"is not in the row of {module} in {doc.name}"))


def alerts():
    """File, line, name of each alert that is shipped, and its runbook_url (None without one)."""
    for path in sorted((TOP / "deploy/rules").glob("*.yml")):
        found = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if m := ALERT.match(line):
                found.append([path.relative_to(TOP).as_posix(), number, m[1], None])
            elif (m := RUNBOOK_URL.match(line)) and found:
                found[-1][3] = m[1]
        yield from found


def check_runbook(doc, problems):
    sections = {m[2]: number for number, line in doc.prose() if (m := HEADING.match(line)) and len(m[1]) == 3}
    for file, line, name, url in alerts():
        wanted = f"{doc.name}#{name.lower()}"
        if url != wanted:
            problems.append((file, line, f"the runbook_url of {name} is not {wanted}"))
        if sections.pop(name, None) is None:
            problems.append((file, line, f"{doc.name} has no section \"### {name}\""))
    source = GENERATED.read_text(encoding="utf-8") if GENERATED.exists() else ""
    for number, line in enumerate(source.splitlines(), 1):
        for name in GENERATED_ALERT.findall(line):
            if sections.pop(name, None) is None:
                problems.append((GENERATED.name, number, f"{doc.name} has no section \"### {name}\""))
    for name, line in sections.items():
        problems.append((doc.name, line, f"there is no alert {name} in deploy/rules or {GENERATED.name}"))


class Section:
    """What stands under one heading of a README."""

    def __init__(self, line, level):
        self.line, self.level = line, level
        self.languages, self.links = [], []
        self.n_rows = 0
        self.numbers = collections.Counter()


def sections(doc):
    found = [Section(1, 0)]
    for number, line in enumerate(doc.lines, 1):
        here = found[-1]
        if number in doc.languages:
            here.languages.append(doc.languages[number])
        if doc.is_code[number - 1]:
            here.numbers.update(NUMBER.findall(line))
            continue
        m = HEADING.match(line)
        if m:
            here = Section(number, len(m[1]))
            found.append(here)
            line = m[2]
        here.n_rows += line.lstrip().startswith("|")
        here.links += LINK.findall(CODE_SPAN.sub("", line))
        line = LINK.sub(lambda link: link[0].partition("](")[0], line)
        here.numbers.update(NUMBER.findall(line))
    return found


def targets(section):
    """Where a section leads. A picture of the Chinese page is the English one's twin."""
    return {link.replace(".zh-CN.png", ".png") for link in section.links}


def check_readmes(first, second, problems):
    a, b = sections(first), sections(second)
    if [s.level for s in a] != [s.level for s in b]:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x.level != y.level), min(len(a), len(b)))
        line = b[at].line if at < len(b) else len(second.lines)
        other = a[at].line if at < len(a) else len(first.lines)
        problems.append((second.name, line, f"headings differ from those of {first.name}:{other}"))
        return
    for x, y in zip(a, b):
        def differ(what, place=y.line, other=x.line):
            problems.append((second.name, place, f"{what} under this heading differ from {first.name}:{other}"))
        if x.languages != y.languages:
            differ("code blocks")
        if x.n_rows != y.n_rows:
            differ(f"table rows ({y.n_rows}, {x.n_rows})")
        own = {first.name, second.name}
        if targets(x) - own != targets(y) - own:
            differ("links")
        odd = (x.numbers - y.numbers) + (y.numbers - x.numbers)
        if odd:
            differ(f"numbers ({', '.join(sorted(odd))})")


def main():
    problems = []
    docs = documents()
    by_name = {doc.name: doc for doc in docs}
    for doc in docs:
        check_links(doc, problems)
        if doc.name in READMES or doc.name.startswith("docs/"):
            check_paths(doc, problems)
            check_functions(doc, problems)
    for name in (*(p.relative_to(TOP).as_posix() for p in (ARCHITECTURE, RUNBOOK)), *READMES):
        if name not in by_name:
            problems.append((name, 1, "is missing"))
    if RUNBOOK.exists():
        check_runbook(by_name[RUNBOOK.relative_to(TOP).as_posix()], problems)
    if ARCHITECTURE.exists():
        check_architecture(by_name["docs/ARCHITECTURE.md"], problems)
    if all(name in by_name for name in READMES):
        check_readmes(by_name[READMES[0]], by_name[READMES[1]], problems)
    for file, line, text in problems:
        print(f"{file}:{line}: {text}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
