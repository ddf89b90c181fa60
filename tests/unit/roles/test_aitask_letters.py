"""A letter: a request that outlives the module that sent it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aitask_http
import pytest

from tests.support.models import ModelServer, serving_models
from tests.support.waiting import PATIENCE, until
from tests.unit.roles.test_aitask_http import ask

TOKEN = "canary-4f1c9a77-token"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving_models() as server:
        yield server


class Desk:
    """Where one sends letters from."""

    def __init__(self, server: ModelServer, directory: Path) -> None:
        self.server, self.directory = server, directory

    def send(self, model: str, letter: str = "mine", **more: Any) -> dict[str, Any]:
        body = json.dumps({"model": model, "messages": [{}, {"content": "?"}]})
        url = f"{self.server.url}/chat/completions"
        fixed = {"method": "POST", "turn": "t", "turns": str(self.directory), "token": TOKEN, "seconds": 60}
        return ask(url, body=body, letter=letter, **{**fixed, **more})

    def look(self, letter: str = "mine") -> dict[str, Any]:
        return ask("", letter=letter, peek=True, turns=str(self.directory))

    def until_ready(self) -> None:
        until(lambda: self.look()["ready"], "the answer is there")

    def letters(self) -> list[Path]:
        return list(self.directory.glob("aitask-letter-*"))


@pytest.fixture
def desk(server: ModelServer, tmp_path: Path) -> Desk:
    return Desk(server, tmp_path)


def test_nobody_waits_for_the_answer_and_a_later_call_finds_it(desk: Desk) -> None:
    assert desk.look() == desk.look() | {"ready": False, "held": ""}
    sent = desk.send("hold", note="evidence")
    assert (sent["held"], sent["changed"], sent["tries"]) == ("Pending", False, 0)
    until(lambda: desk.server.at_once == 1, "it was sent")
    assert (desk.look()["held"], desk.send("hold")["held"], desk.send("good", "another")["held"]) == (
        "Pending", "Pending", "Busy",
    )  # fmt: skip
    desk.server.let_go()
    desk.until_ready()
    assert {path.stat().st_mode & 0o777 for path in desk.letters()} == {0o600}
    assert all(TOKEN not in path.read_text() for path in desk.directory.iterdir())
    got = desk.send("hold", note="other evidence")
    assert (got["status"], got["note"], got["tries"], got["held"]) == (200, "evidence", 1, "")
    assert json.loads(got["body"])["choices"]
    assert (desk.letters(), len(desk.server.bodies)) == ([], 1)
    assert desk.send("good", "another")["held"] == "Pending", "the turn is free again"


def test_a_server_that_hangs_gives_a_late_answer(desk: Desk) -> None:
    desk.send("hang", seconds=0.5)
    desk.until_ready()
    assert desk.send("hang")["late"] is True


def test_a_letter_whose_sender_has_died_is_sent_again(desk: Desk) -> None:
    desk.send("hold")
    until(lambda: desk.server.at_once == 1, "it was sent")
    (path,) = desk.letters()
    for process in senders(path):
        os.kill(process, signal.SIGKILL)
    until(lambda: desk.look()["held"] == "", "nobody waits any more")
    assert desk.look()["ready"] is False
    assert desk.send("good")["held"] == "Pending"
    desk.until_ready()
    assert desk.send("good")["status"] == 200


def test_what_rests_is_not_sent_and_leaves_no_letter(desk: Desk) -> None:
    desk.send("unauthorized", revision="1")
    desk.until_ready()
    assert desk.send("unauthorized", revision="1")["status"] == 401
    assert desk.send("good", revision="1")["held"] == "Unauthorized"
    assert desk.letters() == []
    assert desk.send("good", revision="2")["held"] == "Pending"


def test_a_letter_that_nobody_reads_is_thrown_away_in_a_day(desk: Desk) -> None:
    old, foreign = desk.directory / f"aitask-letter-{os.geteuid()}-old", desk.directory / "somebody-else"
    for path in (old, foreign):
        path.write_text("{}")
        os.utime(path, (0, time.time() - 90000))
    desk.send("good")
    desk.until_ready()
    assert (old.exists(), foreign.exists()) == (False, True)


def test_what_a_killed_sender_left_is_thrown_away_in_a_day_and_without_certificates_nothing_is_left(desk: Desk) -> None:
    old, foreign = desk.directory / f"aitask-ca-{os.geteuid()}-old", desk.directory / "aitask-ca-0000-old"
    for path in (old, foreign):
        path.mkdir()
        (path / "ca.pem").write_text("")
        os.utime(path, (0, time.time() - 90000))
    desk.send("hold")
    until(lambda: desk.server.at_once == 1, "it was sent")
    assert list(desk.directory.glob("aitask-ca-*")) == [foreign]
    desk.server.let_go()


def test_a_question_whose_answer_has_no_room_is_not_sent(desk: Desk) -> None:
    """On a full volume: here files may have a thousand bytes."""
    url = f"{desk.server.url}/chat/completions"
    asked = {"url": url, "method": "POST", "body": "{}", "turn": "t", "letter": "l", "turns": str(desk.directory)}
    code = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
    code += "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    done = subprocess.run(
        [sys.executable, "-c", code, aitask_http.__file__], input=json.dumps({"ANSIBLE_MODULE_ARGS": asked}),
        capture_output=True, text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip
    assert json.loads(done.stdout)["error"].startswith("no letter can be sent: ")
    assert desk.look()["ready"] is False
    assert desk.server.bodies == []
    assert desk.send("good")["held"] == "Pending", "once there is room it goes"


def senders(letter: Path) -> list[int]:
    """Processes that have this file open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [str(link.readlink()) for link in (process / "fd").iterdir()]
        except OSError:
            continue
        found += [int(process.name)] if str(letter) in links else []
    return found
