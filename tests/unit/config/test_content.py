"""Where a role is looked for, and in what order (contract 4.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.config.content import SearchPath


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the operator runs."""
    (tmp_path / "cwd").mkdir()
    return tmp_path / "cwd"


def make(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True)


def found(name: str, directory: Path, **environment: str) -> Path | None:
    return SearchPath.of(directory, environment).role(name)[0]


def tried(name: str, directory: Path, **environment: str) -> list[str]:
    return [str(place) for place in SearchPath.of(directory, environment).role(name)[1]]


def test_the_order_for_a_plain_name(directory: Path) -> None:
    assert tried("web", directory, ANSIBLE_ROLES_PATH="/a:/b", HOME="/home") == [
        "/a/web",
        "/a/roles/web",
        "/b/web",
        "/b/roles/web",
        f"{directory}/roles/web",
    ]


def test_the_order_for_a_name_in_a_collection(directory: Path) -> None:
    variables = {"ANSIBLE_COLLECTIONS_PATH": "/c:/d", "ANSIBLE_ROLES_PATH": "/a", "HOME": "/home"}
    assert tried("acme.shop.web", directory, **variables) == [
        "/c/ansible_collections/acme/shop/roles/web",
        "/d/ansible_collections/acme/shop/roles/web",
        "/home/.ansible/collections/ansible_collections/acme/shop/roles/web",
        "/a/acme.shop.web",
        "/a/roles/acme.shop.web",
        f"{directory}/roles/acme.shop.web",
    ]


@pytest.mark.parametrize("variables", [{}, {"ANSIBLE_COLLECTIONS_PATH": ""}], ids=["unset", "empty"])
def test_without_a_path_collections_are_in_their_usual_places(directory: Path, variables: dict[str, str]) -> None:
    assert tried("acme.shop.web", directory, HOME="/home", **variables)[:2] == [
        "/usr/share/ansible/collections/ansible_collections/acme/shop/roles/web",
        "/home/.ansible/collections/ansible_collections/acme/shop/roles/web",
    ]


@pytest.mark.parametrize("name", ["web", "acme.web", "a.b.c.d"])
def test_only_three_parts_name_a_collection(name: str, directory: Path) -> None:
    assert not any("ansible_collections" in place for place in tried(name, directory, HOME="/home"))


def test_an_absolute_path_is_taken_as_it_is(directory: Path, tmp_path: Path) -> None:
    make(tmp_path / "roles/web")
    assert found(str(tmp_path / "roles/web"), directory) == tmp_path / "roles/web"
    assert found(str(tmp_path / "roles/none"), directory, ANSIBLE_ROLES_PATH="/a") is None


def test_the_first_that_exists_is_taken(directory: Path, tmp_path: Path) -> None:
    path = f"{tmp_path}/a:{tmp_path}/b"
    make(directory / "roles/web")
    assert found("web", directory, ANSIBLE_ROLES_PATH=path) == directory / "roles/web"
    make(tmp_path / "b/roles/web")
    assert found("web", directory, ANSIBLE_ROLES_PATH=path) == tmp_path / "b/roles/web"
    make(tmp_path / "b/web")
    assert found("web", directory, ANSIBLE_ROLES_PATH=path) == tmp_path / "b/web"
    make(tmp_path / "a/roles/web")
    assert found("web", directory, ANSIBLE_ROLES_PATH=path) == tmp_path / "a/roles/web"


def test_a_collection_goes_before_a_directory_of_the_full_name(directory: Path, tmp_path: Path) -> None:
    make(directory / "roles/acme.shop.web", tmp_path / "c/ansible_collections/acme/shop/roles/web")
    in_collection = tmp_path / "c/ansible_collections/acme/shop/roles/web"
    assert found("acme.shop.web", directory, ANSIBLE_COLLECTIONS_PATH=f"{tmp_path}/c") == in_collection
    assert found("acme.shop.web", directory) == directory / "roles/acme.shop.web"


def test_a_file_is_no_role(directory: Path) -> None:
    make(directory / "roles")
    (directory / "roles/web").touch()
    assert found("web", directory) is None


@pytest.mark.parametrize("path", ["", ":", " ", "::"], ids=repr)
def test_empty_entries_of_a_path_are_skipped(path: str, directory: Path) -> None:
    assert tried("web", directory, ANSIBLE_ROLES_PATH=path) == [f"{directory}/roles/web"]


def test_relative_entries_count_from_where_the_operator_runs(directory: Path) -> None:
    assert tried("web", directory, ANSIBLE_ROLES_PATH="mine")[0] == f"{directory}/mine/web"


def test_a_playbook_is_relative_to_where_the_operator_runs_and_nothing_else(directory: Path) -> None:
    search = SearchPath.of(directory, {"ANSIBLE_ROLES_PATH": "/a"})
    assert search.playbook("site.yml") == directory / "site.yml"
    assert search.playbook("/opt/site.yml") == Path("/opt/site.yml")
