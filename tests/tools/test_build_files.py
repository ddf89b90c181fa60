"""What no tool here runs, read with a few lines: the Dockerfile, the package, the help of make, the scripts."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def arguments(name: str) -> list[str]:
    return [argument for instruction, argument in instructions() if instruction == name]


def copied() -> list[str]:
    """What comes from the work tree, not from another stage."""
    lines = [shlex.split(argument) for argument in arguments("COPY") if not argument.startswith("--from")]
    return sorted({path for line in lines for path in line[:-1] if not path.startswith("--")})


@pytest.mark.parametrize("path", copied())
def test_what_the_image_copies_exists_and_is_sent_to_the_build(path: str) -> None:
    assert (ROOT / path).exists()
    sent = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert any(path == entry or path.startswith(entry + "/") for entry in sent)


def test_the_image_keeps_the_contract_of_the_go_operators_image() -> None:
    assert json.loads(arguments("ENTRYPOINT")[-1]) == [
        "/tini", "--", "/usr/local/bin/ansible-operator", "run", "--watches-file=./watches.yaml"
    ]  # fmt: skip
    assert arguments("USER") == ["1001"]
    assert arguments("WORKDIR")[-1] == "${HOME}"
    assert any("HOME=/opt/ansible" in shlex.split(argument) for argument in arguments("ENV"))


def test_the_image_says_where_roles_and_libraries_lie() -> None:
    [written] = re.findall(r"printf '([^']*)' > /etc/ansible/ansible.cfg", DOCKERFILE.read_text())
    config = configparser.ConfigParser()
    config.read_string(written.replace(r"\n", "\n"))
    assert dict(config["defaults"]) == {"roles_path": "/opt/ansible/roles", "library": "/usr/share/ansible/openshift"}


def test_what_is_installed_is_locked_and_pip_stays_outside() -> None:
    steps = [step for argument in arguments("RUN") for step in argument.split("&&")]
    pip = [step for step in steps if "pip install" in step or "${INSTALL}" in step]
    assert len(pip) == 3
    assert all("--require-hashes" in step or "--no-index" in step for step in pip)
    assert [one for one in arguments("RUN") if "rm -rf ensurepip" in one]
    targets = [argument.split() for argument in arguments("FROM")]
    assert [one[-1] for one in targets] == ["build", "python", "installed", "sbom", "runtime", "operator"]
    assert [one[0] for one in targets] == ["${BASE}", "${BASE}", "python", "installed", "installed", "runtime"]


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    source = {str(path.relative_to(tmp_path / "src")) for path in (tmp_path / "src").rglob("*") if path.is_file()}

    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", tmp_path, tmp_path], check=True, capture_output=True)

    [wheel] = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == source


def test_make_alone_lists_every_target() -> None:
    declared = re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  ([a-z0-9-]+) +\S", shown, re.MULTILINE) == declared


def test_the_shell_scripts_are_well_formed_and_can_be_started() -> None:
    scripts = (
        ".ci/run",
        *(f"tools/{name}.sh" for name in ("venv", "labelled", "record_release")),
        "requirements/lock.sh",
    )
    for script in [ROOT / name for name in scripts]:
        subprocess.run(["bash", "-n", script], check=True)
        assert script.stat().st_mode & 0o111, script


@pytest.mark.parametrize(("command", "status"), [("echo said; echo so >&2", 0), ("echo said; exit 3", 3)])
def test_labelled_output_keeps_the_exit_status(command: str, status: int) -> None:
    done = subprocess.run(
        [ROOT / "tools/labelled.sh", "unit", "bash", "-c", command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[0], done.stderr) == (status, "unit | said", "")
