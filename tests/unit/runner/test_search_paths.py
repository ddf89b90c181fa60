"""Where a run's Ansible looks: the user's places first, wherever the user names them, and ours behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.runner.search_paths import collections_path, library_path

OURS = Path("/ours")
MODULES = "/ours/ansible_collections/operator_sdk/util/plugins/modules"
NOWHERE = Path("/nonexistent/ansible.cfg")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_any_configuration_they_are_ansibles_defaults() -> None:
    environment = {"HOME": "/home/me"}
    assert library_path(environment, OURS, NOWHERE) == (
        f"/home/me/.ansible/plugins/modules:/usr/share/ansible/plugins/modules:{MODULES}"
    )
    assert (
        collections_path(environment, OURS, NOWHERE)
        == "/home/me/.ansible/collections:/usr/share/ansible/collections:/ours"
    )


def test_ansible_home_moves_them() -> None:
    environment = {"HOME": "/home/me", "ANSIBLE_HOME": "/opt/ansible"}
    assert library_path(environment, OURS, NOWHERE).startswith("/opt/ansible/plugins/modules:")
    assert collections_path(environment, OURS, NOWHERE).startswith("/opt/ansible/collections:")


def test_a_variable_of_the_user_comes_first(tmp_path: Path) -> None:
    system = write(tmp_path / "ansible.cfg", "[defaults]\nlibrary = /c\ncollections_path = /d\n")
    environment = {"ANSIBLE_LIBRARY": "/a:/b", "ANSIBLE_COLLECTIONS_PATH": "/e"}
    assert library_path(environment, OURS, system) == f"/a:/b:{MODULES}"
    assert collections_path(environment, OURS, system) == "/e:/ours"


def test_a_file_of_the_user_comes_first_as_well(tmp_path: Path) -> None:
    """As in the operator's image: library = /usr/share/ansible/openshift."""
    system = write(
        tmp_path / "ansible.cfg", "[defaults]\nlibrary = /usr/share/ansible/openshift ; old\ncollections_path=/c\n"
    )
    assert library_path({}, OURS, system) == f"/usr/share/ansible/openshift:{MODULES}"
    assert collections_path({}, OURS, system) == "/c:/ours"


@pytest.mark.parametrize("found", ["named", "directory", "home", "system"])
def test_of_several_files_ansibles_first_counts(tmp_path: Path, found: str) -> None:
    places = {
        "named": tmp_path / "named.cfg",
        "directory": tmp_path / "directory/ansible.cfg",
        "home": tmp_path / "home/.ansible.cfg",
        "system": tmp_path / "system.cfg",
    }
    order = list(places)
    for name in order[order.index(found) :]:
        write(places[name], f"[defaults]\nlibrary = /{name}\n")
    named = places["named"] if found == "named" else tmp_path / "directory"
    environment = {"HOME": str(tmp_path / "home"), "ANSIBLE_CONFIG": str(named)}
    assert library_path(environment, OURS, places["system"]) == f"/{found}:{MODULES}"


def test_what_is_relative_is_so_to_the_file(tmp_path: Path) -> None:
    system = write(tmp_path / "ansible.cfg", "[defaults]\nlibrary = library: ~/x :$HOME/y:{{ANSIBLE_HOME}}/z:./more\n")
    assert library_path({}, OURS, system) == (
        f"{tmp_path}/library:~/x:$HOME/y:{{{{ANSIBLE_HOME}}}}/z:{tmp_path}/more:{MODULES}"
    )


@pytest.mark.parametrize(
    "text", ["no ini", "[defaults\n", "[defaults]\nlibrary = %(x)s %\n", "[other]\nlibrary=/x\n", "\xff"]
)
def test_a_file_that_is_no_configuration_is_ansibles_to_complain_about(tmp_path: Path, text: str) -> None:
    system = write(tmp_path / "ansible.cfg", "")
    system.write_bytes(text.encode("latin-1"))
    assert library_path({"HOME": "/h"}, OURS, system).endswith(MODULES)
