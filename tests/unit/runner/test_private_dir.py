"""The private data directory: what is in it, who may read it, and the command line and environment of a run (4.5)."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_operator.model.watch import Content
from ansible_operator.runner import private_dir
from ansible_operator.runner.interface import RunRequest

OURS = Path("/ours/collections")
START = [sys.executable, "-m", "ansible_runner", "run"]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def prepare(request: RunRequest, ansible_args: str = "", **environment: str) -> Path:
    private_dir.prepare(request, environment, ansible_args)
    return request.directory


def command(request: RunRequest, **environment: str) -> list[str]:
    return private_dir.command(request, environment)


def environment_of(request: RunRequest, **environment: str) -> dict[str, str]:
    return private_dir.run_environment(request, environment, OURS)


@pytest.fixture
def of_playbook(run_request: RunRequest, tmp_path: Path) -> RunRequest:
    (tmp_path / "site.yml").write_text("- hosts: localhost\n")
    return replace(run_request, content=Content(playbook=tmp_path / "site.yml"))


# --- files -----------------------------------------------------------------------------------------------------------


def test_everything_is_private_whatever_the_umask_is(of_playbook: RunRequest, tmp_path: Path, umask: int) -> None:
    prepare(of_playbook, "--diff")
    made = list((tmp_path / "work").rglob("*"))
    assert {mode(path) for path in made if path.is_file()} == {0o600}
    assert {mode(path) for path in [tmp_path / "work", *made] if path.is_dir()} == {0o700}


def test_the_directory_is_one_that_ansible_runner_knows(of_playbook: RunRequest) -> None:
    directory = prepare(of_playbook, "--diff")
    found = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    assert found >= {
        "env/extravars",
        "env/envvars",
        "env/cmdline",
        "inventory/hosts",
        "project/playbook.yaml",
        "kubeconfig",
    }
    assert (directory / "artifacts").is_dir()


def test_the_extra_vars_are_json(run_request: RunRequest) -> None:
    variables = {"a": {"__ansible_unsafe": "{{ x }}"}, "n": 1, "z": None, "u": "ü"}
    directory = prepare(replace(run_request, variables=variables))
    assert json.loads((directory / "env/extravars").read_text()) == variables


def test_the_kubeconfig_names_the_proxy_its_authority_the_token_and_the_namespace(run_request: RunRequest) -> None:
    directory = prepare(run_request)
    config = json.loads((directory / "kubeconfig").read_text())
    (cluster,), (user,), (context,) = config["clusters"], config["users"], config["contexts"]
    assert cluster["cluster"] == {
        "server": "https://127.0.0.1:18888",
        "certificate-authority": str(run_request.access.authority_file),
    }
    assert user["user"] == {"token": "the token"}
    assert context["context"] == {"cluster": cluster["name"], "user": user["name"], "namespace": "a"}
    assert config["current-context"] == context["name"]


def test_both_variables_name_the_kubeconfig(run_request: RunRequest) -> None:
    directory = prepare(run_request)
    expected = {"KUBECONFIG": f"{directory}/kubeconfig", "K8S_AUTH_KUBECONFIG": f"{directory}/kubeconfig"}
    assert json.loads((directory / "env/envvars").read_text()) == expected
    assert environment_of(run_request).items() >= expected.items()


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("--diff -e x=y", "--diff -e x=y"),
        ("'--diff'", "--diff"),
        ("''--diff''", "'--diff'"),
        ("'", "'"),
        ('"a"', '"a"'),
    ],
)
def test_of_the_ansible_args_one_pair_of_single_quotes_goes(run_request: RunRequest, given: str, written: str) -> None:
    assert (prepare(run_request, given) / "env/cmdline").read_text() == written


@pytest.mark.parametrize("given", ["", "''"], ids=["nothing", "quotes alone"])
def test_without_arguments_there_is_no_cmdline_and_an_old_one_goes(run_request: RunRequest, given: str) -> None:
    prepare(run_request, "--diff")
    assert not (prepare(run_request, given) / "env/cmdline").exists()


def test_the_playbook_is_copied_for_people_who_look(of_playbook: RunRequest) -> None:
    assert (prepare(of_playbook) / "project/playbook.yaml").read_text() == "- hosts: localhost\n"


def test_a_directory_that_cannot_be_made_is_an_oserror_with_its_path(run_request: RunRequest, tmp_path: Path) -> None:
    (tmp_path / "work").touch()
    with pytest.raises(OSError, match=str(tmp_path / "work")):
        prepare(run_request)


# --- inventory -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "interpreter"),
    [({}, "{{ansible_playbook_python}}"), ({"VIRTUAL_ENV": "/venv"}, "/venv/bin/python3")],
    ids=["usual", "virtual environment"],
)
def test_the_inventory_is_localhost(run_request: RunRequest, environment: dict[str, str], interpreter: str) -> None:
    hosts = (prepare(run_request, **environment) / "inventory/hosts").read_text()
    assert hosts == f'localhost ansible_connection=local ansible_python_interpreter="{interpreter}"\n'


def test_or_a_file_of_the_users(run_request: RunRequest, tmp_path: Path) -> None:
    (tmp_path / "mine.ini").write_text("web1\n")
    directory = prepare(run_request, ANSIBLE_INVENTORY=str(tmp_path / "mine.ini"))
    assert [path.name for path in (directory / "inventory").iterdir()] == ["mine.ini"]
    assert (directory / "inventory/mine.ini").read_text() == "web1\n"


def test_or_a_directory_of_the_users(run_request: RunRequest, tmp_path: Path) -> None:
    (tmp_path / "mine/group_vars").mkdir(parents=True)
    (tmp_path / "mine/hosts").write_text("web1\n")
    (tmp_path / "mine/group_vars/all").write_text("a: 1\n")
    directory = prepare(run_request, ANSIBLE_INVENTORY=str(tmp_path / "mine"))
    assert (directory / "inventory/hosts").read_text() == "web1\n"
    assert (directory / "inventory/group_vars/all").read_text() == "a: 1\n"
    assert mode(directory) == 0o700


# --- command line ----------------------------------------------------------------------------------------------------


def test_a_role_is_played_on_localhost(run_request: RunRequest) -> None:
    role = ["--role", "web", "--roles-path", "/opt/ansible/roles", "--hosts", "localhost"]
    assert command(run_request) == [*START, str(run_request.directory), "-i", "4711", *role]


def test_a_playbook_is_played_where_it_lies(of_playbook: RunRequest) -> None:
    playbook = ["-p", str(of_playbook.content.playbook)]
    assert command(of_playbook) == [*START, str(of_playbook.directory), "-i", "4711", *playbook]


def test_a_role_in_a_collection_is_found_by_its_directory(run_request: RunRequest) -> None:
    role = Path("/c/ansible_collections/acme/shop/roles/web")
    words = command(replace(run_request, content=Content(role=role)))
    assert words[words.index("--role") + 1] == "web"
    assert words[words.index("--roles-path") + 1] == str(role.parent)


@pytest.mark.parametrize(("verbosity", "flag"), [(1, "-v"), (2, "-vv"), (7, "-vvvvvvv")])
def test_verbosity_is_a_number_of_vs(run_request: RunRequest, verbosity: int, flag: str) -> None:
    assert command(replace(run_request, verbosity=verbosity))[-1] == flag


def test_no_verbosity_is_no_flag(run_request: RunRequest) -> None:
    assert not [word for word in command(run_request) if word.startswith("-v")]


@pytest.mark.parametrize(
    ("gathering", "skipped"), [("explicit", True), ("implicit", False), ("smart", False), ("", False)]
)
def test_explicit_gathering_skips_the_facts_of_roles(run_request: RunRequest, gathering: str, skipped: bool) -> None:
    assert ("--role-skip-facts" in command(run_request, ANSIBLE_GATHERING=gathering)) is skipped


def test_but_not_those_of_playbooks(of_playbook: RunRequest) -> None:
    assert "--role-skip-facts" not in command(of_playbook, ANSIBLE_GATHERING="explicit")


# --- environment -----------------------------------------------------------------------------------------------------


def test_the_whole_environment_of_the_operator_reaches_the_play(run_request: RunRequest) -> None:
    found = environment_of(run_request, ANSIBLE_FORKS="3", MY_IMAGE="x", HOME="/opt/ansible")
    assert found.items() >= {"ANSIBLE_FORKS": "3", "MY_IMAGE": "x", "HOME": "/opt/ansible"}.items()


def test_but_not_the_operators_own_access(run_request: RunRequest) -> None:
    found = environment_of(run_request, KUBECONFIG="/root/admin.conf", K8S_AUTH_KUBECONFIG="/root/admin.conf")
    assert "/root/admin.conf" not in found.values()


@pytest.mark.parametrize(
    ("environment", "value"),
    [
        ({}, "127.0.0.1,localhost,::1"),
        ({"NO_PROXY": "example.com"}, "example.com,127.0.0.1,localhost,::1"),
        ({"no_proxy": "example.com"}, "example.com,127.0.0.1,localhost,::1"),
        ({"NO_PROXY": "", "no_proxy": "b.com"}, "b.com,127.0.0.1,localhost,::1"),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "127.0.0.1,localhost,::1"),
    ],
    ids=str,
)
def test_loopback_is_never_sent_to_another_proxy(
    run_request: RunRequest, environment: dict[str, str], value: str
) -> None:
    found = environment_of(run_request, **environment)
    assert (found["NO_PROXY"], found["no_proxy"]) == (value, value)


def test_the_programs_beside_our_python_are_found_first(run_request: RunRequest) -> None:
    here = str(Path(sys.executable).parent)
    assert environment_of(run_request, PATH="/bin")["PATH"] == f"{here}{os.pathsep}/bin"
    assert environment_of(run_request)["PATH"].startswith(f"{here}{os.pathsep}")


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"ANSIBLE_COLLECTIONS_PATH": "/mine:/too"}, "/mine:/too"),
        ({"HOME": "/home"}, "/home/.ansible/collections:/usr/share/ansible/collections"),
        (
            {"HOME": "/home", "ANSIBLE_COLLECTIONS_PATH": ""},
            "/home/.ansible/collections:/usr/share/ansible/collections",
        ),
    ],
    ids=["given", "default", "empty"],
)
def test_our_collection_is_the_last_on_the_path(
    run_request: RunRequest, environment: dict[str, str], path: str
) -> None:
    assert environment_of(run_request, **environment)["ANSIBLE_COLLECTIONS_PATH"] == f"{path}:{OURS}"


def test_temporary_files_stay_in_the_private_directory_unless_told_otherwise(run_request: RunRequest) -> None:
    found = environment_of(run_request)
    assert found["ANSIBLE_LOCAL_TEMP"] == found["ANSIBLE_REMOTE_TEMP"] == f"{run_request.directory}/tmp"
    assert environment_of(run_request, ANSIBLE_LOCAL_TEMP="/scratch")["ANSIBLE_LOCAL_TEMP"] == "/scratch"


def test_every_process_of_a_run_carries_its_mark(run_request: RunRequest) -> None:
    assert environment_of(run_request, ANSIBLE_OPERATOR_RUN="of another")["ANSIBLE_OPERATOR_RUN"] == "4711"
