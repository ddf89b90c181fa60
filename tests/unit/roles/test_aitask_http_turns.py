"""One request at a time to one server, and when to ask it at all: the module, as the process it is."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aitask_http
import pytest
from aitask_http import Breaker
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.proxy.certificates import make_certificates
from tests.support.models import ModelServer, serving_models
from tests.support.waiting import PATIENCE, until

MODULE = Path(aitask_http.__file__)
CANARY = "canary-4f1c9a"
NOW = 1_770_000_000.0


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving_models() as made:
        yield made


def call(server: ModelServer, turns: Path, model: str, **arguments: Any) -> dict[str, Any]:
    given = {
        "url": f"{server.url}/chat/completions", "method": "POST", "body": json.dumps({"model": model, "n": 1}),
        "token": CANARY, "turn": "main", "turns": str(turns), "seconds": PATIENCE,
    } | arguments  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(MODULE)], input=json.dumps({"ANSIBLE_MODULE_ARGS": given}),
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert CANARY not in done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ask(server: ModelServer, turns: Path, model: str, **arguments: Any) -> dict[str, Any]:
    """As the role does it: a letter goes out, and a later call finds the answer."""
    letter = f"letter-{time.monotonic_ns()}"

    def arrived() -> dict[str, Any] | None:
        found = call(server, turns, model, letter=letter, **arguments)
        return None if found["held"] == "Pending" else found

    return until(arrived, "the answer") or {}


# --- one at a time ---


def test_while_one_is_asking_no_other_is_and_nobody_waits(server: ModelServer, tmp_path: Path) -> None:
    assert call(server, tmp_path, "hold", letter="first")["held"] == "Pending"
    until(lambda: server.at_once == 1, "the first question")
    second = ask(server, tmp_path, "good")
    assert (second["held"], second["status"], second["tries"], second["changed"]) == ("Busy", 0, 0, False)
    assert ask(server, tmp_path, "good", breaker="another")["held"] == "Busy", "one at a time, whoever asks"
    elsewhere = ask(server, tmp_path, "good", turn="another")
    assert (elsewhere["held"], elsewhere["status"]) == ("", 200)
    server.let_go()
    until(lambda: ask(server, tmp_path, "good")["status"] == 200, "the turn is free again")


def test_the_file_of_a_turn_is_closed_to_others_and_tells_no_secret(server: ModelServer, tmp_path: Path) -> None:
    ask(server, tmp_path, "unauthorized", revision="r1")
    (file,) = tmp_path.glob("aitask-breaker-*")
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text()) == {"failures": 0, "reason": "Unauthorized", "until": 0.0, "revision": "r1"}


@pytest.mark.parametrize("kind", ["turn", "breaker"])
def test_a_link_in_the_place_of_the_file_is_not_followed(kind: str, server: ModelServer, tmp_path: Path) -> None:
    ask(server, tmp_path, "good")
    (file,) = tmp_path.glob(f"aitask-{kind}-*")
    other = tmp_path / "precious"
    other.write_text("untouched")
    file.unlink()
    file.symlink_to(other)
    done = ask(server, tmp_path, "good")
    assert (done["status"], done["error"].partition(":")[0]) == (0, "no letter can be sent")
    assert (other.read_text(), len(server.bodies)) == ("untouched", 1)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"failures": "many"}', "\x00" * 5000, '{"failures": 1e999}'])
def test_a_file_that_says_nothing_holds_nothing_back(content: str, server: ModelServer, tmp_path: Path) -> None:
    ask(server, tmp_path, "good")
    (file,) = tmp_path.glob("aitask-breaker-*")
    file.write_text(content)
    assert ask(server, tmp_path, "good")["status"] == 200
    assert json.loads(file.read_text())["failures"] == 0


# --- whether to ask at all ---


def test_after_five_failures_nothing_is_sent(server: ModelServer, tmp_path: Path) -> None:
    for _ in range(5):
        assert ask(server, tmp_path, "server-error")["status"] == 500
    held = ask(server, tmp_path, "good")
    assert (held["held"], held["tries"], len(server.bodies)) == ("CircuitOpen", 0, 5)
    assert held["until"].endswith("Z")


def test_who_wants_a_pause_gets_it(server: ModelServer, tmp_path: Path) -> None:
    begin = time.time()
    busy = ask(server, tmp_path, "busy")
    assert busy["status"] == 429
    held = ask(server, tmp_path, "good")
    assert (held["held"], held["until"], len(server.bodies)) == ("RateLimited", busy["until"], 1)
    (file,) = tmp_path.glob("aitask-breaker-*")
    assert 6 < json.loads(file.read_text())["until"] - begin < 7 + PATIENCE


@pytest.mark.parametrize(("model", "reason"), [("unauthorized", "Unauthorized"), ("not-found", "ProviderNotFound")])
def test_who_refuses_is_asked_again_when_the_configuration_changes(
    model: str, reason: str, server: ModelServer, tmp_path: Path
) -> None:
    ask(server, tmp_path, model, revision="1")
    held = ask(server, tmp_path, "good", revision="1")
    assert (held["held"], held["until"], len(server.bodies)) == (reason, "", 1)
    assert ask(server, tmp_path, "good", revision="2")["status"] == 200
    assert ask(server, tmp_path, "good", revision="1")["status"] == 200, "what succeeded is forgotten"


def test_who_refuses_one_model_or_credential_is_asked_with_another(server: ModelServer, tmp_path: Path) -> None:
    """Both stand: neither takes the place of the other."""
    ask(server, tmp_path, "unauthorized", breaker="a", revision="1")
    ask(server, tmp_path, "not-found", breaker="b", revision="2")
    assert ask(server, tmp_path, "good", breaker="c", revision="1")["status"] == 200
    held = [ask(server, tmp_path, "good", breaker=b, revision=r)["held"] for b, r in (("a", "1"), ("b", "2"))]
    assert held == ["Unauthorized", "ProviderNotFound"]


good = {"status": 200, "cut": False, "media": "application/json", "retry_after": None, "late": False}
BAD = (
    {"status": 0}, {"status": 500}, {"status": 0, "late": True}, {"status": 307}, {"cut": True}, {"media": "text/html"},
    {"status": 503}, {"media": ""},
)  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_the_breaker_opens_lets_a_probe_through_and_closes(bad: dict[str, Any]) -> None:
    answer, breaker = {**good, **bad}, Breaker()
    for number in range(1, 5):
        breaker = breaker.after(answer, NOW, "", 30)
        assert (breaker.failures, breaker.held(NOW, "")) == (number, "")
    breaker = breaker.after(answer, NOW, "", 30)
    assert [breaker.held(NOW + late, "") for late in (0, 299, 300)] == ["CircuitOpen", "CircuitOpen", ""]
    probed = breaker.after(answer, NOW + 300, "", 30)
    assert [probed.held(NOW + 300 + late, "") for late in (0, 299, 300)] == ["CircuitOpen", "CircuitOpen", ""]
    assert probed.after(good, NOW + 600, "", 30) == Breaker()


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [({"status": 400}, 300), ({"status": 413}, 300), ({"status": 422}, 300), ({"status": 0, "late": True}, 29)],
)
def test_what_one_question_is_at_fault_for_opens_the_circuit_for_nobody(fault: dict[str, Any], seconds: int) -> None:
    breaker = Breaker(4)
    for _ in range(5):
        breaker = breaker.after({**good, **fault}, NOW, "", seconds)
    assert breaker.held(NOW, "") == ""
    assert breaker.after({**good, "status": 500}, NOW, "", 30).held(NOW, "") == "CircuitOpen", "nor closes it"


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        ({"status": 429, "retry_after": 7.0}, 7),
        ({"status": 429, "retry_after": None}, 30),
        ({"status": 503, "retry_after": 120.0}, 120),
        ({"status": 429, "retry_after": 10.0**8}, 3600),
        ({"status": 429, "retry_after": 0.0}, 0),
    ],
)
def test_how_long_a_pause_is(answer: dict[str, Any], seconds: float) -> None:
    breaker = Breaker(failures=3).after({**good, **answer}, NOW, "", 30)
    assert breaker.until == NOW + seconds
    assert breaker.held(NOW + seconds, "") == ""
    assert seconds == 0 or breaker.held(NOW + seconds - 0.1, "") == "RateLimited"
    assert breaker.failures == 3, "a server that asks for patience has not failed"


@given(st.sampled_from(["CircuitOpen", "RateLimited"]), st.floats(0, 4e9), st.floats(0, 4e9))
def test_no_pause_is_longer_than_any_that_is_written(reason: str, until: float, now: float) -> None:
    """Also after the clock was set back."""
    held = Breaker(5, reason, until, "").held(now, "")
    assert held in ("", reason)
    assert not held or 0 < until - now <= 3600


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), ("0", 0.0), ("", None), ("soon", None), ("-5", None), ("1e3", None), ("\u0667", None),
     ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0), ("9" * 400, 999_999_999.0)],
)  # fmt: skip
def test_retry_after_is_read_as_http_spells_it(text: str, seconds: float | None) -> None:
    assert aitask_http._seconds_of(text) == seconds
    assert (aitask_http._seconds_of("Fri, 31 Dec 2199 23:59:59 GMT") or 0) > 0


# --- the request ---


def test_another_body_is_sent_once_to_a_server_that_does_not_know_the_first(
    server: ModelServer, tmp_path: Path
) -> None:
    first, second = (
        json.dumps({"model": "no-response-format", "response_format": {}}),
        '{"model": "no-response-format"}',
    )
    done = ask(server, tmp_path, "", body=first, otherwise=second)
    assert (done["status"], done["tries"]) == (200, 2)
    refused = ask(server, tmp_path, "bad-request", otherwise='{"model": "bad-request"}')
    assert (refused["status"], refused["tries"]) == (400, 2)
    other = ask(server, tmp_path, "server-error", otherwise='{"model": "good"}')
    assert (other["status"], other["tries"]) == (500, 1)


def test_both_requests_end_at_the_one_deadline(server: ModelServer, tmp_path: Path) -> None:
    done = ask(server, tmp_path, "bad-request", otherwise='{"model": "drip"}', seconds=2)
    assert (done["late"], done["status"], done["tries"]) == (True, 0, 2)
    assert 2 <= done["elapsed"] < 2 + PATIENCE


def test_a_server_that_hangs_up_may_have_read_the_question(server: ModelServer, tmp_path: Path) -> None:
    done = ask(server, tmp_path, "reset")
    assert (done["status"], done["sent"]) == (0, True)


def test_a_credential_that_comes_back_is_not_in_the_result(server: ModelServer, tmp_path: Path) -> None:
    body = json.dumps({"model": "echo", "messages": [{}, {"content": "told"}]})
    done = ask(server, tmp_path, "", body=body)
    assert "Bearer ****" in done["body"]
    assert done["media"] == "application/json"


def test_the_model_is_asked_over_tls_with_the_bundle_of_its_provider_and_redirects_are_not_followed(
    tmp_path: Path,
) -> None:
    made = make_certificates(tmp_path)
    with serving_models(made.context) as server:
        server.token = CANARY
        assert ask(server, tmp_path, "good", ca=made.authority.decode())["status"] == 200
        assert ask(server, tmp_path, "redirect", ca=made.authority.decode())["status"] == 307
        stranger = ask(server, tmp_path, "good")
    assert (stranger["status"], server.strayed, len(server.bodies)) == (0, 0, 2)
    assert "certificate verify failed" in stranger["error"].lower()
