"""Whose API client a module gets: that of a module with the same identity, and nobody else's."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_operator.runner.worker import clients

MODULE = "ansible_collections.kubernetes.core.plugins.modules.k8s_info"
ARGS = Path(os.environ.get("ANSIBLE_COLLECTIONS_PATH", ".collections").split(os.pathsep)[0])
COMMON = ARGS / "ansible_collections/kubernetes/core/plugins/module_utils/args_common.py"


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    client = SimpleNamespace(_pool={}, _load_config=lambda auth: None)
    monkeypatch.setitem(sys.modules, "ansible_collections.kubernetes.core.plugins.module_utils.k8s.client", client)
    monkeypatch.setattr(clients, "_tables", {})
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    (tmp_path / "config").write_text("clusters: [{cluster: {certificate-authority: ca.crt}}]\nusers: []\n")
    (tmp_path / "ca.crt").write_text("1")
    return client


def table_of(library: SimpleNamespace, **arguments: Any) -> int:
    parameters = json.dumps({"ANSIBLE_MODULE_ARGS": {"kind": "Namespace", **arguments}}).encode()
    with clients.kept(MODULE, parameters) as table:
        assert library._pool is table
    assert library._pool == {}
    return id(table)


def test_other_arguments_share_a_client(library: SimpleNamespace) -> None:
    assert table_of(library, name="a") == table_of(library, name="b", namespace="c")


@pytest.mark.parametrize("name", sorted(clients.IDENTITY))
def test_what_says_who_and_where_does_not(library: SimpleNamespace, name: str) -> None:
    assert len({table_of(library), table_of(library, **{name: "a"}), table_of(library, **{name: ["b"]})}) == 3


@pytest.mark.parametrize("name", ["K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "HTTPS_PROXY", "SSL_CERT_FILE", "KUBECONFIG"])
def test_nor_does_the_environment(library: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = table_of(library)
    monkeypatch.setenv(name, "/elsewhere")
    assert table_of(library) != before


@pytest.mark.parametrize("name", ["config", "ca.crt"])
def test_nor_do_files_that_have_changed(library: SimpleNamespace, tmp_path: Path, name: str) -> None:
    before = table_of(library)
    file = tmp_path / name
    file.write_text(file.read_text() + "\n# more\n")
    assert table_of(library) != before


def test_the_file_that_a_task_names_counts(library: SimpleNamespace, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("users: [{user: {tokenFile: /t}}]")
    before = table_of(library, kubeconfig=str(other))
    other.write_text("users: [{user: {tokenFile: /t2}}]")
    assert table_of(library, kubeconfig=str(other)) != before


def test_every_parameter_of_the_collection_that_says_who_and_where_is_known() -> None:
    names: dict[str, Any] = {}
    exec(compile(COMMON.read_text(), str(COMMON), "exec"), names)
    specification = names["AUTH_ARG_SPEC"]
    aliases = {alias for options in specification.values() for alias in options.get("aliases", ())}
    assert {*specification, *aliases} <= clients.IDENTITY


class Configuration:
    """The library's class, whose default a kubeconfig becomes."""

    _default: Any = None


@pytest.mark.parametrize(
    ("own", "auth", "readings"),
    [
        ("run", {}, 1),
        ("run", {"kubeconfig": "run"}, 1),
        ("run", {"context": "b"}, 2),
        ("run", {"kubeconfig": "other"}, 2),
        ("run", {"kubeconfig": {"users": []}}, 2),
        ("other", {}, 2),
    ],
)
def test_the_kubeconfig_that_the_operator_has_written_is_read_once_and_any_other_for_each_task(
    library: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, own: str, auth: dict[str, Any], readings: int
) -> None:
    monkeypatch.setenv("KUBECONFIG", "run")
    monkeypatch.setitem(sys.modules, "kubernetes.client", SimpleNamespace(Configuration=Configuration))
    monkeypatch.setattr(clients, "own_kubeconfig", [own])
    read: list[Any] = []

    def load(auth: dict[str, Any]) -> None:
        read.append(auth)
        Configuration._default = {"token": "t", "of": ["task"]}

    library._load_config = load
    for _ in range(2):
        with clients.kept(MODULE, b'{"ANSIBLE_MODULE_ARGS": {}}'):
            library._load_config(auth)
            assert Configuration._default == {"token": "t", "of": ["task"]}
            Configuration._default["of"].append("spoilt")
        assert library._load_config is load
    assert len(read) == readings
