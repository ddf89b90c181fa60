"""Which programs are taken, from raw lists of what a machine has, and from folders as setup-envtest leaves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localcluster.binaries import Candidate, candidates, choose
from localcluster.build import platform_name
from localcluster.pins import CLUSTER, PINS, go_version, kubernetes_version, parse_version, required_version

PINNED = (1, 37, 2)


def have(name: str, version: str, folder: str = "assets") -> Candidate:
    return Candidate(name, Path("/") / folder / name, parse_version(version), folder)


def chosen(*candidates: Candidate) -> dict[str, str]:
    return {name: str(candidate.path) for name, candidate in choose(candidates, PINNED).found.items()}


def test_nothing_found_means_everything_is_built() -> None:
    choice = choose([], PINNED)
    assert (choice.found, choice.notes) == ({}, [])


def test_assets_of_the_pinned_minor_are_taken() -> None:
    found = chosen(have("etcd", "3.6.1"), have("kube-apiserver", "1.37.0"), have("kubectl", "1.37.0"))
    assert found == {"etcd": "/assets/etcd", "kube-apiserver": "/assets/kube-apiserver", "kubectl": "/assets/kubectl"}


def test_the_first_folder_wins() -> None:
    found = chosen(have("kube-apiserver", "1.37.0", "first"), have("kube-apiserver", "1.37.5", "second"))
    assert found == {"kube-apiserver": "/first/kube-apiserver"}


def test_an_older_api_server_is_not_taken_because_the_pinned_controller_manager_would_be_newer() -> None:
    choice = choose([have("kube-apiserver", "1.36.4"), have("etcd", "3.6.1")], PINNED)
    assert set(choice.found) == {"etcd"}
    assert choice.notes == [
        "not used: kube-apiserver 1.36.4 of assets: the pinned kube-controller-manager 1.37.2 is newer"
    ]


def test_an_api_server_one_minor_ahead_is_taken() -> None:
    assert chosen(have("kube-apiserver", "1.38.0")) == {"kube-apiserver": "/assets/kube-apiserver"}


def test_an_api_server_two_minors_ahead_is_not_taken() -> None:
    choice = choose([have("kube-apiserver", "1.39.0")], PINNED)
    assert not choice.found
    assert "more than one minor older" in choice.notes[0]


def test_an_older_api_server_is_taken_with_its_own_controller_manager_and_scheduler() -> None:
    folder = [have(name, "1.34.1") for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")]
    assert set(chosen(*folder)) == {"kube-apiserver", "kube-controller-manager", "kube-scheduler"}


def test_a_controller_manager_of_another_folder_does_not_count() -> None:
    folder = [have("kube-apiserver", "1.34.1"), have("kube-controller-manager", "1.34.1", "elsewhere")]
    assert chosen(*folder) == {}


def test_an_api_server_without_selectable_fields_is_not_taken_whatever_comes_with_it() -> None:
    folder = [have(name, "1.31.0") for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")]
    choice = choose(folder, PINNED)
    assert not choice.found
    assert "selectableFields" in choice.notes[0]


@pytest.mark.parametrize(("version", "taken"), [("1.35.9", False), ("1.36.0", True), ("1.38.0", True), ("", False)])
def test_kubectl_must_be_within_one_minor_of_the_api_server(version: str, taken: bool) -> None:
    assert ("kubectl" in chosen(have("kubectl", version, "PATH"))) is taken


def test_an_old_etcd_is_not_taken() -> None:
    assert chosen(have("etcd", "3.4.9")) == {}


def program(folder: Path, name: str, answer: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)


def test_assets_come_before_the_store_and_the_store_newest_first(tmp_path: Path) -> None:
    system = platform_name().replace("/", "-")
    store = tmp_path / "data" / "kubebuilder-envtest" / "k8s"
    program(tmp_path / "assets", "kube-apiserver", "Kubernetes v1.37.1")
    for version in ("1.9.1", "1.34.0", "1.37.0"):
        program(store / f"{version}-{system}", "kube-apiserver", f"Kubernetes v{version}")
    program(store / "1.38.0-plan9-mips", "kube-apiserver", "Kubernetes v1.38.0")
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path / "assets"), "XDG_DATA_HOME": str(tmp_path / "data")}
    found = candidates(["kube-apiserver", "etcd"], environment)
    assert [candidate.version for candidate in found] == [(1, 37, 1), (1, 37, 0), (1, 34, 0), (1, 9, 1)]


def test_a_program_that_cannot_run_has_no_version(tmp_path: Path) -> None:
    program(tmp_path, "etcd", "no digits here")
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path), "HOME": str(tmp_path)}
    assert [candidate.version for candidate in candidates(["etcd"], environment)] == [()]


def test_all_kubernetes_programs_have_one_version_and_the_staging_modules_match_it() -> None:
    version = kubernetes_version()
    text = (PINS["kubectl"].directory / "go.mod").read_text()
    replaced = {line.split()[-1] for line in text.splitlines() if " => " in line}
    assert replaced == {version.replace("v1.", "v0.", 1)}
    assert {pin.version for pin in PINS.values() if pin.folder == "kube"} == {version}
    assert f"gitVersion={version}" in PINS["kubectl"].ldflags


def test_every_pin_is_a_tool_of_its_module() -> None:
    for pin in PINS.values():
        lines = (pin.directory / "go.mod").read_text().splitlines()
        assert {pin.package, f"tool {pin.package}"} & {line.strip() for line in lines}, pin.name


def test_what_is_no_part_of_a_cluster_is_built_for_those_alone_who_ask_for_it() -> None:
    packaging = {"helm", "opm", "operator-verify", "olm", "catalog", "cpb"}
    assert set(PINS) - set(CLUSTER) == packaging | {"kubelet", "kube-proxy", "kind"}
    assert PINS["helm"].ldflags.endswith(f"/internal/version.version={PINS['helm'].version}")


def test_build_tags_are_flags_and_part_of_the_digest() -> None:
    opm = PINS["opm"]
    assert f"-tags={','.join(opm.tags)}" in opm.flags
    assert "containers_image_openpgp" in opm.tags
    assert opm.digest("linux/amd64") != replace(opm, tags=()).digest("linux/amd64")
    assert not any(flag.startswith("-tags") for flag in PINS["etcd"].flags)


def test_the_digest_changes_with_the_platform() -> None:
    assert PINS["etcd"].digest("linux/amd64") != PINS["etcd"].digest("linux/arm64")


def test_a_version_is_read_from_block_and_line_requirements() -> None:
    assert required_version("require (\n\tb.io/a v1.0.0\n\ta.io/b v1.2.3 // indirect\n)\n", "a.io/b") == "v1.2.3"
    assert required_version("require a.io/b v1.2.3\n", "a.io/b") == "v1.2.3"
    with pytest.raises(LookupError):
        required_version("require a.io/bc v1.2.3\n", "a.io/b")
    assert go_version() >= (1, 26)
