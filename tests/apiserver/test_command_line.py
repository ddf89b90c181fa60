"""What goes wrong before anything runs: one clear message, exit status 1, no traceback (contract 4.1, 4.2)."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_operator.kube.connection import connect
from ansible_operator.model.errors import StartError
from ansible_operator.proxy.certificates import make_certificates
from localcluster import Cluster
from tests.support.api import Api, Refused, succeeded
from tests.support.kinds import CRD, GROUP, SERVICE_ACCOUNT, THING, Kind, definition
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

ABSENT = Kind(f"{GROUP}/v1", "Absent", "absents")
LATE = Kind(f"{GROUP}/v1", "Late", "lates")


@pytest.fixture
def project(project: Project) -> Project:
    project.watches({**THING.watch, "role": "nothing", "markUnsafe": True})
    project.role("nothing", "- ansible.builtin.meta: noop")
    return project


def refusal(operator: OperatorProcess, seconds: float = 90) -> str:
    """What an operator that cannot start says: its one message, which may have several lines."""
    assert operator.wait_exit(seconds) == 1, operator.stderr
    text = "\n".join(line for line in operator.stderr.splitlines() if not line.startswith("{"))
    assert text.startswith("ansible-operator: ") and text.count("ansible-operator: ") == 1, operator.stderr
    assert "Traceback" not in operator.stderr
    return text.removeprefix("ansible-operator: ")


def kubeconfig(original: Cluster, path: Path, cluster: dict[str, Any], user: dict[str, Any] | None = None) -> Path:
    """The cluster's, with changes to its cluster and user entries."""
    config = yaml.safe_load(original.kubeconfig.read_text())
    config["clusters"][0]["cluster"].update(cluster)
    config["users"][0]["user"].update(user or {})
    path.write_text(yaml.safe_dump(config))
    return path


def test_a_missing_watches_file_is_named_with_the_flag_that_names_another(project: Project, start: Start) -> None:
    operator = start("--watches-file=nowhere.yaml", ready=False)
    text = refusal(operator)
    assert "nowhere.yaml" in text and "No such file" in text and "--watches-file" in text


def test_all_faults_of_a_watches_file_come_in_one_message_with_their_lines(project: Project, start: Start) -> None:
    project.watches_file.write_text(
        "- group: test.example.com\n"
        "  kind: Thing\n"  # no version
        "  role: nowhere\n"
        "- version: v1\n"
        "  kind: Other\n"
        "  role: nothing\n"
        "  reconcilePeriod: 1d\n"
        '  manageStatus: "true"\n'
        "  finalizer: {vars: {a: 1}}\n"
    )
    header, *faults = refusal(start(ready=False)).splitlines()
    assert "watches.yaml: 5 faults" in header
    lines = [fault.split(":")[0].strip() for fault in faults]
    assert lines == ["line 1", "line 3", "line 7", "line 8", "line 9"]
    for fault, words in zip(
        faults,
        (["[0].version"], ["nowhere", "roles/nowhere"], ["1d", "1h30m"], ["true or false"], ["finalizer.name"]),
        strict=True,
    ):
        assert all(word in fault for word in words), fault


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Where connections are refused: it is bound, so that nobody else can listen there, and does not listen."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield int(closed.getsockname()[1])


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield int(taken.getsockname()[1])


def test_a_port_in_use_is_named_with_the_flag_that_chooses_another(project: Project, start: Start) -> None:
    with taken_port() as port:
        operators = {
            "--proxy-port": start(f"--proxy-port={port}", ready=False),
            **{
                flag: start(f"{flag}=127.0.0.1:{port}", ready=False)
                for flag in (
                    *("--metrics-bind-address", "--health-probe-bind-address"),
                    "--user-metrics-bind-address",
                )
            },
        }
        for flag, operator in operators.items():
            text = refusal(operator)
            assert f":{port}" in text and "in use" in text and flag in text
            assert len(text.splitlines()) == 1


def test_two_names_of_one_flag_and_an_unknown_flag_are_refused(project: Project, start: Start) -> None:
    both = start("--leader-elect", "--enable-leader-election", ready=False)
    text = refusal(both)
    assert "--leader-elect" in text and "--enable-leader-election" in text
    unknown = start("--no-such-flag=1", ready=False)
    assert unknown.wait_exit() in (1, 2)
    assert "--no-such-flag" in unknown.stderr and "Traceback" not in unknown.stderr


def test_leader_election_without_a_name_or_a_namespace_is_refused(project: Project, start: Start) -> None:
    nameless = start("--leader-elect", ready=False)
    homeless = start("--leader-elect", "--leader-election-id=x", ready=False)
    assert "--leader-election-id" in refusal(nameless)
    assert "--leader-election-namespace" in refusal(homeless)


def test_a_work_directory_that_cannot_be_written_is_named(project: Project, start: Start) -> None:
    text = refusal(start("--work-dir=/proc/here", ready=False))
    assert "/proc/here" in text and "--work-dir" in text


BROKEN = {
    "binary": b"\x00\xff\x13\x37",
    "words": b"just some words\n",
    "list": b"- 1\n- 2\n",
    "empty": b"",
    "unclosed": b"clusters: [",
    "no context": b"apiVersion: v1\nkind: Config\nclusters: []\n",
}


def test_a_broken_kubeconfig_is_named_in_one_line_whatever_is_wrong_with_it(cluster: Cluster, tmp_path: Path) -> None:
    for name, content in BROKEN.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "garbled.crt").write_text("not a certificate")
    kubeconfig(cluster, tmp_path / "no ca", {"certificate-authority": "/nowhere/ca.crt"})
    kubeconfig(cluster, tmp_path / "bad ca", {"certificate-authority": str(tmp_path / "garbled.crt")})
    kubeconfig(cluster, tmp_path / "no token", {}, {"tokenFile": "/nowhere/token"})
    kubeconfig(cluster, tmp_path / "no server", {"server": "not a url"})
    for name in (*BROKEN, "no ca", "bad ca", "no token", "no server", "absent"):
        with pytest.raises(StartError) as refused:
            asyncio.run(connect({"KUBECONFIG": str(tmp_path / name)}))
        text = str(refused.value)
        assert str(tmp_path / name) in text and len(text.splitlines()) == 1, f"{name}: {text}"


def test_without_a_cluster_it_says_how_to_name_one(project: Project, start: Start, tmp_path: Path) -> None:
    nothing = start(KUBECONFIG="", ready=False)
    (tmp_path / "broken").write_text("clusters: [")
    broken = start(kubeconfig=tmp_path / "broken", ready=False)
    assert "set KUBECONFIG" in refusal(nothing)
    assert str(tmp_path / "broken") in refusal(broken)


def test_an_api_server_that_is_down_or_a_stranger_is_named(
    project: Project, start: Start, cluster: Cluster, tmp_path: Path, closed_port: int
) -> None:
    server = f"https://127.0.0.1:{closed_port}"
    (tmp_path / "wrong.token").write_text("wrong")
    down = kubeconfig(cluster, tmp_path / "down", cluster={"server": server})
    operators = {
        "down": start(kubeconfig=down, patience=2, ready=False),
        "stopped": start(kubeconfig=down, ready=False),
        "stranger": start(
            kubeconfig=kubeconfig(
                cluster, tmp_path / "stranger", cluster={"certificate-authority": str(a_certificate(tmp_path))}
            ),
            patience=2,
            ready=False,
        ),
        "unknown": start(
            kubeconfig=kubeconfig(cluster, tmp_path / "unknown", {}, user={"tokenFile": str(tmp_path / "wrong.token")}),
            patience=2,
            ready=False,
        ),
    }
    operators["stopped"].wait_log("kind is not there yet")
    assert operators["stopped"].probe("/readyz")[0] == 500
    assert operators["stopped"].stop() == 0, "it does not wait to the end of its two minutes"

    for name, words in (("down", [server]), ("stranger", [cluster.server, "certificate"]), ("unknown", ["401"])):
        text = refusal(operators[name])
        assert all(word in text for word in words) and len(text.splitlines()) == 1, text


def a_certificate(directory: Path) -> Path:
    """One that did not sign the API server's."""
    file = directory / "other-ca.crt"
    file.write_bytes(make_certificates(directory).authority)
    return file


def test_a_kind_without_a_crd_is_waited_for_named_and_found_when_it_comes(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    other = Project(project.directory / "late")
    project.watches({**ABSENT.watch, "role": "nothing"})
    other.watches({**LATE.watch, "role": "nothing"})
    other.role("nothing", "- ansible.builtin.meta: noop")
    impatient = start(patience=2, ready=False)
    asked = start(ready=False)
    late = start(project=other, ready=False)
    asked.wait_log("kind is not there yet")
    assert asked.stop() == 0, "it does not wait to the end of its two minutes"
    text = refusal(impatient)
    assert ABSENT.gvk in text and "CRD" in text and len(text.splitlines()) == 1

    late.wait_log("kind is not there yet")
    api.create(CRD, definition(LATE))
    try:
        late.wait_ready()
        until(lambda: is_made(api, LATE, namespace), "it is served")
        api.wait(LATE, "one", namespace, succeeded)
    finally:
        api.delete(CRD, f"{LATE.plural}.{GROUP}")


def is_made(api: Api, kind: Kind, namespace: str) -> bool:
    try:
        api.create(kind, kind.object("one", namespace))
    except Refused:
        return False
    return True


def test_missing_rights_are_named_with_what_to_look_at(
    api: Api, namespace: str, project: Project, start: Start, cluster: Cluster, tmp_path: Path
) -> None:
    api.create(SERVICE_ACCOUNT, SERVICE_ACCOUNT.object("nobody", namespace))
    account = cluster.service_account_kubeconfig(namespace, "nobody", tmp_path / "nobody")
    here = start(kubeconfig=account, patience=2, ready=False)
    everywhere = start(kubeconfig=account, watch="", patience=2, ready=False)
    for operator, where in ((here, namespace), (everywhere, "all namespaces")):
        text = refusal(operator)
        assert f"things.{GROUP} in {where}" in text and "403" in text and "RBAC" in text
        assert f"system:serviceaccount:{namespace}:nobody" in text
        assert len(text.splitlines()) == 1


def test_a_proxy_in_the_environment_is_not_for_an_api_server_on_loopback(
    project: Project, start: Start, closed_port: int
) -> None:
    nowhere = f"http://127.0.0.1:{closed_port}"
    start(HTTPS_PROXY=nowhere, HTTP_PROXY=nowhere, https_proxy=nowhere, NO_PROXY="", no_proxy="", patience=60)
