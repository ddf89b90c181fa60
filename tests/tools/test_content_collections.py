"""The collections installer, with a wheel of a few lines instead of PyPI's and without any network."""

import hashlib
import json
import re
import socket
import subprocess
import zipfile
from pathlib import Path

import pytest

from content_collections import galaxy, pypi
from content_collections.__main__ import ROOT, main
from content_collections.install import Request, install
from content_collections.wanted import CollectionsError, installed_version, read_package_pin, read_wanted

COLLECTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "kubernetes.core": ("6.2.0", {}),
    "community.okd": ("5.0.0", {"kubernetes.core": ">=6.0.0"}),
    "kubernetes.core_extra": ("1.0.0", {}),  # a name that begins like another one
}


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AITASK_TOOLS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "cache/wheels/ansible-9.9.9-py3-none-any.whl"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, (version, dependencies) in COLLECTIONS.items():
            prefix = f"ansible_collections/{name.replace('.', '/')}"
            info = {"collection_info": {"version": version, "dependencies": dependencies}}
            archive.writestr(f"{prefix}/MANIFEST.json", json.dumps(info))
            archive.writestr(f"{prefix}/plugins/modules/thing.py", "")
    return path


@pytest.fixture
def request_for(tmp_path: Path, wheel: Path):
    package = tmp_path / "collections.txt"
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    package.write_text(f"# why\nansible==9.9.9 \\\n    --hash=sha256:{sha256}\n")

    def make(use_galaxy: bool = False, **wanted: str) -> Request:
        lines = [f'  - {{name: {name.replace("__", ".")}, version: "{version}"}}\n' for name, version in wanted.items()]
        requirements = tmp_path / "requirements.yml"
        requirements.write_text("collections:\n" + "".join(lines))
        return Request(requirements, package, tmp_path / "target", use_galaxy)

    return make


def installed(target: Path) -> dict[str, str | None]:
    tree = target / "ansible_collections"
    names = [".".join(path.parent.relative_to(tree).parts) for path in tree.glob("*/*/MANIFEST.json")]
    return {name: installed_version(tree, name) for name in names}


def test_takes_only_the_named_collection_out_of_the_wheel(request_for) -> None:
    request = request_for(kubernetes__core="6.2.0")
    install(request, print)
    assert installed(request.target) == {"kubernetes.core": "6.2.0"}
    assert (request.target / "ansible_collections/kubernetes/core/plugins/modules/thing.py").exists()


def test_brings_what_a_collection_depends_on(request_for) -> None:
    request = request_for(community__okd="5.0.0")
    install(request, print)
    assert installed(request.target) == {"kubernetes.core": "6.2.0", "community.okd": "5.0.0"}


def test_a_second_call_does_nothing(request_for, wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = request_for(kubernetes__core="6.2.0")
    install(request, print)
    wheel.unlink()
    install(request, print)
    assert capsys.readouterr().out.endswith("kubernetes.core 6.2.0 (up to date)\n")


def test_changed_pins_replace_the_tree_and_leave_no_scratch(request_for) -> None:
    install(request_for(community__okd="5.0.0"), print)
    request = request_for(kubernetes__core="6.2.0")
    install(request, print)
    assert installed(request.target) == {"kubernetes.core": "6.2.0"}
    assert {path.name for path in request.target.iterdir()} == {"ansible_collections", ".installed", ".lock"}


def test_a_collection_removed_by_hand_comes_back(request_for) -> None:
    request = request_for(kubernetes__core="6.2.0")
    install(request, print)
    (request.target / "ansible_collections/kubernetes/core/MANIFEST.json").unlink()
    install(request, print)
    assert installed(request.target) == {"kubernetes.core": "6.2.0"}


def test_another_version_than_asked_for_is_refused_and_the_old_tree_stays(request_for) -> None:
    install(request_for(kubernetes__core="6.2.0"), print)
    request = request_for(kubernetes__core="6.9.0")
    with pytest.raises(CollectionsError, match=r"gave kubernetes\.core 6\.2\.0, requirements\.yml asks for 6\.9\.0"):
        install(request, print)
    assert installed(request.target) == {"kubernetes.core": "6.2.0"}


def test_a_collection_that_the_wheel_lacks_is_named(request_for) -> None:
    with pytest.raises(CollectionsError, match=r"no collection community\.none"):
        install(request_for(community__none="1.0.0"), print)


def test_galaxy_is_asked_first(request_for, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(requirements: Path, target: Path) -> None:
        pypi.extract(wheel, ["kubernetes.core"], target)

    monkeypatch.setattr(galaxy, "install_from_galaxy", answer)
    monkeypatch.setattr(pypi, "fetch_wheel", lambda *_: pytest.fail("PyPI was asked too"))
    request = request_for(use_galaxy=True, kubernetes__core="6.2.0")
    install(request, print)
    assert installed(request.target) == {"kubernetes.core": "6.2.0"}


def test_without_galaxy_it_says_so_and_goes_on(
    request_for, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: refused at once
        monkeypatch.setenv("ANSIBLE_GALAXY_SERVER", f"http://127.0.0.1:{unused.getsockname()[1]}")
        request = request_for(use_galaxy=True, kubernetes__core="6.2.0")
        install(request, print)
    assert installed(request.target) == {"kubernetes.core": "6.2.0"}
    assert re.search(r"not from Galaxy \(.*refused.*\); taking the same versions out of PyPI", capsys.readouterr().out)


def test_a_silent_galaxy_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(galaxy, "TOTAL_SECONDS", 1)
    (tmp_path / "requirements.yml").write_text("collections: [{name: kubernetes.core, version: 6.2.0}]\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("ANSIBLE_GALAXY_SERVER", f"http://127.0.0.1:{silent.getsockname()[1]}")
        reason = galaxy.install_from_galaxy(tmp_path / "requirements.yml", tmp_path / "target")
    assert reason == "no answer within 1 s"


def test_a_damaged_wheel_in_the_cache_is_fetched_again(
    request_for, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, commands = wheel.read_bytes(), []
    wheel.write_bytes(good[:-1])

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        Path(command[command.index("--dest") + 1], wheel.name).write_bytes(good)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    request = request_for(kubernetes__core="6.2.0")
    install(request, print)
    assert installed(request.target) == {"kubernetes.core": "6.2.0"}
    assert "--require-hashes" in commands[0]


def test_neither_source_names_the_cure(request_for, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel.unlink()
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution found\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(CollectionsError, match=r"No matching distribution found\nCure: .*" + re.escape(str(wheel))):
        install(request_for(kubernetes__core="6.2.0"), print)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("collections: [{name: kubernetes.core}]", "pin an exact one"),
        ('collections: [{name: kubernetes.core, version: ">=6"}]', "pin an exact one"),
        ("collections: [kubernetes.core]", "pin an exact one"),
        ("collections: [{name: ../x, version: 1.0.0}]", "not the name of a collection"),
        ("- a list", "cannot be read as a requirements file"),
        ("collections: [", "cannot be read as a requirements file"),
    ],
)
def test_bad_requirements_say_what_is_wrong(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "requirements.yml"
    path.write_text(text)
    with pytest.raises(CollectionsError, match=fault):
        read_wanted(path)


def test_the_command_ends_with_one_line_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--requirements", str(tmp_path / "none.yml"), "--into", str(tmp_path / "target")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_the_pins_of_this_repository_can_be_read() -> None:
    assert "kubernetes.core" in read_wanted(ROOT / "requirements.yml")
    assert read_package_pin(ROOT / "requirements/collections.txt").sha256
