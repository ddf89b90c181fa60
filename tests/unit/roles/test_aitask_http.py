"""The module that asks providers, as the process it is, against servers that do their worst."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.proxy.certificates import make_certificates
from tests.support.providers import Provider, serving
from tests.support.waiting import PATIENCE

MODULE = Path(__file__).parents[3] / "roles" / "aitask" / "library" / "aitask_http.py"
CANARY = "canary-4f1c9a"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as made:
        made.vector("up", "1")
        yield made


def ask(url: str, **arguments: Any) -> dict[str, Any]:
    """The module's result; the process must have ended."""
    given = json.dumps({"ANSIBLE_MODULE_ARGS": {"url": url, **arguments}})
    program = [sys.executable, str(MODULE)]
    done = subprocess.run(program, input=given, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert CANARY not in done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_answer_is_given_as_it_came(provider: Provider) -> None:
    done = ask(f"{provider.url}/api/v1/query?query=up", token=CANARY)
    assert (done["status"], done["cut"], done["error"], done["changed"]) == (200, False, "", False)
    assert json.loads(done["body"])["data"]["result"][0]["value"][1] == "1"
    assert provider.headers[0]["Authorization"] == f"Bearer {CANARY}"


def test_what_the_server_refuses_is_an_answer_too(provider: Provider) -> None:
    done = ask(f"{provider.url}/api/v1/query?query=%28")
    assert (done["status"], json.loads(done["body"])["errorType"]) == (400, "bad_data")


def test_a_redirect_is_not_followed(provider: Provider) -> None:
    assert ask(f"{provider.url}/redirect", token=CANARY)["status"] == 307
    assert ask(f"{provider.url}/redirect", token=CANARY, method="POST", body="{}")["status"] == 307
    assert provider.strayed == 0


def test_an_answer_that_drips_ends_at_the_deadline_and_so_does_the_process(provider: Provider) -> None:
    done = ask(f"{provider.url}/drip", seconds=1)
    assert (done["status"], done["error"], done["sent"]) == (0, "no answer within 1 s", True)


def test_a_huge_answer_is_cut_and_takes_no_memory(provider: Provider) -> None:
    done = ask(f"{provider.url}/huge", seconds=60)
    assert (done["status"], done["cut"], len(done["body"])) == (200, True, 65536)
    small, huge = peak(f"{provider.url}/api/v1/query?query=up"), peak(f"{provider.url}/huge")
    assert huge < small + 20_000, "the answer has 50 MB"


def peak(url: str) -> int:
    """The most memory that the module takes, in KiB."""
    given = json.dumps({"ANSIBLE_MODULE_ARGS": {"url": url, "seconds": 60}})
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)"
    code += "; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    program = [sys.executable, "-c", code, sys.executable, str(MODULE)]
    done = subprocess.run(program, input=given, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_server_that_repeats_the_token_does_not_get_it_into_the_result(provider: Provider) -> None:
    done = ask(f"{provider.url}/echo", token=CANARY)
    assert "*****" in done["body"]


def test_nobody_there_is_no_answer() -> None:
    done = ask("http://127.0.0.1:9", seconds=60, tries=2, pause=0)
    assert (done["status"], done["tries"], done["sent"]) == (0, 2, False)
    assert "refused" in done["error"]


@pytest.mark.parametrize(
    ("answers", "status", "tries"),
    [([503, 429], 200, 3), ([500, 500, 500], 500, 3), ([403], 403, 1), ([404], 404, 1), ([], 200, 1)],
)
def test_a_notice_is_tried_again_while_that_may_help(
    provider: Provider, answers: list[int], status: int, tries: int
) -> None:
    provider.statuses = answers
    done = ask(f"{provider.url}/hook", method="POST", body='{"ä": 1}', tries=3, pause=0)
    assert (done["status"], done["tries"], done["changed"]) == (status, tries, True)
    assert provider.notices == [{"ä": 1}] * tries
    assert {headers["Content-Type"] for headers in provider.headers} == {"application/json"}


def test_nothing_is_sent_in_check_mode(provider: Provider) -> None:
    assert ask(f"{provider.url}/hook", method="POST", body="{}", _ansible_check_mode=True)["status"] == 0
    assert provider.notices == []


def test_certificates_are_checked_against_the_bundle_that_was_given(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    with serving(made.context) as provider:
        provider.scalar("up", "1")
        url = f"{provider.url}/api/v1/query?query=up"
        assert ask(url, ca=made.authority.decode())["status"] == 200
        stranger = ask(url)
        other = ask(url, ca=make_certificates(tmp_path).authority.decode())
    assert (stranger["status"], other["status"]) == (0, 0)
    assert (stranger["sent"], other["sent"]) == (False, False), "a server that is not trusted gets nothing"
    assert "certificate verify failed" in stranger["error"].lower()
