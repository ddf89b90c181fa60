"""What makes the configuration of a run another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_operator.model.watch import Content
from ansible_operator.runner.configuration import COMMON, configuration_of
from ansible_operator.runner.interface import RunRequest


def test_a_run_with_nothing_of_its_own(run_request: RunRequest) -> None:
    assert configuration_of(run_request, bound=False) == COMMON


def test_settings_that_are_bound_to_the_directory(run_request: RunRequest) -> None:
    assert configuration_of(run_request, bound=True).directory == str(run_request.directory / "project")


def test_an_ansible_cfg_and_its_changes(run_request: RunRequest) -> None:
    file = run_request.directory / "project/ansible.cfg"
    file.parent.mkdir(parents=True)
    file.write_text("[defaults]")
    first = configuration_of(run_request, bound=False)
    assert first.directory == str(file.parent)
    file.write_text("[defaults]\nforks=1")
    second = configuration_of(run_request, bound=False)
    assert second.succeeds(first)
    assert not second.succeeds(second)
    assert not COMMON.succeeds(first)


def test_collections_beside_a_playbook(run_request: RunRequest, tmp_path: Path) -> None:
    request = replace(run_request, content=Content(playbook=tmp_path / "site.yml"))
    assert configuration_of(request, bound=False) == COMMON
    (tmp_path / "collections/ansible_collections").mkdir(parents=True)
    assert configuration_of(request, bound=False).playbook == str(tmp_path)
    other = replace(run_request, content=Content(playbook=tmp_path / "other/site.yml"))
    assert configuration_of(other, bound=False) == COMMON
