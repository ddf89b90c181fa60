"""The modules as Ansible has them: documented for ansible-doc, and found by plays with and without their prefix."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from ansible_operator.model.settings import Address
from ansible_operator.runner.cold import COLLECTIONS
from ansible_operator.runner.private_dir import common_environment
from ansible_operator.telemetry.user_metrics import environment_of, user_metrics

REPOSITORY = Path(__file__).parents[3]
PROGRAMS = Path(sys.executable).parent
MODULES = ("k8s_event", "k8s_status", "osdk_metric", "requeue_after")
READ_ARGUMENTS = """
import importlib, json, sys
from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder
_AnsibleCollectionFinder(paths=sys.argv[1:3])._install()
where = "ansible_collections.operator_sdk.util.plugins.modules."
arguments = {name: getattr(importlib.import_module(where + name), "ARGUMENTS", None) for name in sys.argv[3:]}
print(json.dumps(arguments, default=str))
"""


def run(*words: str | Path, **environment: str) -> str:
    result = subprocess.run(
        [str(word) for word in words], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    path = f"{COLLECTIONS}:{REPOSITORY / '.collections'}"
    names = [f"operator_sdk.util.{name}" for name in MODULES]
    text = run(PROGRAMS / "ansible-doc", "-t", "module", "-j", *names, ANSIBLE_COLLECTIONS_PATH=path)
    return {name.rpartition(".")[2]: found for name, found in json.loads(text).items()}


@pytest.fixture(scope="module")
def arguments() -> dict[str, Any]:
    paths = (COLLECTIONS, REPOSITORY / ".collections")
    found: dict[str, Any] = json.loads(run(sys.executable, "-c", READ_ARGUMENTS, *paths, *MODULES))
    return found


def test_there_are_four_and_each_is_documented(documented: dict[str, Any]) -> None:
    assert {path.stem for path in COLLECTIONS.rglob("plugins/modules/*.py")} == set(MODULES)
    for name in MODULES:
        found = documented[name]
        assert found["doc"]["short_description"], name
        assert found["examples"], name
        assert found["return"], name
        assert "check_mode" in found["doc"]["attributes"], name


@pytest.mark.parametrize("name", ["k8s_event", "k8s_status", "osdk_metric"])
def test_the_documentation_of_arguments_is_what_the_module_takes(
    name: str, documented: dict[str, Any], arguments: dict[str, Any]
) -> None:
    authentication = {"api_key", "kubeconfig", "host", "context"}
    options = {key: value for key, value in documented[name]["doc"]["options"].items() if _is_ours(value)}
    assert set(options) == set(arguments[name])
    assert name == "osdk_metric" or authentication <= set(documented[name]["doc"]["options"])
    for option, told in options.items():
        _compare(told, arguments[name][option], f"{name}.{option}")


def _is_ours(option: dict[str, Any]) -> bool:
    return "K8S_AUTH" not in json.dumps(option) and "server side" not in json.dumps(option)


def _compare(told: dict[str, Any], taken: dict[str, Any], where: str) -> None:
    assert told["description"], where
    for field in ("type", "default", "choices", "elements"):
        assert told.get(field) == taken.get(field), f"{where}: {field}"
    assert bool(told.get("required")) == bool(taken.get("required")), where
    assert sorted(told.get("aliases") or ()) == sorted(taken.get("aliases") or ()), where
    assert set(told.get("suboptions") or ()) == set(taken.get("options") or ()), where
    for name, option in (told.get("suboptions") or {}).items():
        _compare(option, taken["options"][name], f"{where}.{name}")


# --- in plays ---------------------------------------------------------------------------------------------------------

MINE = """
from ansible.module_utils.basic import AnsibleModule
AnsibleModule(argument_spec={}).exit_json(said="mine")
"""
METRIC = {"name": "told", "description": "how often"}
TASKS: list[dict[str, Any]] = [
    {"osdk_metric": {**METRIC, "counter": {}}},
    {"osdk_metric": {**METRIC, "counter": {"increment": True}}},
    {"operator_sdk.util.osdk_metric": {**METRIC, "counter": {"add": 2.5}}},
    {"osdk_metric": {"name": "size", "description": "d", "gauge": {"set": 0}}},
    {"osdk_metric": {"name": "time", "description": "d", "summary": {"observe": 3}}},
    {"osdk_metric": {**METRIC, "counter": {"add": 7}}, "check_mode": True},
    {"osdk_metric": {**METRIC, "gauge": {"set": 1}}},
    {"osdk_metric": {**METRIC, "gauge": {"set": 1}, "counter": {}}},
    {"osdk_metric": {**METRIC, "counter": {}, "address": "http://127.0.0.1:1/metrics"}},
    {"requeue_after": {"time": "5s"}},
    {"operator_sdk.util.requeue_after": {"time": "1d"}},
    {"mine": None},
]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], CollectorRegistry]:
    """What each task said, in an environment as a run's, of a user who has modules of his own by ansible.cfg."""
    directory = tmp_path_factory.mktemp("play")
    (directory / "library").mkdir()
    (directory / "library/mine.py").write_text(MINE)
    (directory / "ansible.cfg").write_text("[defaults]\nlibrary = library\n")
    tasks = [{"name": f"{n}", "register": f"r{n}", "ignore_errors": True, **task} for n, task in enumerate(TASKS)]
    said = "{{ [" + ", ".join(f"r{n}" for n in range(len(TASKS))) + "] | to_json }}"
    tasks.append({"name": "Keep", "copy": {"content": said, "dest": str(directory / "said.json")}})
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    (directory / "play.yml").write_text(json.dumps([play]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address("127.0.0.1", server.getsockname()[1])
    registry = CollectorRegistry()
    own = {"HOME": str(directory), "PATH": os.environ["PATH"], "ANSIBLE_CONFIG": str(directory / "ansible.cfg")}
    environment = common_environment({**own, **environment_of(address)}, COLLECTIONS)

    async def play_it() -> None:
        endpoint = user_metrics(address, registry)
        await endpoint.start()
        words = (str(PROGRAMS / "ansible-playbook"), str(directory / "play.yml"))
        process = await asyncio.create_subprocess_exec(*words, env=environment, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        await endpoint.stop()
        assert process.returncode == 0, output.decode()

    asyncio.run(play_it())
    results: list[dict[str, Any]] = json.loads((directory / "said.json").read_text())
    return results, registry


def test_modules_are_found_with_and_without_their_prefix_beside_those_of_the_user(
    played: tuple[list[dict[str, Any]], CollectorRegistry],
) -> None:
    results, registry = played
    assert [result.get("failed", False) for result in results] == [False] * 6 + [True] * 3 + [False, True, False]
    assert [result["changed"] for result in results[:6]] == [True] * 6
    assert (results[9]["period"], results[11]["said"]) == ("5s", "mine")
    assert registry.get_sample_value("told") == 3.5
    assert registry.get_sample_value("size") == 0
    assert registry.get_sample_value("time_sum") == 3


def test_what_the_operator_refuses_is_the_tasks_message(played: tuple[list[dict[str, Any]], CollectorRegistry]) -> None:
    results, _ = played
    assert results[6]["msg"].startswith("told is not a gauge; use another name")
    assert results[6]["status_code"] == 400
    assert "mutually exclusive" in results[7]["msg"]
    assert results[8]["msg"].startswith("http://127.0.0.1:1/metrics does not answer: ")
    assert "1h30m" in results[10]["msg"]
