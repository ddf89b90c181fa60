"""However an election ends, the operator hears of it: who does not renew the lease must not go on as its holder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ansible_operator.kube import leadership as module
from ansible_operator.kube.leadership import Leadership
from ansible_operator.kube.lease import Election, LeaderElector
from ansible_operator.model.errors import StartError
from ansible_operator.model.gvk import ObjectKey
from tests.support.waiting import PATIENCE

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


async def elected_at_once(_elector: LeaderElector) -> None: ...


async def broken(_elector: LeaderElector) -> None:
    raise KeyError("a fault of ours")


def leadership(tmp_path: Path) -> Leadership:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    election = Election(ObjectKey("ns", "lock"), "me")
    return Leadership(election, {"KUBECONFIG": str(tmp_path / "kubeconfig")}, lambda *_: None)


async def test_an_election_that_breaks_counts_as_a_lease_that_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.LeaderElector, "acquire", elected_at_once)
    monkeypatch.setattr(module.LeaderElector, "hold", broken)
    taking_part = leadership(tmp_path)
    taking_part.start()
    await asyncio.wait_for(taking_part.won(), PATIENCE)
    await asyncio.wait_for(taking_part.lost.wait(), PATIENCE)
    await taking_part.stop()
    assert "leader election has ended by a fault" in capsys.readouterr().out


async def test_an_election_that_breaks_before_there_is_a_leader_ends_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.LeaderElector, "acquire", broken)
    taking_part = leadership(tmp_path)
    taking_part.start()
    with pytest.raises(StartError, match="leader election has ended"):
        await asyncio.wait_for(taking_part.won(), PATIENCE)
    await taking_part.stop()


async def test_without_credentials_there_is_no_waiting_for_a_lease(tmp_path: Path) -> None:
    taking_part = leadership(tmp_path)
    (tmp_path / "kubeconfig").unlink()
    taking_part.start()
    with pytest.raises(StartError):
        await asyncio.wait_for(taking_part.won(), PATIENCE)
