#!/usr/bin/python
"""One bounded HTTP request.

ansible.builtin.uri has no bound: it reads any body to its end (50 MB of series take 400 MB), its timeout is that of one
read, which an answer that drips never reaches, and a time-out of the task leaves the module's process running. This one
ends at its deadline whatever happens, reads no more than `limit` bytes and follows no redirect. The request itself is
Ansible's (TLS, proxies, certificates).
"""

from __future__ import annotations

import time
from pathlib import Path
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
tries: {returned: always, type: int, description: Number of tries.}
"""

_TRY_AGAIN = (0, 408, 425, 429, 500, 502, 503, 504)


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
        },
        supports_check_mode=True,
    )
    asked = dict(module.params)
    if module.check_mode and asked["method"] != "GET":
        module.exit_json(changed=True, status=0, body="", cut=False, error="not sent in check mode", tries=0)
    asked["ca_path"] = _written(asked["ca"], module.tmpdir)
    for number in range(1, asked["tries"] + 1):
        answer = _within(asked)
        if answer["status"] not in _TRY_AGAIN or number == asked["tries"]:
            break
        time.sleep(asked["pause"])
    # The thread of a try that is late ends with the process.
    module.exit_json(changed=asked["method"] != "GET", tries=number, **answer)


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
    late = {"status": 0, "body": "", "cut": False, "error": f"no answer within {asked['seconds']:g} s"}
    return answers[0] if answers else late


def _try(asked: dict[str, Any]) -> dict[str, Any]:
    headers = {"Accept": "application/json"}
    if asked["token"]:
        headers["Authorization"] = f"Bearer {asked['token']}"
    if asked["method"] == "POST":
        headers["Content-Type"] = "application/json"
    try:
        answer = _sent(asked, headers)
        return {"status": answer.code, "error": "", **_read(answer, asked["limit"])}
    except Exception as error:  # whatever the library and the network throw: it is no answer
        reason = error.reason if isinstance(error, URLError) else error
        return {"status": 0, "body": "", "cut": False, "error": str(reason) or type(error).__name__}


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


if __name__ == "__main__":
    main()
