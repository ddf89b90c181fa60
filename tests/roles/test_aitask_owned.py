"""One pass over a task that owns its target, on a real API server with the shipped rights.

The rules are covered by tests/unit/roles, a whole life by tests/behaviour/test_owned.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.roles.aitask_lab import Lab

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]


def template(**container: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "1000m", "memory": "64Mi"}}
    one = {"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": resources, **container}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [one]}}


def test_a_template_makes_a_deployment_and_a_pass_on_it_costs_no_more_than_any(space: Lab) -> None:
    args = ["{{ lookup('env', 'HOME') }}", "{% raw %}"]  # text is data
    space.task(template=template(args=args, env=[{"name": "EMPTY", "value": ""}]), replicas=2)
    done = space.run()
    assert all(r["code"] < 400 or r["code"] == 404 for r in done.requests), done.requests
    found = space.get("deployment", "web")
    (reference,) = found["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"], reference["controller"]) == ("AITask", "t", True)
    assert (found["spec"]["replicas"], space.status()["phase"]) == (2, "Pending")
    assert found["spec"]["template"]["spec"]["containers"][0]["args"] == args
    space.settled(2)
    space.start_clock()
    space.use("200m")
    measured = space.run()
    assert (space.status()["phase"], space.condition("TemplateApplied")) == ("Running", ("True", "Applied"))
    assert measured.writes("deployments") == []  # 1000m came back as 1, with all defaults, without the empty value
    assert (measured.executed <= 12, len(measured.requests) <= 6) == (True, True)


def test_two_that_make_it_at_once_never_take_over(space: Lab) -> None:
    """The task sees no Deployment, then somebody makes one: the apply conflicts and changes nothing."""
    space.task(template=template())
    labels = {"app": "other"}
    pods = {"metadata": {"labels": labels}, "spec": template(image="registry.k8s.io/pause:3.9")["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": pods}
    space.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    before = space.get("deployment", "web")["spec"]
    # As if it had been read a moment earlier; a variable of the command line wins over what a task registers.
    done = space.run(__aitask_deployment={"resources": [], "api_found": True})
    after = space.get("deployment", "web")
    assert (after["spec"], after["metadata"].get("ownerReferences")) == (before, None)
    assert done.requeue == "2s"
