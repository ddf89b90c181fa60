#!/usr/bin/python
"""One bounded HTTP request.

ansible.builtin.uri has no bound: it reads any body to its end (50 MB of series take 400 MB), its timeout is that of one
read, which an answer that drips never reaches, and a time-out of the task leaves the module's process running. This one
ends at its deadline whatever happens, reads no more than `limit` bytes and follows no redirect. The request itself is
Ansible's (TLS, proxies, certificates).

A request whose answer takes longer than a pass should last goes as a `letter`: a process of its own sends it and leaves
the answer in a file, where a later call with the same name finds it. Runs are few at once (one, in a pod with half a
CPU), and one that waited would keep all others waiting.

A letter takes a `turn`: one file for all processes of the machine, locked while the request goes on, so that there is
never a second one. Nobody waits for it. In another, for each `breaker`, stands how the last ones went (`Breaker`), and
whether to ask at all: of one server, one model or credential may be refused and another not.

All in one file, for a role's module_utils would make every module of every run slow.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from urllib.error import HTTPError, URLError

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

DOCUMENTATION = r"""
module: aitask_http
short_description: One bounded HTTP request
description:
  - Ends at its deadline, reads at most O(limit) bytes, follows no redirect. What the server answers is no failure.
options:
  url: {type: str, required: true, description: Address.}
  method: {type: str, choices: [GET, POST], default: GET, description: Method.}
  body: {type: str, default: "", description: JSON to send.}
  token: {type: str, default: "", description: Bearer token.}
  ca: {type: str, default: "", description: Certificates (PEM) to trust instead of those of the system.}
  seconds: {type: float, default: 8, description: Longest time for one try, from the name of the host to the last byte.}
  tries: {type: int, default: 1, description: How often to try, while nothing answers or the server has a fault.}
  pause: {type: float, default: 1, description: Seconds between two tries.}
  limit: {type: int, default: 65536, description: Longest answer in bytes.}
  otherwise:
    type: str
    default: ""
    description: JSON to send instead after 400 or 422, once and in what is left of O(seconds).
  turn: {type: str, default: "", description: Whose turn is taken for a letter.}
  breaker: {type: str, default: "", description: "Whose failures count together; if left out, those of O(turn)."}
  turns: {type: path, default: /tmp, description: "Directory of the turns; the same for all runs, as TMPDIR is not."}
  revision:
    type: str
    default: ""
    description: Of the configuration; after 401, 403 or 404 nothing is sent until it changes.
  letter:
    type: str
    default: ""
    description: Name under which the answer is left for a later call. Needs O(turn).
  note: {type: str, default: "", description: What comes back with the answer to a letter.}
  peek: {type: bool, default: false, description: "Only tell how the letter stands: sends nothing, takes nothing."}
author: [The aitask-operator authors]
"""
EXAMPLES = r"""
- name: Ask
  aitask_http:
    url: https://prometheus.example.com/api/v1/query?query=up
"""
RETURN = r"""
status: {returned: always, type: int, description: Status of the answer; 0 if there is none.}
body: {returned: always, type: str, description: "The answer, cut at O(limit)."}
cut: {returned: always, type: bool, description: Whether it is longer.}
error: {returned: always, type: str, description: Why there is no answer.}
tries: {returned: always, type: int, description: Number of requests.}
sent: {returned: always, type: bool, description: Whether the server may have got the last of them whole.}
late: {returned: always, type: bool, description: Whether there was no whole answer within O(seconds).}
media: {returned: always, type: str, description: "Type of the body, without parameters."}
held:
  returned: always
  type: str
  description: >-
    Why nothing was sent: Busy, CircuitOpen, RateLimited, Unauthorized, ProviderNotFound; or Pending, where the answer
    to the letter is awaited; else empty.
until: {returned: always, type: str, description: "When it may be sent again, RFC 3339, if that is known."}
elapsed: {returned: always, type: float, description: Seconds that it took.}
note: {returned: with the answer to a letter, type: str, description: O(note) of the call that sent it.}
ready: {returned: with O(peek), type: bool, description: Whether the answer is there.}
"""

_TRY_AGAIN = (0, 408, 425, 429, 500, 502, 503, 504)
_NO_FORMAT = (400, 422)
_NOTHING: dict[str, Any] = {
    "status": 0, "body": "", "cut": False, "error": "", "late": False, "media": "", "retry_after": None,
    "sent": False,
}  # fmt: skip
_FAILURES = 5
_OPEN_SECONDS = 300.0
_UNSAID_SECONDS = 30.0
"""After 429 without a Retry-After."""
_LONGEST_WAIT = 3600.0
_LETTER_SECONDS = 86400.0
"""An answer that nobody has asked for by then is thrown away."""
_FAULTS_OF_THE_QUESTION = (400, 413, 422)
_FAIR_SECONDS = 30.0
"""Who gives a server less has no say in whether it is well."""
_DIRECTORIES = "aitask-ca-"
_REFUSALS = {401: "Unauthorized", 403: "Unauthorized", 404: "ProviderNotFound"}


@dataclass(frozen=True)
class Breaker:
    """Whether to ask a server, by how the last requests went. Times are in seconds since 1970."""

    failures: int = 0
    """In a row."""
    reason: str = ""
    """Why not to ask: CircuitOpen and RateLimited until `until`; a refusal until the configuration changes."""
    until: float = 0.0
    revision: str = ""

    def held(self, now: float, revision: str) -> str:
        """The reason, while it stands. After the time of CircuitOpen one request is let through as a probe."""
        if self.reason in _REFUSALS.values():
            return self.reason if self.revision == revision else ""
        # A time further ahead than any that is written: the clock was set back.
        return self.reason if now < self.until <= now + _LONGEST_WAIT else ""

    def after(self, answer: dict[str, Any], now: float, revision: str, seconds: float) -> Breaker:
        """As it stands after this answer, for which there were so many seconds. Others ask the same server: what is the
        fault of the question alone (too long for the model, or no time given) is no failure of it."""
        status, wait = answer["status"], answer["retry_after"]
        if status in _REFUSALS:
            return Breaker(self.failures, _REFUSALS[status], 0.0, revision)
        if status == 429 or (status == 503 and wait is not None):
            wait = _UNSAID_SECONDS if wait is None else min(wait, _LONGEST_WAIT)
            return Breaker(self.failures, "RateLimited", now + wait, revision)
        if status == 200 and not answer["cut"] and answer["media"] == "application/json":
            return Breaker()
        if status in _FAULTS_OF_THE_QUESTION or (answer["late"] and seconds < _FAIR_SECONDS):
            return Breaker(self.failures)
        failures = self.failures + 1
        is_open = failures >= _FAILURES
        return Breaker(failures, "CircuitOpen" if is_open else "", now + _OPEN_SECONDS if is_open else 0.0, revision)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "method": {"type": "str", "choices": ["GET", "POST"], "default": "GET"},
            "body": {"type": "str", "default": ""},
            "token": {"type": "str", "default": "", "no_log": True},
            "ca": {"type": "str", "default": ""},
            "seconds": {"type": "float", "default": 8},
            "tries": {"type": "int", "default": 1},
            "pause": {"type": "float", "default": 1},
            "limit": {"type": "int", "default": 65536},
            **{name: {"type": "str", "default": ""} for name in ("otherwise", "turn", "breaker", "revision")},
            **{name: {"type": "str", "default": ""} for name in ("letter", "note")},
            "peek": {"type": "bool", "default": False},
            "turns": {"type": "path", "default": "/tmp"},  # guarded, see _locked
        },
        supports_check_mode=True,
    )
    asked = dict(module.params)
    if module.check_mode and asked["method"] != "GET":
        module.exit_json(changed=True, **_result({**_NOTHING, "error": "not sent in check mode"}, 0))
    asked["ca_path"] = _written(asked["ca"], module.tmpdir)
    result = _by_letter(asked) if asked["letter"] else _asked(asked)
    # The thread of a try that is late ends with the process.
    module.exit_json(changed=asked["method"] != "GET" and result["tries"] > 0, **result)


def _result(
    answer: dict[str, Any], tries: int, elapsed: float = 0.0, held: str = "", until: float = 0.0
) -> dict[str, Any]:
    moment = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if until else ""
    shown = {name: value for name, value in answer.items() if name != "retry_after"}
    return {**shown, "tries": tries, "elapsed": round(elapsed, 3), "held": held, "until": moment}


def _guarded(asked: dict[str, Any]) -> dict[str, Any]:
    """The request, if the server is fit to be asked. Whose turn it is sees the caller to."""
    breaker = _read_breaker(asked)
    held = breaker.held(time.time(), asked["revision"])
    if held:
        return _result(dict(_NOTHING), 0, held=held, until=breaker.until)
    answer, tries, elapsed = _sent_within(asked)
    breaker = breaker.after(answer, time.time(), asked["revision"], asked["seconds"])
    _write_breaker(asked, breaker)
    return _result(answer, tries, elapsed, until=breaker.until)


def _read_breaker(asked: dict[str, Any]) -> Breaker:
    """What cannot be read says nothing, and the server is asked. Whoever has the turn is alone with it."""
    with os.fdopen(_opened_for_us(_path(asked, "breaker"))) as file:
        try:
            raw = json.loads(file.read(4096))
            return Breaker(int(raw["failures"]), str(raw["reason"]), float(raw["until"]), str(raw["revision"]))
        except (ValueError, TypeError, KeyError, OverflowError):
            return Breaker()


def _write_breaker(asked: dict[str, Any], breaker: Breaker) -> None:
    with os.fdopen(_opened_for_us(_path(asked, "breaker")), "w") as file:
        file.truncate()
        file.write(json.dumps(asdict(breaker)))


def _path(asked: dict[str, Any], kind: str) -> Path:
    name = asked[kind] or asked["turn"]
    digest = sha256(name.encode()).hexdigest()[:16]
    return Path(asked["turns"]) / f"aitask-{kind}-{os.geteuid()}-{digest}"


def _opened_for_us(path: Path) -> int:
    """The file, new or old. One of another user, or a link, which may lie in a directory that is open to all, is not
    touched."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(file)
        raise OSError(f"{path} is no file of this user; remove it")
    return file


def _locked(path: Path) -> int | None:
    """The locked file, None if another process has it. It is left open: the lock ends with the process, however that
    ends, and with it a request that is late."""
    file = _opened_for_us(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _by_letter(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer that is there; else a letter goes out, if none is on its way. Its file is locked by who waits for the
    answer, empty until then, and gone once it is read."""
    path = _path(asked, "letter")
    try:
        if asked["peek"]:
            return _peeked(path)
        letter = _locked(path)
        if letter is None:
            return _result(dict(_NOTHING), 0, held="Pending")
        answer = _opened(path, letter)
        return answer or _posted(asked, path, letter)
    except OSError as error:
        return _result({**_NOTHING, "error": f"no letter can be sent: {error}"}, 0)


def _peeked(path: Path) -> dict[str, Any]:
    letter = _locked(path) if path.exists() else None
    ready = letter is not None and os.fstat(letter).st_size > 0
    held = "Pending" if letter is None and path.exists() else ""
    if letter is not None:
        os.close(letter)
    return {**_result(dict(_NOTHING), 0, held=held), "ready": ready}


def _opened(path: Path, letter: int) -> dict[str, Any] | None:
    """What the letter has brought; None if it was just made, or whoever waited has died."""
    try:
        found = json.loads(os.pread(letter, os.fstat(letter).st_size, 0))
    except ValueError:
        return None
    path.unlink()
    os.close(letter)
    return found if isinstance(found, dict) else None


def _posted(asked: dict[str, Any], path: Path, letter: int) -> dict[str, Any]:
    turn = _locked(_path(asked, "turn"))
    held, breaker = "Busy", Breaker()
    if turn is not None:
        breaker = _read_breaker(asked)
        held = breaker.held(time.time(), asked["revision"])
    if not held and turn is not None:
        _make_sure_of_room(letter, asked["limit"])
        _detach(lambda: _write(letter, {**_guarded_alone(asked), "note": asked["note"]}), (letter, turn))
    else:
        path.unlink()
    for file in (letter, turn):  # their locks stay with the other process
        if file is not None:
            os.close(file)
    return _result(dict(_NOTHING), 0, held=held or "Pending", until=breaker.until if held else 0.0)


def _make_sure_of_room(letter: int, limit: int) -> None:
    """An answer that cannot be left would be paid for, and asked for again. Raises OSError on a full volume."""
    try:
        os.posix_fallocate(letter, 0, limit)
    finally:
        os.ftruncate(letter, 0)


def _guarded_alone(asked: dict[str, Any]) -> dict[str, Any]:
    """Without the directory of the module, which has gone by then."""
    _throw_away(Path(asked["turns"]))
    if not asked["ca"]:
        return _guarded({**asked, "ca_path": None})
    with TemporaryDirectory(dir=asked["turns"], prefix=f"{_DIRECTORIES}{os.geteuid()}-") as directory:
        return _guarded({**asked, "ca_path": _written(asked["ca"], directory)})


def _write(file: int, answer: dict[str, Any]) -> None:
    os.pwrite(file, json.dumps(answer).encode(), 0)


def _throw_away(directory: Path) -> None:
    """Letters of tasks that are no more, and directories of senders that were killed."""
    for kind in ("aitask-letter-", _DIRECTORIES):
        for path in directory.glob(f"{kind}{os.geteuid()}-*"):
            with suppress(OSError):
                found = path.lstat()
                if time.time() - found.st_mtime > _LETTER_SECONDS:
                    (rmtree if stat.S_ISDIR(found.st_mode) else os.unlink)(path)


def _detach(work: Callable[[], None], files: tuple[int, ...]) -> None:
    """In a process that neither the module nor its run waits for. It keeps these files and no other."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _let_go_of_all_but(files)
            work()
    finally:
        os._exit(0)


def _let_go_of_all_but(files: tuple[int, ...]) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    kept = sorted({2, *files})
    for low, high in zip(kept, [*kept[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(low + 1, high)


def _asked(asked: dict[str, Any]) -> dict[str, Any]:
    begin = time.monotonic()
    for number in range(1, asked["tries"] + 1):
        answer, _, _ = _sent_within(asked)
        if answer["status"] not in _TRY_AGAIN or number == asked["tries"]:
            break
        time.sleep(asked["pause"])
    return _result(answer, number, time.monotonic() - begin)


def _sent_within(asked: dict[str, Any]) -> tuple[dict[str, Any], int, float]:
    """The answer, the number of requests, and the seconds it took. `otherwise` has what is left of the same time."""
    begin = time.monotonic()
    answer, tries = _within(asked), 1
    left = asked["seconds"] - (time.monotonic() - begin)
    if asked["otherwise"] and answer["status"] in _NO_FORMAT and left > 0:
        answer, tries = _within({**asked, "body": asked["otherwise"], "seconds": left}), 2
    return answer, tries, time.monotonic() - begin


def _written(ca: str, directory: str) -> str | None:
    """Certificates are trusted by file; it goes with the module's directory."""
    if not ca:
        return None
    path = Path(directory) / "ca.pem"
    path.write_text(ca)
    return str(path)


def _within(asked: dict[str, Any]) -> dict[str, Any]:
    """One try. No time-out of a socket bounds the whole: not the look-up of the host, and not an answer that drips."""
    answers: list[dict[str, Any]] = []
    thread = Thread(target=lambda: answers.append(_try(asked)), daemon=True)
    thread.start()
    thread.join(asked["seconds"])
    late = {**_NOTHING, "sent": True, "late": True, "error": f"no answer within {asked['seconds']:.3g} s"}
    return answers[0] if answers else late


def _try(asked: dict[str, Any]) -> dict[str, Any]:
    headers = {"Accept": "application/json"}
    if asked["token"]:
        headers["Authorization"] = f"Bearer {asked['token']}"
    if asked["method"] == "POST":
        headers["Content-Type"] = "application/json"
    try:
        answer = _sent(asked, headers)
        got = {"sent": True, "status": answer.code}
        return {**_NOTHING, **got, **_read(answer, asked["limit"]), **_said(answer.headers)}
    except Exception as error:  # whatever the library and the network throw: it is no answer
        reason = error.reason if isinstance(error, URLError) else error
        late = isinstance(reason, TimeoutError)
        # urllib gives a URLError for what goes wrong up to the last byte of the request, and for nothing after it.
        sent = not isinstance(error, URLError)
        return {**_NOTHING, "sent": sent, "late": late, "error": str(reason) or type(error).__name__}


def _sent(asked: dict[str, Any], headers: dict[str, str]) -> Any:
    try:
        return open_url(
            asked["url"], method=asked["method"], headers=headers, data=asked["body"].encode() or None,
            timeout=asked["seconds"], ca_path=asked["ca_path"], http_agent="aitask-operator",
            follow_redirects="none", use_netrc=False, decompress=False,
        )  # fmt: skip
    except HTTPError as refusal:
        return refusal


def _read(answer: Any, limit: int) -> dict[str, Any]:
    body = answer.read(limit + 1) if answer.fp is not None else b""
    return {"body": body[:limit].decode(errors="replace"), "cut": len(body) > limit}


def _said(headers: Any) -> dict[str, Any]:
    media = str(headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    return {"media": media, "retry_after": _seconds_of(str(headers.get("Retry-After") or ""))}


def _seconds_of(text: str) -> float | None:
    """Retry-After (RFC 9110, 10.2.3): seconds, or a date."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


if __name__ == "__main__":
    main()
