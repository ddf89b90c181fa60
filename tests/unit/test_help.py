"""``--help`` of each program, which is its manual: what it does, examples, exit status, and all of it true."""

from __future__ import annotations

import re

import pytest

from tests.support.documents import ROOT, help_of, programs
from tests.unit.test_documents import fault

PROGRAMS = ("ansible_operator", "localcluster", "demo", "imagebuild", "content_collections")
SUBCOMMANDS = [
    *(("ansible_operator", name) for name in ("run", "replay", "version")),
    *(("localcluster", name) for name in ("up", "down", "status", "build", "kubectl-path", "sa-kubeconfig")),
    *(("imagebuild", name) for name in ("engine", "rootfs", "report", "audit")),
]


@pytest.mark.parametrize("module", PROGRAMS)
def test_a_program_says_what_it_does_with_examples_and_its_exit_status(module: str) -> None:
    page = help_of(module)
    assert page.startswith("usage: ")
    assert [line for line in page.splitlines() if len(line) > 100] == []
    assert re.search(r"^exit status:\n  0 ", page, re.MULTILINE)
    examples = re.findall(
        r"^  (\S.*?)(?:  .*)?$", page.partition("\nexamples:\n")[2].partition("\n\n")[0], re.MULTILINE
    )
    assert len(examples) > 1
    assert [said for example in examples for words in programs(example) if (said := fault(words))] == []


@pytest.mark.parametrize(("module", "command"), SUBCOMMANDS)
def test_each_command_is_listed_and_describes_itself(module: str, command: str) -> None:
    assert re.search(rf"^    {command}\b", help_of(module), re.MULTILINE)
    assert len(help_of(module, command).split("\n\n")) > 2, "usage, a sentence, options"


def test_the_variables_of_run_are_those_that_the_code_reads() -> None:
    listed = re.findall(
        r"\b[A-Z]+_[A-Z_]+[A-Z](?=[\s,_])", help_of("ansible_operator", "run").partition("environment:")[2]
    )
    code = "".join(file.read_text() for file in (ROOT / "src/ansible_operator").rglob("*.py") if file.name != "cli.py")
    assert len(listed) > 8
    assert [name for name in listed if name not in code and not name.startswith("SHOP_")] == []
