"""A person's yes to one act, with real users' rights: the guard stands between the annotation and whoever sets it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.behaviour.scene import AITASK, ALWAYS, SCALE, Scene, moment
from tests.roles.aitask_lab import ROOT
from tests.support.kinds import DEPLOYMENT
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

APPROVE = "aiops.example.com/approve"
ASKING: dict[str, Any] = {**ALWAYS, "policy": {"approval": "Always"}}


def proposed(scene: Scene, other_than: str = "") -> dict[str, Any]:
    """The proposal that waits."""

    def waits(task: dict[str, Any]) -> bool:
        found = task.get("status", {}).get("proposal", {})
        return found.get("state") == "Pending" and found["id"] != other_than

    proposal: dict[str, Any] = scene.wait(waits, "a proposal waits")["status"]["proposal"]
    return proposal


def answer(scene: Scene, text: str) -> None:
    """As an administrator does it."""
    scene.api.patch(AITASK, "t", scene.namespace, {"metadata": {"annotations": {APPROVE: text}}})


def stands(scene: Scene, state: str) -> dict[str, Any]:
    """The proposal, once it has come to this."""

    def there(task: dict[str, Any]) -> bool:
        return bool(task["status"].get("proposal", {}).get("state") == state)

    proposal: dict[str, Any] = scene.wait(there, f"the proposal is {state}")["status"]["proposal"]
    return proposal


@pytest.mark.behaviour(
    case="approval: approved",
    sees="ActionPermitted=False AwaitingApproval with the id, what would be done and until when; once approved it is "
    "done at once, not at the next interval; the proposal is Approved and its id stands on the target",
)
def test_an_approved_act_is_done_at_once(web: Scene) -> None:
    web.task(**ASKING, intervalSeconds=3600)
    proposal = proposed(web)
    assert proposal["parameters"] == "scale web 3 -> 4"
    web.sees("ActionPermitted", "False", "AwaitingApproval", "scale web 3 -> 4", proposal["id"], "before", "next look")
    web.until_events(("AITask", "ApprovalRequired"))
    assert web.acts() == []
    start = time.monotonic()
    answer(web, proposal["id"])
    acts = web.until_acts(1)
    seconds = time.monotonic() - start
    assert acts[0]["metadata"]["annotations"]["aiops.example.com/last-action"] == proposal["id"]
    stands(web, "Approved")
    assert (web.replicas(), len(web.acts())) == (4, 1)
    print(f"approved and done after {seconds:.1f} s")
    assert seconds < 3600 * SCALE / 2, "waited for the next interval"


@pytest.mark.behaviour(
    case="approval: denied",
    sees="ActionPermitted=False ApprovalDenied with the id; nothing is done while the breach lasts",
)
def test_a_denied_act_is_not_done(web: Scene) -> None:
    web.task(**ASKING)
    proposal = proposed(web)
    answer(web, f"deny:{proposal['id']}")
    web.sees("ActionPermitted", "False", "ApprovalDenied", proposal["id"], "scale web 3 -> 4")
    answer(web, proposal["id"])
    web.evaluated()
    assert (web.status()["proposal"]["state"], web.acts()) == ("Denied", [])
    web.until_events(("AITask", "ApprovalRequired"), ("AITask", "ApprovalDenied"))


@pytest.mark.behaviour(
    case="approval: not in time",
    sees="ActionPermitted=False ApprovalExpired with the time at which it is asked again; never executed",
)
def test_an_expired_proposal_is_never_executed(web: Scene) -> None:
    web.task(**ALWAYS, policy={"approval": "Always", "approvalTimeoutSeconds": 60})
    proposal = proposed(web)
    assert (moment(proposal["expiresAt"]) - moment(proposal["createdAt"])).total_seconds() == 60 * SCALE
    web.sees("ActionPermitted", "False", "ApprovalExpired", proposal["id"], "asks again at")
    answer(web, proposal["id"])
    web.evaluated()
    assert (web.status()["proposal"]["state"], web.acts()) == ("Expired", [])


@pytest.mark.behaviour(
    case="approval for an older proposal, or target changed since",
    sees="the old proposal is Superseded (Event, history) and not executed; a new one with another id waits",
)
@pytest.mark.parametrize("change", ["target", "spec"])
def test_an_approval_of_what_was_proposed_before_a_change_is_not_executed(web: Scene, change: str) -> None:
    web.task(**ASKING)
    old = proposed(web)["id"]
    if change == "target":
        web.api.patch(DEPLOYMENT, "web", web.namespace, {"spec": {"minReadySeconds": 1}})
    else:
        web.edit(historyLimit=7)
    answer(web, old)
    new = proposed(web, other_than=old)["id"]
    web.sees("ActionPermitted", "False", "AwaitingApproval", new, old, "no answer to this proposal")
    web.evaluated()
    assert web.acts() == []
    assert ("AITask", "ProposalSuperseded") in web.events()
    assert [(entry["id"], entry["result"]) for entry in web.status()["history"]][:2] == [
        (new, "Proposed"),
        (old, "Superseded"),
    ]


@pytest.mark.behaviour(
    case="who may approve",
    sees="without the verb approve on aitasks/approval the annotation is refused, also for whoever may write tasks; "
    "with it, kubectl annotate and playbooks/approve.yml do the same",
)
def test_only_an_approver_approves_by_playbook_or_by_hand(web: Scene) -> None:
    web.task(**ASKING)
    identity = proposed(web)["id"]
    for user, rights in {"author": (), "approver": (("approve", "aitasks.aiops.example.com/approval"),)}.items():
        for verb, resource in (("get,list,patch,update", "aitasks.aiops.example.com"), *rights):
            name = f"{user}-{verb.split(',')[0]}"
            web.kubectl("create", "role", name, f"--verb={verb}", f"--resource={resource}")
            subject = f"--serviceaccount={web.namespace}:{user}"
            web.kubectl("create", "rolebinding", name, f"--role={name}", subject)
        web.kubectl("create", "serviceaccount", user)
    note = ("annotate", "--overwrite", "aitask/t", f"{APPROVE}={identity}")
    refused = web.kubectl(*note, check=False, user=f"system:serviceaccount:{web.namespace}:author")
    assert "needs the verb approve on aitasks/approval" in refused
    arguments = (f"-eaitask_namespace={web.namespace}", "-eaitask_name=t")
    approver = web.cluster.service_account_kubeconfig(web.namespace, "approver", web.directory / "approver")
    play = ROOT / "playbooks" / "approve.yml"
    wrong = web.playbook(play, *arguments, "-eaitask_proposal=0123", kubeconfig=approver)
    assert (wrong.code != 0, "is not the one that waits" in wrong.output) == (True, True)
    assert web.acts() == []
    done = web.playbook(play, *arguments, f"-eaitask_proposal={identity}", kubeconfig=approver)
    assert done.code == 0, done.output
    until(lambda: len(web.acts()) == 1, "it is done", web.patience, web.api.checks)
    assert stands(web, "Approved")["id"] == identity
