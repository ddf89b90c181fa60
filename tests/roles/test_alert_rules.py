"""The alerts as Prometheus' own tool evaluates them. Part of `make test-prometheus`: it needs that tool."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.roles.aitask_lab import ROOT
from tests.roles.test_real_prometheus import program

pytestmark = [pytest.mark.prometheus, pytest.mark.slow]

PASSES_OF = 'ansible_operator_reconciles_count{GVK="aiops.example.com/v1, Kind=KIND"}'
FAILED_OF = 'ansible_operator_reconcile_result{GVK="aiops.example.com/v1, Kind=KIND",result="failed"}'
TASK = 'resource_created_at_seconds{kind="AITask",namespace="shop",name="a"}'
OTHER = TASK.replace('"a"', '"b"')
BACKUPS = PASSES_OF.replace("KIND", "AITaskBackup")
PASSES, FAILED = PASSES_OF.replace("KIND", "AITask"), FAILED_OF.replace("KIND", "AITask")
HELD = 'aitask_held_total{reason="REASON"}'
CONDITION = 'ansible_operator_condition{kind="AITask",namespace="shop",name="a",type="TYPE"}'
REASON = CONDITION.replace("condition{", "condition_reason{").replace('"TYPE"', '"TYPE",reason="WHY"')
SUSPENDED = CONDITION.replace("TYPE", "Suspended")
BUSY = 'controller_runtime_active_workers{controller="aitask-v1-controller"}'
DEPTH = 'workqueue_depth{name="aitask-v1-controller",controller="aitask-v1-controller"}'
IDLE = {BUSY: "0x120", DEPTH: "0x120"}
HOURLY = "1+0x59 2+0x60"
"""Passes over a task that only the hourly net looks at."""
LEADER = 'leader_election_master_status{name="aitask-operator"}'
PERMITTED, BREACHED = CONDITION.replace("TYPE", "ActionPermitted"), CONDITION.replace("TYPE", "ThresholdBreached")
WELL = {LEADER: "1x120"}
"""A leader, who is no subject of the other cases."""


def reason_of(kind: str, why: str) -> str:
    """The series of a condition by its reason."""
    return REASON.replace("TYPE", kind).replace("WHY", why)


FIRES: list[tuple[str, dict[str, str], bool]] = [
    ("AITaskNotEvaluating", {TASK: "1x120", PASSES: "9x120", **IDLE}, True),
    ("AITaskNotEvaluating", {TASK: "1x120"}, True),
    ("AITaskNotEvaluating", {TASK: "1x120", PASSES: "0+1x120", **IDLE}, False),
    ("AITaskNotEvaluating", {PASSES: "9x120", **IDLE}, False),
    # Work that does not end is seen sooner.
    ("AITaskNotEvaluating", {TASK: "_x80 1x40", PASSES: "0x80 9x40", BUSY: "0x80 4x40", DEPTH: "0x120"}, True),
    ("AITaskNotEvaluating", {TASK: "_x80 1x40", PASSES: "0x80 9x40", BUSY: "0x120", DEPTH: "0x80 4x40"}, True),
    ("AITaskNotEvaluating", {TASK: "1x120", PASSES: "0+9x120", BUSY: "4x120", DEPTH: "9x120"}, False),
    # Passes over another kind are none over tasks.
    ("AITaskNotEvaluating", {TASK: "1x120", PASSES: "9x120", BACKUPS: "0+1x120", **IDLE}, True),
    # Long intervals, a start not long ago, and tasks that rest or wait for an edit.
    ("AITaskNotEvaluating", {TASK: "1x120", SUSPENDED: "0x120", PASSES: HOURLY, **IDLE}, False),
    ("AITaskNotEvaluating", {TASK: "_x60 1x60", PASSES: "_x60 9x60", **IDLE}, False),
    ("AITaskNotEvaluating", {TASK: "1x120", SUSPENDED: "1x120", PASSES: "9x120", **IDLE}, False),
    ("AITaskNotEvaluating", {TASK: "1x120", SUSPENDED: "0x120", PASSES: "9x120", **IDLE}, True),
    ("AITaskNotEvaluating", {TASK: "1x120", OTHER: "1x120", SUSPENDED: "1x120", PASSES: "9x120", **IDLE}, True),
    *(
        ("AITaskNotEvaluating", {TASK: "1x120", reason_of("Ready", why): "0x120", PASSES: "9x120", **IDLE}, fires)
        for why, fires in (("InvalidSpec", False), ("UnknownAction", False), ("TargetNotFound", True))
    ),
    ("AITaskPassesFail", {PASSES: "0+2x120", FAILED: "0+2x120"}, True),
    ("AITaskPassesFail", {PASSES: "0+4x120", FAILED: "0+1x120"}, False),
    ("AITaskPassesFail", {PASSES: "0+4x120", BACKUPS: "0+9x120", FAILED: "0+3x120"}, True),
    ("AITaskPassesFail", {PASSES: "0+4x120", FAILED_OF.replace("KIND", "AITaskRestore"): "0+9x120"}, False),
    ("AITaskHeld", {PERMITTED: "0x120", BREACHED: "1x120"}, True),
    ("AITaskHeld", {PERMITTED: "0x60 1 0x50", BREACHED: "1x120"}, False),
    ("AITaskHeld", {PERMITTED: "0x120", BREACHED: "0x120"}, False),
    ("AITaskHeld", {PERMITTED: "-1x120", BREACHED: "1x120"}, False),
    ("AITaskIneffective", {HELD.replace("REASON", "Ineffective"): "_x90 1x30"}, True),
    ("AITaskIneffective", {HELD.replace("REASON", "Ineffective"): "1x90 2x30"}, True),
    ("AITaskIneffective", {HELD.replace("REASON", "Ineffective"): "1x120"}, False),
    ("AITaskStorm", {HELD.replace("REASON", "Storm"): "_x110 1x10"}, True),
    ("AITaskStorm", {HELD.replace("REASON", "Storm"): "1x110 2x10"}, True),
    ("AITaskStorm", {HELD.replace("REASON", "Storm"): "1x120"}, False),
    ("AITaskStorm", {HELD.replace("REASON", "Cooldown"): "0+1x120"}, False),
    ("AITaskGuardAbsent", {reason_of("ActionPermitted", "GuardAbsent"): "0x120"}, True),
    ("AITaskGuardAbsent", {reason_of("Ready", "GuardAbsent"): "0x120"}, True),
    ("AITaskGuardAbsent", {reason_of("ActionPermitted", "Cooldown"): "0x120"}, False),
    # Installed since: the reason has changed, whatever the last look of a pass was.
    (
        "AITaskGuardAbsent",
        {reason_of("ActionPermitted", "GuardAbsent"): "0x110 _x10", "aitask_guard_installed": "0x120"},
        False,
    ),
    ("AITaskGuardAbsent", {}, False),
    ("AITaskNoLeader", {LEADER: "0x120"}, True),
    ("AITaskNoLeader", {LEADER: "_x120"}, True),
    ("AITaskNoLeader", {LEADER: "0x110 1x10"}, False),
]


def rules() -> list[dict[str, Any]]:
    spec: dict[str, Any] = yaml.safe_load((ROOT / "config" / "prometheus" / "rules.yaml").read_text())["spec"]
    return [rule for group in spec["groups"] for rule in group["rules"]]


def case(alert: str, series: dict[str, str], fires: bool) -> dict[str, Any]:
    """A test of promtool: what has fired two hours after the start."""
    rule = next(rule for rule in rules() if rule["alert"] == alert)
    labels = {"namespace": "shop", "name": "a", "kind": "AITask"} if alert == "AITaskHeld" else {}
    summary = rule["annotations"]["summary"].replace("{{ $labels.namespace }}/{{ $labels.name }}", "shop/a")
    if alert == "AITaskNoLeader" and "_" in series[LEADER]:
        labels = {"name": "aitask-operator"}  # absent() has those of its selector
    expected = {
        "exp_labels": {**rule["labels"], **labels},
        "exp_annotations": {**rule["annotations"], "summary": summary},
    }
    if alert == "AITaskHeld":
        expected["exp_labels"] |= {"type": "ActionPermitted"}
    return {
        "name": f"{alert} {series}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in {**WELL, **series}.items()],
        "alert_rule_test": [{"eval_time": "2h", "alertname": alert, "exp_alerts": [expected] if fires else []}],
    }


def test_each_alert_fires_when_it_should_and_not_otherwise(tmp_path: Path) -> None:
    tool = Path(program()).with_name("promtool")
    spec = yaml.safe_load((ROOT / "config" / "prometheus" / "rules.yaml").read_text())["spec"]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))
    tests = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [case(*given) for given in FIRES]}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests, width=1000))
    for arguments in (["check", "rules", "rules.yaml"], ["test", "rules", "tests.yaml"]):
        done = subprocess.run([str(tool), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert {given[0] for given in FIRES if given[2]} == {rule["alert"] for rule in rules()}
