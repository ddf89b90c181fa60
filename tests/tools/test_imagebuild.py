"""The image builder, with programs of a few lines in place of engines, and archives and packages made by hand."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from imagebuild import base, cli, engines, sbom
from imagebuild.archive import read_image, report, write_plain
from imagebuild.audit import Outcome, audit, judged
from imagebuild.engines import Build, build_command, find_engine
from imagebuild.errors import ImageError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty PATH for programs of the test."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    for name in ("PIP_INDEX_URL", "PIP_CERT", "SOURCE_DATE_EPOCH", "DEBIAN_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    return directory


def program(directory: Path, name: str, script: str = "exit 0") -> None:
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


# --- engines ---


def test_the_first_engine_that_answers_builds(programs: Path) -> None:
    program(programs, "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    program(programs, "podman")
    program(programs, "buildah")
    assert find_engine() == "podman"
    assert find_engine("buildah") == "buildah"


def test_without_an_engine_each_says_why_and_what_to_do(programs: Path) -> None:
    program(programs, "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    with pytest.raises(ImageError) as fault:
        find_engine()
    assert "docker: Cannot connect to the Docker daemon; podman: not found; buildah: not found" in str(fault.value)
    assert "make image-rootfs" in str(fault.value)
    with pytest.raises(ImageError, match=r"kaniko: not one of docker, podman, buildah"):
        find_engine("kaniko")


def test_docker_is_given_what_it_knows(programs: Path) -> None:
    command = build_command("docker", Build(Path("/src"), "x:1", fresh=True))
    assert command[:2] == ["docker", "build"]
    assert "--timestamp" not in command
    assert "--no-cache" in command
    assert command[-1] == "/src"


def test_buildah_sets_every_time_and_takes_the_base(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12345")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example.com/simple")
    command = " ".join(build_command("buildah", Build(Path("/src"), "x:1", "runtime", "localhost/base:1")))
    for part in (
        "--target runtime", "--tag x:1", "--timestamp 12345", "--build-arg SOURCE_DATE_EPOCH=12345",
        "--build-arg BASE=localhost/base:1", "--build-arg PIP_INDEX_URL=https://index.example.com/simple",
    ):  # fmt: skip
        assert part in command
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(ImageError, match="SOURCE_DATE_EPOCH='yesterday'"):
        build_command("buildah", Build(Path("/src"), "x:1"))


def test_certificates_go_to_the_build_as_a_secret(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.pem").touch()
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "ca.pem"))
    assert f"id=ca,src={tmp_path / 'ca.pem'}" in build_command("podman", Build(Path("/src"), "x:1"))
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "none.pem"))
    assert "--secret" not in build_command("podman", Build(Path("/src"), "x:1"))


def test_a_build_that_fails_is_told(programs: Path) -> None:
    program(programs, "podman", "exit 7")
    with pytest.raises(ImageError, match=r"podman could not build x:1 \(exit status 7\)"):
        engines.build("podman", Build(Path("/src"), "x:1"))


# --- the base ---


def test_missing_programs_are_named_with_their_packages(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(programs, "buildah")
    assert cli.main(["rootfs", "--tag", "x:1"]) == 1
    said = capsys.readouterr().err
    assert (
        "mmdebstrap not found; on Debian and Ubuntu: apt-get install --no-install-recommends mmdebstrap buildah" in said
    )


def test_the_packages_of_the_base_are_fetched_once(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AITASK_TOOLS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    program(
        programs,
        "mmdebstrap",
        'echo "mmdebstrap $SOURCE_DATE_EPOCH" >>"$CALLS"; for last; do :; done; echo tar >"$last"',
    )
    program(
        programs,
        "buildah",
        'for last; do :; done; read -r line <"$last/base.tar"; echo "buildah $line$SOURCE_DATE_EPOCH" >>"$CALLS"',
    )
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")  # newer buildahs refuse it beside --timestamp
    assert base.make_base() == base.TAG
    base.make_base()
    assert (tmp_path / "calls").read_text().splitlines() == ["mmdebstrap 1767225600", "buildah tar", "buildah tar"]
    base.make_base(fresh=True)
    assert (tmp_path / "calls").read_text().splitlines()[3:] == ["mmdebstrap 1767225600", "buildah tar"]


def test_a_base_that_could_not_be_fetched_is_not_kept(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AITASK_TOOLS_CACHE", str(tmp_path / "cache"))
    program(programs, "mmdebstrap", 'for last; do :; done; echo half >"$last"; exit 1')
    with pytest.raises(ImageError, match="mmdebstrap ended with status 1"):
        base.make_base()
    assert list((tmp_path / "cache").rglob("*.tar")) == []


# --- archives ---


def blob(archive: tarfile.TarFile, content: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    add(archive, f"blobs/sha256/{digest}", content)
    return {"digest": f"sha256:{digest}", "size": len(content)}


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def as_json(content: Any) -> bytes:
    return json.dumps(content).encode()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two layers and an instruction that made none."""
    history = [
        {"created_by": "/bin/sh -c #(nop) ADD file:abc in / "},
        {"created_by": "/bin/sh -c #(nop) USER 1001", "empty_layer": True},
        {"created_by": "|1 A=b /bin/sh -c apt-get update \t&& true"},
    ]
    path = tmp_path / "image.tar"
    with tarfile.open(path, "w") as written:
        first = blob(written, gzip.compress(b"a" * 3_000_000) + gzip.compress(b"b" * 1_000_000))
        second = blob(written, b"c" * 500_000)
        layers = [
            {**first, "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"},
            {**second, "mediaType": "application/vnd.oci.image.layer.v1.tar"},
        ]
        config = blob(written, as_json({"history": history}))
        manifest = blob(written, as_json({"config": config, "layers": layers}))
        add(written, "index.json", as_json({"manifests": [manifest]}))
    return path


def test_layers_are_told_with_what_made_them(archive: Path) -> None:
    image = read_image(archive)
    assert [(one.made_by, one.size) for one in image.layers] == [
        ("ADD file:abc in /", 4_000_000),
        ("apt-get update && true", 500_000),
    ]
    assert image.size == 4_500_000
    lines = report(image).splitlines()
    assert lines[1].endswith("ADD file:abc in /")
    assert lines[-2].split()[0] == "4.5"
    assert lines[-1] == f"digest  {image.digest}"


def test_the_names_that_images_had_in_the_store_are_not_written(tmp_path: Path) -> None:
    digests = []
    for name, comment in (("a", "FROM 33cf92645be8"), ("b", "FROM localhost/x:1")):
        history = [{"created_by": "COPY a", "comment": comment}]
        write_plain(archive_of(tmp_path / f"{name}.tar", history), tmp_path / f"plain-{name}.tar")
        image = read_image(tmp_path / f"plain-{name}.tar")
        assert [(one.made_by, one.size) for one in image.layers] == [("COPY a", 500_000)]
        digests.append(image.digest)
    assert digests[0] == digests[1]
    assert read_image(tmp_path / "a.tar").digest != read_image(tmp_path / "b.tar").digest


def archive_of(path: Path, history: list[dict[str, str]]) -> Path:
    """One layer, with this history."""
    with tarfile.open(path, "w") as written:
        layer = {**blob(written, b"c" * 500_000), "mediaType": "application/vnd.oci.image.layer.v1.tar"}
        config = blob(written, as_json({"history": history}))
        notes = {"org.opencontainers.image.base.name": history[0]["comment"], "kept": "yes"}
        manifest = blob(written, as_json({"config": config, "layers": [layer], "annotations": notes}))
        add(written, "index.json", as_json({"manifests": [manifest]}))
        add(written, "oci-layout", as_json({"imageLayoutVersion": "1.0.0"}))
    return path


@pytest.mark.parametrize("content", [b"", b"no tar", b"\0" * 10240])
def test_what_is_no_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(ImageError, match=r"x\.tar is no OCI archive of one image"):
        read_image(tmp_path / "x.tar")


# --- the bill of materials ---

STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9
Description: text
 Version: not this

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


def test_the_bill_lists_packages_distributions_and_collections(tmp_path: Path) -> None:
    (tmp_path / "status").write_text(STATUS)
    info = tmp_path / "site" / "Py_Thing-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: Py_Thing\nVersion: 1.0\nLicense-Expression: MIT\n")
    manifest = tmp_path / "tree" / "a" / "b" / "MANIFEST.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"collection_info": {"namespace": "a", "name": "b", "version": "2.0.0"}}))
    found = [
        *sbom.distributions([str(tmp_path / "site")]),
        *sbom.debian_packages(tmp_path / "status"),
        *sbom.collections(tmp_path / "tree"),
    ]
    listed = sbom.bill(found)
    assert [one["purl"] for one in listed["components"]] == [
        "pkg:deb/debian/libc6@2.36-9?arch=amd64",
        "pkg:generic/ansible-collection/a.b@2.0.0",
        "pkg:pypi/py-thing@1.0",
    ]
    assert listed["components"][2]["licenses"] == [{"expression": "MIT"}]
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.5")
    assert sbom.bill(list(reversed(found))) == listed
    assert sbom.bill(found[:1])["serialNumber"] != listed["serialNumber"]


def test_the_bill_is_written_with_nothing_but_python(tmp_path: Path) -> None:
    """As in the image: the file alone, no package around it."""
    command = [sys.executable, "-I", str(ROOT / "tools/imagebuild/sbom.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["bomFormat"] == "CycloneDX"


# --- the audit ---


def told(*dependencies: dict[str, Any]) -> Outcome:
    return judged(lambda: (json.dumps({"dependencies": list(dependencies)}), ""))


FINE = {"name": "a", "version": "1", "vulns": []}
UNKNOWN = {"name": "b", "skip_reason": "Dependency not found on PyPI: b (1)"}
BAD = {"name": "c", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}, {"id": "PYSEC-2"}]}


def test_a_vulnerability_is_told_with_its_cure() -> None:
    outcome = told(FINE, BAD)
    assert outcome.vulnerabilities == ("c 1: PYSEC-1, mended in 1.1", "c 1: PYSEC-2, mended in no version yet")
    assert str(told(FINE)) == "pip-audit: 0 known vulnerabilities in 1 packages"


def test_a_service_that_knows_nothing_has_looked_nothing_up() -> None:
    """pip-audit exits 0 then, and finds no vulnerability."""
    assert str(told(UNKNOWN, UNKNOWN)).startswith("pip-audit: skipped: no advisory service knows any of 2 packages")
    assert str(told(FINE, UNKNOWN)).splitlines()[1:] == ["not looked up: Dependency not found on PyPI: b (1)"]


@pytest.mark.parametrize("report", ["", "Traceback", "[]", "{}"])
def test_without_a_report_it_is_skipped_with_the_reason(report: str) -> None:
    outcome = judged(lambda: (report, "trace\nConnectionError: api.example.com\n"))
    assert str(outcome) == "pip-audit: skipped: ConnectionError: api.example.com"


def test_pip_audit_that_cannot_be_had_is_a_skip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_index(directory: Path, **_options: bool) -> None:
        (directory / "bin").mkdir(parents=True)
        program(directory / "bin", "pip", "echo 'ERROR: No matching distribution found' >&2; exit 1")

    monkeypatch.setenv("AITASK_TOOLS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("imagebuild.audit.venv.create", without_index)
    (tmp_path / "lock.txt").touch()
    outcome = audit(tmp_path / "requirements.txt", tmp_path / "lock.txt")
    assert outcome.skipped == "pip-audit could not be installed (ERROR: No matching distribution found)"
