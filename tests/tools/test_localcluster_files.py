"""What is written to a cluster directory: keys, state, kubeconfigs, locks. No process is started."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import stat
from pathlib import Path

import pytest
import yaml

from localcluster import access, components
from localcluster.audit import audit_policy
from localcluster.layout import Layout, write_private
from localcluster.locks import is_locked, try_lock
from localcluster.pki import create_pki
from localcluster.ports import RANGE, free_port, is_free
from localcluster.state import ComponentState, Phase, State, read_state, write_state


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "kubernetes.default.svc", "10.96.0.1"])
def test_the_serving_certificate_is_trusted_under_strict_checks_for(tmp_path: Path, name: str) -> None:
    files = create_pki(tmp_path, "10.96.0.1")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.serving_certificate, files.serving_key)
    client = ssl.create_default_context(cafile=str(files.ca))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=name)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (near, far, near, far):  # hello, hello and certificate, finished, done
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    assert (near.version(), far.version()) == ("TLSv1.3", "TLSv1.3")


def test_private_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    files = create_pki(tmp_path, "10.96.0.1")
    assert {mode(path) for path in (files.serving_key, files.service_account_key)} == {0o600}


def test_two_clusters_do_not_trust_each_other(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        create_pki(tmp_path / name, "10.96.0.1")
    assert (tmp_path / "a/ca.crt").read_bytes() != (tmp_path / "b/ca.crt").read_bytes()


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_private(target, "old")
    with pytest.raises(UnicodeEncodeError):
        write_private(target, "\ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def a_state() -> State:
    component = ComponentState("etcd", "/bin/etcd", 12, "boot/34", [20001, 20002], "/log")
    return State(Phase.READY, 11, "boot/33", None, False, "https://127.0.0.1:1", "/kubectl", "", [component])


def test_the_state_survives_the_file(tmp_path: Path) -> None:
    write_state(tmp_path / "state.json", a_state())
    assert read_state(tmp_path / "state.json") == a_state()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"phase": "odd", "components": []}', '{"components": [{}]}'])
def test_a_half_written_state_reads_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    assert read_state(tmp_path / "state.json") is None


def test_tokens_are_private_and_each_cluster_has_its_own(tmp_path: Path) -> None:
    tokens = set()
    for name in ("a", "b"):
        layout = Layout(tmp_path / name)
        layout.create()
        access.create_tokens(layout)
        assert mode(layout.admin_token) == mode(access.token_table(layout)) == 0o600
        tokens.add(layout.admin_token.read_text())
    assert len(tokens) == 2


def test_a_kubeconfig_names_authority_and_token_by_file(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    access.write_kubeconfig(path, "https://127.0.0.1:1", tmp_path / "ca", tmp_path / "token", "robot", "space")
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["certificate-authority"] == str(tmp_path / "ca")
    assert config["users"] == [{"name": "robot", "user": {"tokenFile": str(tmp_path / "token")}}]
    assert config["contexts"][0]["context"]["namespace"] == "space"
    assert mode(path) == 0o600


def test_removing_a_cluster_leaves_the_files_of_others(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "mine")
    layout.create()
    notes = layout.directory / "notes.txt"
    notes.write_text("keep me")
    (layout.directory / ".state.json.x1y2").write_text("half of")
    layout.remove_all()
    layout.remove_lock()
    assert list(layout.directory.iterdir()) == [notes]


def test_a_free_port_can_be_bound_and_a_used_one_is_not_offered() -> None:
    port = free_port()
    assert port in RANGE
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()
        assert not is_free(port)
    others = set(RANGE) - {port}
    assert free_port(others) == port
    with pytest.raises(OSError, match="no free TCP port"):
        free_port(set(RANGE))


def test_a_lock_is_held_by_one_and_released_with_its_last_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    first = try_lock(path)
    assert first is not None
    assert is_locked(path)
    assert try_lock(path) is None
    inherited = os.dup(first)
    os.close(first)
    assert is_locked(path)
    os.close(inherited)
    assert not is_locked(path)


def test_a_lock_on_a_removed_file_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    old = try_lock(path)
    path.unlink()
    new = try_lock(path)
    assert old is not None
    assert new is not None
    assert os.fstat(old).st_ino != os.fstat(new).st_ino
    os.close(old)
    os.close(new)


def test_every_component_listens_on_loopback_only(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for component in (
        components.etcd(layout),
        components.api_server(layout, 1, audit=True),
        components.controller_manager(layout),
        components.scheduler(layout),
        components.kwok(layout, tmp_path),
    ):
        text = " ".join(component.arguments([20001, 20002][: component.port_count]))
        assert "127.0.0.1" in text, component.name
        assert "0.0.0.0" not in text, component.name
        assert "127.0.0.1:20001" in component.health([20001, 20002]), component.name


def test_the_audit_log_is_one_file_however_long_it_gets(tmp_path: Path) -> None:
    arguments = components.api_server(Layout(tmp_path), 1, audit=True).arguments([20001])
    (megabytes,) = [argument for argument in arguments if argument.startswith("--audit-log-maxsize=")]
    assert int(megabytes.partition("=")[2]) > 100_000


def test_the_first_audit_rule_that_fits_secrets_keeps_their_bodies_out() -> None:
    rules = audit_policy()["rules"]
    fitting = [rule for rule in rules if any("secrets" in r.get("resources", []) for r in rule.get("resources", []))]
    bodies = [index for index, rule in enumerate(rules) if rule["level"].startswith("Request")]
    assert [rule["level"] for rule in fitting] == ["Metadata"]
    assert rules.index(fitting[0]) < min(bodies)
