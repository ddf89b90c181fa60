"""Each import contract of pyproject.toml holds, and breaks when one import goes against it."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}
VIOLATIONS = {
    "layers": ("config", "import ansible_operator.app"),
    "kubernetes": ("workqueue", "import kubernetes.client"),
    "ansible": ("telemetry", "import ansible.constants"),
    "ansible-side": ("app", "import ansible_operator.plugins"),
    "pure-model": ("model", "import socket"),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(
        ROOT / "src/ansible_operator",
        tmp_path / "src/ansible_operator",
        ignore=shutil.ignore_patterns("__pycache__", "ansible_collections"),
    )
    return tmp_path


def broken_contracts(project: Path) -> set[str]:
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    text = " ".join(result.stdout.split())  # names are wrapped to the width of the terminal
    assert "Contracts:" in text, result.stdout + result.stderr
    broken = {key for key, name in CONTRACTS.items() if f"{name} BROKEN" in text}
    assert broken or result.returncode == 0, result.stdout
    return broken


def module_in(project: Path, layer: str) -> Path:
    """A module of the layer, be it a package or a single file."""
    package = project / "src/ansible_operator" / layer
    return package / "__init__.py" if package.is_dir() else package.with_suffix(".py")


def test_all_contracts_hold(copy: Path) -> None:
    assert broken_contracts(copy) == set()


def test_each_contract_has_a_violation_here() -> None:
    assert set(VIOLATIONS) == set(CONTRACTS)


@pytest.mark.parametrize("contract", VIOLATIONS)
def test_one_wrong_import_breaks_the_contract_and_no_other(copy: Path, contract: str) -> None:
    layer, statement = VIOLATIONS[contract]
    with module_in(copy, layer).open("a") as module:
        module.write(f"\n{statement}\n")

    assert broken_contracts(copy) == {contract}


def test_the_worker_is_closed_to_the_side_that_starts_it(copy: Path) -> None:
    worker = copy / "src/ansible_operator/runner/worker"
    worker.mkdir(exist_ok=True)
    with (worker / "__init__.py").open("a") as module:
        module.write("\nimport ansible\nimport kubernetes\n")
    assert broken_contracts(copy) == set()

    with module_in(copy, "runner").open("a") as module:
        module.write("\nimport ansible_operator.runner.worker\n")
    assert broken_contracts(copy) == {"ansible-side"}


def test_a_package_outside_the_layers_breaks_them(copy: Path) -> None:
    (copy / "src/ansible_operator/helpers.py").touch()

    assert broken_contracts(copy) == {"layers"}
