"""What the pages tell people to type is there.

Which of them are typed, by a test that runs each of their commands, stands in TYPED; the commands of all other pages
are taken apart here, and their programs, targets, flags and files must exist. kubectl's own flags are looked at by
tests/tools/test_documents_kubectl.py, which has a kubectl.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.documents import (
    PAGES,
    ROOT,
    Block,
    answers,
    blocks,
    commands,
    headings,
    help_of,
    inline_commands,
    programs,
)

TYPED = {
    "docs/getting-started.md": "tests/apiserver/test_demo.py",
    "docs/tutorial.md": "tests/apiserver/test_website_example.py",
    "docs/operations.md## Back up": "tests/apiserver/test_demo.py",
    "docs/backup.md# Backup and restore": "tests/apiserver/test_demo.py",
}
"""Pages, or sections of them, whose commands a test types, one after another, as a reader would
(tests/support/typist.py). All others are only taken apart."""

CONSOLE = [block for page in PAGES for block in blocks(page, "console")]
COMMANDS = [
    *((str(block), words) for block in CONSOLE for command in commands(block) for words in programs(command)),
    *((page.name, words) for page in PAGES for command in inline_commands(page) for words in programs(command)),
]
"""Where, and the words of one program."""

ELSEWHERE = {
    *("apt-get", "base64", "cat", "date", "echo", "export", "git", "go", "grep", "head", "jq", "kill", "sed", "tail"),
    *("buildah", "ctr", "curl", "docker", "helm", "kind", "podman", "kubectl", "oc", "openssl", "opm", "operator-sdk"),
    *(
        "alias",
        "dirname",
        "molecule",
        "pytest",
        "sha256sum",
        "sort",
        "sudo",
        "tee",
        "test",
        "unset",
        "uv",
        "watch",
        "xargs",
    ),
}
"""Programs that are none of ours. kubectl has a test of its own; of the others only the name is known."""

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))
VARIABLES = set(re.findall(r"^([A-Z_]+) *\?=", MAKEFILE, re.MULTILINE)) | set(
    " ".join(re.findall(r"^export (.*)$", MAKEFILE, re.MULTILINE)).split()
)
PLAYBOOK_OPTIONS = {"-e", "--extra-vars", "--check", "--diff", "-v", "-vvv", "--syntax-check", "-i", "--tags"}


def shown(case: object) -> str:
    return str(case) if isinstance(case, Block) else " ".join(case)[:60] if isinstance(case, list) else str(case)


@pytest.mark.parametrize("block", CONSOLE, ids=shown)
def test_a_block_is_good_bash(block: Block) -> None:
    script = "\n".join(commands(block))
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("where", "words"), COMMANDS, ids=shown)
def test_what_a_page_tells_to_type_is_there(where: str, words: list[str]) -> None:
    assert fault(words) is None, where


def fault(words: list[str]) -> str | None:
    """What is wrong with a command; None where all that can be looked up is there."""
    program, arguments = Path(words[0]).name, words[1:]
    if program == "SUBSTITUTED":  # what $(…) prints is looked up as a program of its own
        return None
    if program.startswith("python"):
        return module_fault(arguments)
    checks = {"make": make_fault, "ansible-operator": operator_fault, "ansible-playbook": playbook_fault}
    if program in checks:
        return checks[program](arguments)
    if program in ("bash", "cd"):
        missing = [word for word in arguments if "/" in word and not (ROOT / word).exists() and word[0] not in "/$~"]
        return f"there is no {missing[0]}" if missing else None
    if program not in ELSEWHERE:
        return f"what is {program!r}? Where it is right, name it in ELSEWHERE"
    return None


def make_fault(arguments: list[str]) -> str | None:
    for word in arguments:
        name, setting, value = word.partition("=")
        if setting and name not in VARIABLES:
            return f"the Makefile takes no {name}="
        if not setting and not word.startswith("-") and name not in TARGETS:
            return f"there is no target {name!r}"
        if name == "OVERLAY" and "NAME" not in value and not (ROOT / value).is_dir():
            return f"there is no {value}"
    return None


def operator_fault(arguments: list[str]) -> str | None:
    command = arguments[0] if arguments else ""
    if command not in ("run", "replay", "version"):
        return f"ansible-operator has no command {command!r}"
    return unknown_flag(arguments[1:], help_of("ansible_operator", command))


def module_fault(arguments: list[str]) -> str | None:
    if arguments[:1] != ["-m"]:
        return None
    if arguments[1] not in ("localcluster", "demo", "imagebuild", "content_collections"):
        return None if (ROOT / arguments[1].replace(".", "/")).with_suffix(".py").exists() else "no such module"
    page = help_of(arguments[1])
    if "COMMAND" in page.splitlines()[0] and arguments[2] != "--help":
        if not re.search(rf"^    {re.escape(arguments[2])}\b", page, re.MULTILINE):
            return f"{arguments[1]} has no command {arguments[2]!r}"
        page = help_of(arguments[1], arguments[2])
    return unknown_flag(arguments[2:], page)


def playbook_fault(arguments: list[str]) -> str | None:
    playbook = ROOT / arguments[0]
    if not playbook.exists():
        return f"there is no {arguments[0]}"
    for option, value in zip(arguments[1:], [*arguments[2:], ""], strict=True):
        name = value.partition("=")[0]
        if option.startswith("-") and option not in PLAYBOOK_OPTIONS:
            return f"is {option} an option of ansible-playbook? Then name it in PLAYBOOK_OPTIONS"
        if option == "-e" and not re.search(rf"\b{re.escape(name)}\b", playbook.read_text()):
            return f"{arguments[0]} knows no {name}"
    return None


def unknown_flag(arguments: list[str], page: str) -> str | None:
    flags = [word.partition("=")[0] for word in arguments if re.match(r"--\w", word)]
    unknown = [flag for flag in flags if not re.search(rf"(^|[\s,\[]){re.escape(flag)}\b(?!-)", page)]
    return f"there is no flag {unknown[0]}" if unknown else None


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["make", "dema"], "there is no target 'dema'"),
        (["make", "deploy", "PICTURE=x"], "the Makefile takes no PICTURE="),
        (["make", "deploy", "OVERLAY=config/overlays/none"], "there is no config/overlays/none"),
        (["ansible-operator", "start"], "ansible-operator has no command 'start'"),
        (["ansible-operator", "run", "--watch-file=x"], "there is no flag --watch-file"),
        (["python", "-m", "localcluster", "stop"], "localcluster has no command 'stop'"),
        (["python", "-m", "localcluster", "up", "--director", "x"], "there is no flag --director"),
        (["python3", "-m", "demo", "--kept"], "there is no flag --kept"),
        (["ansible-playbook", "playbooks/none.yml"], "there is no playbooks/none.yml"),
        (["ansible-playbook", "playbooks/backup.yml", "-e", "aitask_archiv=x"], "knows no aitask_archiv"),
        (["ansible-playbook", "playbooks/backup.yml", "--chek"], "is --chek an option"),
        (["bash", ".ci/walk"], "there is no .ci/walk"),
        (["kubctl", "get", "at"], "what is 'kubctl'?"),
    ],
    ids=shown,
)
def test_what_is_not_there_is_noticed(words: list[str], complaint: str) -> None:
    assert complaint in (fault(words) or "")


def test_what_is_typed_is_named_by_the_test_that_types_it() -> None:
    for what, test in TYPED.items():
        page, mark, section = re.fullmatch(r"([^#]+)(#*)(.*)", what).groups()  # type: ignore[union-attr]
        text = (ROOT / test).read_text()
        assert f'"{page}"' in text
        assert f'"{mark}{section}"' in text or not section
        assert f"{mark}{section}" in headings((ROOT / page).read_text()) or not section


def test_commands_are_read_as_a_reader_would(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ A=1 make x   # why\nanswer\n"
        "$ kubectl get $(python -m localcluster up) \\\n  | grep '#y' > z\n```\n"
        "```console\n# no prompt\ncat <<'EOF' && make y\ntext\nEOF\nmake z\n```\n"
    )
    first, second = blocks(page)
    assert [programs(command) for command in commands(first)] == [
        [["make", "x"]],
        [["kubectl", "get", "SUBSTITUTED"], ["grep", "#y"], ["python", "-m", "localcluster", "up"]],
    ]
    assert [answers(first), answers(second)] == [["answer", ""], ["", ""]]
    assert [programs(command) for command in commands(second)] == [[["cat"], ["make", "y"]], [["make", "z"]]]
