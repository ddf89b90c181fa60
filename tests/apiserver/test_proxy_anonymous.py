"""``--proxy-allow-anonymous``: the way the Go operator let everybody in, for sidecars and ``uri:`` tasks."""

from __future__ import annotations

import json
import urllib.request

import pytest

from tests.support.kinds import CONFIG_MAP, THING
from tests.support.operator import Start
from tests.support.project import Project

pytestmark = pytest.mark.apiserver


def test_whoever_comes_is_let_in_on_the_known_port_where_that_is_asked_for(
    namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "idle"})
    project.role("idle", "- ansible.builtin.debug:")
    operator = start("--proxy-allow-anonymous")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{operator.proxy_port}{CONFIG_MAP.path(namespace)}", timeout=10) as answer:
        assert json.load(answer)["kind"] == "ConfigMapList"
