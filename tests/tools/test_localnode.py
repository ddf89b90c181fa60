"""The real node as far as no node is needed: what it asks of the machine, tells its programs, and finds again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from localcluster import components
from localcluster.access import create_tokens, token_table
from localcluster.layout import Layout as ClusterLayout
from localcluster.pki import create_pki
from localcluster.processes import Identity, identify
from localcluster.spec import REAL_NODE, programs_needed
from localnode import cgroups, configuration, kernel, network, node, requirements
from localnode.cli import main
from localnode.daemons import State, read_state
from localnode.errors import NodeError
from localnode.layout import Layout
from tests.e2e import containers

ROOT = Path(__file__).parents[2]


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["up"]) == 1
    assert "needs root" in capsys.readouterr().err


def test_what_is_missing_is_named_with_the_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "containerd" else f"/usr/bin/{name}")
    monkeypatch.setattr(requirements, "PLUGINS", tmp_path)
    reason = requirements.why_not()
    assert reason is not None
    assert reason.startswith("containerd, ")
    assert str(tmp_path / "bridge") in reason
    assert reason.endswith("apt-get install --no-install-recommends " + " ".join(requirements.PACKAGES))


def test_the_packages_of_ci_are_those_that_are_asked_for() -> None:
    listed = [line for line in (ROOT / ".ci" / "packages").read_text().splitlines() if not line.startswith("#")]
    assert listed == sorted({*requirements.PACKAGES, *containers.PACKAGES.split()})


def test_only_the_node_is_told_what_lets_pods_start_without_the_rights_of_a_host(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert "restrict_oom_score_adj = true" in configuration.containerd(layout)
    kubelet = configuration.kubelet(layout, tmp_path / "ca.crt")
    assert (kubelet["failCgroupV1"], kubelet["oomScoreAdj"]) == (False, 0)
    assert json.loads(configuration.pod_network(layout))["plugins"][0]["ipam"]["ranges"] == [
        [{"subnet": network.POD_RANGE}]
    ]
    assert yaml.safe_load(yaml.safe_dump(kubelet)) == kubelet


def test_all_that_it_keeps_lies_in_its_directory(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    told = [
        *configuration.containerd(layout).splitlines(),
        *configuration.kubelet_command(layout, Path("/bin/kubelet"), tmp_path / "kubeconfig")[1:],
    ]
    places = [line.partition("=")[2].strip().strip('"') for line in told if any(key in line for key in _PLACES)]
    assert len(places) == len(_PLACES)
    assert [place for place in places if not place.startswith(str(tmp_path))] == []


_PLACES = ("root = ", "state = ", "address = ", "path = ", "conf_dir = ", "--config=", "--root-dir=", "--cert-dir=")


def test_an_api_server_for_a_real_node_listens_there_and_knows_nodes(tmp_path: Path) -> None:
    server = components.api_server(ClusterLayout(tmp_path), 1, audit=False, address="198.51.100.1")
    arguments = server.arguments([20001])
    assert {"--bind-address=198.51.100.1", "--authorization-mode=Node,RBAC"} <= set(arguments)
    assert "--endpoint-reconciler-type=none" not in arguments
    assert server.health([20001]) == "https://198.51.100.1:20001/readyz"


def test_a_real_node_takes_the_place_of_kwok() -> None:
    assert "kube-scheduler" in programs_needed(kwok=False, real_node=True)
    assert "kwok" not in programs_needed(kwok=False, real_node=True)
    assert "kube-scheduler" not in programs_needed(kwok=False)


def test_the_kubelet_has_the_rights_of_a_node_alone(tmp_path: Path) -> None:
    layout = ClusterLayout(tmp_path)
    layout.create()
    create_tokens(layout)
    [line] = [line for line in token_table(layout).read_text().splitlines() if f"system:node:{REAL_NODE}" in line]
    assert line.endswith(',"system:nodes"')


def test_the_certificates_name_the_address_and_the_client_of_kubelets(tmp_path: Path) -> None:
    files = create_pki(tmp_path, "10.96.0.1", "198.51.100.1")
    serving = x509.load_pem_x509_certificate(files.serving_certificate.read_bytes())
    names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "198.51.100.1" in map(str, names.get_values_for_type(x509.IPAddress))
    client = x509.load_pem_x509_certificate(files.kubelet_client_certificate.read_bytes())
    usage = client.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_what_a_dead_owner_has_left_is_known_as_such(tmp_path: Path) -> None:
    alive = identify(os.getpid())
    assert alive is not None
    dead = Identity(alive.pid, "another time")
    for owner, processes, abandoned in (
        (None, {"kubelet": alive}, False),
        (alive, {"kubelet": alive}, False),
        (dead, {"kubelet": alive}, True),
        (None, {"kubelet": dead}, True),
    ):
        State(owner, processes).write(tmp_path / "state.json")
        state = read_state(tmp_path / "state.json")
        assert state == State(owner, processes)
        assert state.abandoned() is abandoned
    (tmp_path / "state.json").write_text("{")
    assert read_state(tmp_path / "state.json") is None


@pytest.mark.parametrize("act", [cgroups.create, cgroups.remove])
def test_processes_of_another_container_are_left_alone(
    act: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are listed as 0, and a signal to 0 would reach whoever runs `make`."""
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    monkeypatch.setattr(cgroups, "_ROOT", tmp_path)
    (tmp_path / "cgroup.controllers").touch()
    pods = tmp_path / cgroups.NAME / "pods"
    pods.mkdir(parents=True)
    (pods / "cgroup.procs").write_text("4711\n0\n")
    with pytest.raises(NodeError, match="another container"):
        act()
    assert killed == []


def test_the_settings_of_the_kernel_are_as_before_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_ROOT", tmp_path / "sys")
    files = {name: tmp_path / "sys" / name for name in kernel.SETTINGS[:-1]}  # the last: a kernel without it
    for number, file in enumerate(files.values()):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")
    layout = Layout(tmp_path / "node")
    layout.create()
    kernel.note(layout.kernel)
    for file in files.values():
        file.write_text("10\n")
    monkeypatch.setattr(network, "remove", lambda: None)
    monkeypatch.setattr(cgroups, "_ROOT", tmp_path / "cgroup")
    cgroups._ROOT.mkdir()
    monkeypatch.setattr(node, "HIDDEN", ())
    node.end(layout)
    assert [file.read_text().strip() for file in files.values()] == [str(number) for number in range(len(files))]
    kernel.restore(layout.kernel)  # without a note nothing is set


def test_a_setting_that_cannot_be_set_again_is_named_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_ROOT", tmp_path)
    note = tmp_path / "kernel.json"
    note.write_text('{"kernel/panic": "0"}')
    with pytest.raises(NodeError, match="kernel/panic = 0"):
        kernel.restore(note)
    assert note.exists()
