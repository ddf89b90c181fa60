"""The pages that people read: their fenced blocks, the commands in them, their headings and links."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md"), *ROOT.glob("tools/*.md")]
)
"""Every page. Headings of CHANGELOG.md and the like are pages, too: their links count."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_HERE_DOCUMENT = re.compile(r"<<-?\s*'?(\w+)'?")
_ENDS = {"&&", "||", "|", ";", "&", "("}
_OURS = re.compile(r"(make|kubectl|ansible-operator|ansible-playbook|python -m) [a-z-]")
_PUNCTUATION = "();<>|&\n"


@dataclass(frozen=True)
class Block:
    """A fenced block. ``line``: of its fence, from 1. ``title``: the file that it shows, or empty."""

    page: Path
    line: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, *languages: str) -> list[Block]:
    """The fenced blocks of a page, all or those of some languages."""
    text = page.read_text()
    found = []
    for match in _FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        title = re.search(r'title="([^"]+)"', rest)
        body = re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 1
        if not languages or language in languages:
            found.append(Block(page, line, language, title[1] if title else "", body))
    return found


def commands(block: Block) -> list[str]:
    """What a reader would type, one entry a command: with a prompt ``$ `` somewhere, only those lines, else all.

    A command goes on over lines that end with a backslash, and to the end of a here-document. Comments are left out.
    """
    lines = block.text.splitlines()
    if any(line.startswith("$ ") for line in lines):
        typed = zip(lines, ["", *lines], strict=False)
        lines = [line.removeprefix("$ ") for line, before in typed if line.startswith("$ ") or before.endswith("\\")]
    return list(_joined(lines))


def answers(block: Block) -> list[str]:
    """What the block shows below each of its commands; empty where it shows nothing, and without a prompt."""
    if not any(line.startswith("$ ") for line in block.text.splitlines()):
        return [""] * len(commands(block))
    shown = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        lines = part.rstrip().splitlines()
        while lines[0].endswith("\\"):
            lines.pop(0)
        shown.append("\n".join(lines[1:]))
    return shown


def _joined(lines: list[str]) -> Iterator[str]:
    rest = iter(lines)
    for line in rest:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole = line
        while whole.endswith("\\"):
            whole += "\n" + next(rest)
        if here := _HERE_DOCUMENT.search(whole):
            for more in rest:
                whole += "\n" + more
                if more.strip() == here[1]:
                    break
        yield re.sub(r"\s{2,}#[^\n]*$", "", whole)


def programs(command: str) -> list[list[str]]:
    """The words of each program that a command starts: without redirections, and without what `NAME=value` sets for
    it. What stands in `$(…)` counts too. A here-document is not looked into."""
    text = _HERE_DOCUMENT.sub("", command.partition("\n")[0] if _HERE_DOCUMENT.search(command) else command)
    text = text.replace("\\\n", " ")
    inner = [program for found in re.findall(r"\$\(([^()]+)\)", text) for program in programs(found)]
    lexer = shlex.shlex(re.sub(r"\$\([^()]+\)", "SUBSTITUTED", text), posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    found: list[list[str]] = [[]]
    words = iter(lexer)
    for word in words:
        if word in _ENDS:
            found.append([])
        elif set(word) <= set("<>&"):
            next(words)
        elif word != ")":
            found[-1].append(word)
    return [program for words_ in found if (program := _without_settings(words_))] + inner


def _without_settings(words: list[str]) -> list[str]:
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    return words


def headings(text: str) -> list[str]:
    """The headings outside of fences, with their `#`."""
    return re.findall(r"^#+ .*$", _FENCE.sub("", text), re.MULTILINE)


def links(text: str) -> list[str]:
    """The targets of Markdown links outside of fences."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text)))


def inline_commands(page: Path) -> list[str]:
    """The commands within sentences and tables: code that begins with a program of ours, or kubectl, and a word.
    An ellipsis stands for what the reader puts in, so such code is no command."""
    found = re.findall(r"`([^`]+)`", _FENCE.sub("", page.read_text()))
    return [code.replace("\\|", "|") for code in found if _OURS.match(code) and "…" not in code]


def anchors(text: str) -> set[str]:
    """What a link into a page may name: its headings as GitHub writes them."""
    return {re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-") for heading in headings(text)}


@cache
def help_of(module: str, *command: str) -> str:
    """What a program of ours prints for ``--help`` on a terminal of 100 columns."""
    done = subprocess.run(
        [sys.executable, "-m", module, *command, "--help"],
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tools'}", "COLUMNS": "100", "PATH": "/usr/bin:/bin"},
        text=True,
        capture_output=True,
        check=True,
    )
    return done.stdout


def sections(text: str) -> list[tuple[str, str]]:
    """Each heading with what stands below it, up to the next heading."""
    parts: list[tuple[str, list[str]]] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        if not fenced and re.match(r"#+ ", line):
            parts.append((line, []))
        elif parts:
            parts[-1][1].append(line)
    return [(heading, "\n".join(lines).strip()) for heading, lines in parts]
