"""What the pages say of other files: links, quotations, the diagram, and messages, each as it is there."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from reference.fields import rows
from tests.support.documents import PAGES, ROOT, Block, anchors, blocks, links

KUBELETS_WORDS = {"ErrImagePull", "ImagePullBackOff"}
QUOTES = [block for page in PAGES for block in blocks(page) if block.title]


def version_of(plural: str) -> dict[str, Any]:
    """The one version of a kind in its CRD."""
    crd = yaml.safe_load((ROOT / f"config/crd/bases/aiops.example.com_{plural}.yaml").read_text())
    [version] = crd["spec"]["versions"]
    return dict(version)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page.read_text()):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{page.name}: {link}"


@pytest.mark.parametrize("block", QUOTES, ids=str)
def test_what_a_page_shows_of_a_file_is_in_the_file(block: Block) -> None:
    """Whole lines in one piece; how far they are indented in the file does not count."""
    file = (ROOT / "examples/website" if block.page.name == "tutorial.md" else ROOT) / block.title
    assert textwrap.dedent(block.text) in pieces(file.read_text(), block.text)


def test_the_diagram_of_the_architecture_names_what_there_is() -> None:
    [diagram] = [block.text for block in blocks(ROOT / "docs/architecture.md") if "API server" in block.text]
    named = re.findall(r"[a-z_]+(?:/[a-z_]*)?(?:\.py)|[a-z_]+/[a-z_]+/", diagram)
    assert len(named) > 8
    assert [name for name in named if not (ROOT / "src/ansible_operator" / name).exists()] == []


YAML = [block for page in PAGES for block in blocks(page, "yaml") if not block.title]


@pytest.mark.parametrize("block", YAML, ids=str)
def test_a_block_of_yaml_is_good_and_its_task_has_fields_that_there_are(block: Block) -> None:
    for document in yaml.safe_load_all(block.text):
        spec = document.get("spec", {}) if isinstance(document, dict) else {}
        if "targetDeployment" in spec:
            assert fields(spec) - KNOWN == set()


KNOWN = {
    re.sub(r"\[\]", "", row.path)
    for row in rows(version_of("aitasks")["schema"]["openAPIV3Schema"]["properties"]["spec"])
}


def fields(spec: dict[str, Any], path: str = "") -> set[str]:
    """The paths of the fields, as in docs/reference.md; what a pod template holds is the API server's to judge."""
    found = set()
    for name, value in spec.items():
        found.add(path + name)
        if isinstance(value, dict) and path + name != "template":
            found |= fields(value, f"{path}{name}.")
    return found


def test_a_field_that_there_is_not_is_noticed() -> None:
    spec = {"targetDeployment": "web", "scale": {"stepp": 1}, "template": {"spec": {"anything": 1}}}
    assert fields(spec) - KNOWN == {"scale.stepp"}


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_readme_shows_the_columns_that_a_list_of_tasks_has(page: str) -> None:
    columns = version_of("aitasks")["additionalPrinterColumns"]
    shown = [column["name"].upper() for column in columns if not column.get("priority")]
    header = next(line for line in (ROOT / page).read_text().splitlines() if line.startswith("NAME "))
    assert header.split() == ["NAME", *shown]


def test_the_symptoms_that_operations_quotes_are_what_the_code_says() -> None:
    """Each word or message in code of the first column, but for names of commands, fields, flags and annotations."""
    table = (ROOT / "docs/operations.md").read_text().partition("## Troubleshoot")[2]
    symptoms = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    quoted = {code for cell in symptoms for code in re.findall(r"`([^`]+)`", cell) if not code.startswith("make ")}
    code = "\n".join(
        file.read_text()
        for place in ("src", "roles", "config")
        for file in (ROOT / place).rglob("*")
        if file.suffix in (".py", ".yml", ".yaml")
    )
    unknown = {text for text in quoted if text not in code} - KUBELETS_WORDS
    assert len(quoted) > 15
    assert unknown == set()


def pieces(text: str, wanted: str) -> list[str]:
    """The runs of lines of a text that are as long as the wanted one, unindented."""
    lines, length = text.splitlines(keepends=True), len(wanted.splitlines())
    return [textwrap.dedent("".join(lines[at : at + length])) for at in range(len(lines) - length + 1)]
