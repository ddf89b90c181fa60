#!/usr/bin/python
# Copyright the ansible-operator authors
# Apache License 2.0 (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: osdk_metric
short_description: Report a metric to the operator
version_added: "0.1.0"
author: The ansible-operator authors (!UNKNOWN)
description:
  - Counts, sets or observes a value that the operator shows among its own Prometheus metrics.
  - A metric is made by its first report. It keeps its type, and the names of its labels, as long as the operator lives.
  - Exactly one of O(counter), O(gauge), O(histogram) and O(summary) is given. One that is empty makes the metric known
    and changes nothing.
options:
  name:
    description: Name of the metric.
    type: str
    required: true
  description:
    description: What it means, for people. The first report counts.
    type: str
    required: true
  labels:
    description:
      - Labels and their values, of which there are few. All reports of one metric have the same labels.
      - The operator of operator-sdk has none; content that is meant for both leaves them out.
    type: dict
  address:
    description:
      - Where the operator takes reports.
      - In a run of an operator that takes them elsewhere, that is the default. The operator says so in the environment
        variable E(ANSIBLE_OPERATOR_USER_METRICS_URL).
    type: str
    default: http://localhost:5050/metrics
  counter:
    description: A value that only grows.
    type: dict
    suboptions:
      increment:
        description: Add 1.
        type: bool
      add:
        description: Add this, which is not negative.
        type: float
  gauge:
    description: A value that may go up and down. Of several suboptions one is followed.
    type: dict
    suboptions:
      set:
        description: Set it to this.
        type: float
      increment:
        description: Add 1.
        type: bool
      decrement:
        description: Take 1 away.
        type: bool
      add:
        description: Add this.
        type: float
      subtract:
        description: Take this away.
        type: float
      set_to_current_time:
        description: Set it to the present time, in seconds.
        type: bool
  histogram:
    description: How often values fall into ranges.
    type: dict
    suboptions:
      observe:
        description: One value.
        type: float
  summary:
    description: How many values there were, and their sum.
    type: dict
    suboptions:
      observe:
        description: One value.
        type: float
attributes:
  check_mode:
    description: Reports nothing.
    support: full
"""

EXAMPLES = r"""
- name: Count a backup
  operator_sdk.util.osdk_metric:
    name: backups_total
    description: Backups that were made
    counter:
      increment: true

- name: Count a result
  operator_sdk.util.osdk_metric:
    name: backup_results_total
    description: Backups by result
    labels:
      result: failed
    counter:
      increment: true

- name: Tell how large the last one is
  operator_sdk.util.osdk_metric:
    name: last_backup_bytes
    description: Size of the last backup
    gauge:
      set: "{{ archive.stat.size }}"
"""

RETURN = r"""
msg:
  description: What is wrong with the report, in the operator's words, and what to do about it.
  returned: failure
  type: str
status_code:
  description: HTTP status of the operator's answer, where it answered.
  returned: failure
  type: int
"""

import json
from urllib.error import HTTPError, URLError

from ansible.module_utils.basic import AnsibleModule, env_fallback
from ansible.module_utils.urls import open_url

TYPES = ("counter", "gauge", "histogram", "summary")
_OBSERVATION = {"type": "dict", "options": {"observe": {"type": "float"}}}

ARGUMENTS = {
    "name": {"type": "str", "required": True},
    "description": {"type": "str", "required": True},
    "labels": {"type": "dict"},
    "address": {
        "type": "str",
        "default": "http://localhost:5050/metrics",
        "fallback": (env_fallback, ["ANSIBLE_OPERATOR_USER_METRICS_URL"]),
    },
    "counter": {"type": "dict", "options": {"increment": {"type": "bool"}, "add": {"type": "float"}}},
    "gauge": {
        "type": "dict",
        "options": {
            "set": {"type": "float"},
            "increment": {"type": "bool"},
            "decrement": {"type": "bool"},
            "add": {"type": "float"},
            "subtract": {"type": "float"},
            "set_to_current_time": {"type": "bool"},
        },
    },
    "histogram": _OBSERVATION,
    "summary": _OBSERVATION,
}


def report_of(params):
    """The document that the operator takes."""
    report = {"name": params["name"], "description": params["description"]}
    if params["labels"]:
        report["labels"] = params["labels"]
    for kind in TYPES:
        if params[kind] is not None:
            report[kind] = {key: value for key, value in params[kind].items() if value is not None}
    return report


def send(address, report):
    """What went wrong, as a text and a status; nothing where it went well."""
    headers = {"Content-Type": "application/json"}
    try:
        open_url(address, data=json.dumps(report), method="POST", headers=headers, use_proxy=False, timeout=30).close()
    except HTTPError as error:
        return {"msg": error.read().decode(errors="replace").strip() or str(error), "status_code": error.code}
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return {"msg": f"{address} does not answer: {reason}; is --user-metrics-bind-address 0, or address wrong?"}
    return {}


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec=ARGUMENTS,
        supports_check_mode=True,
        mutually_exclusive=[TYPES],
        required_one_of=[TYPES],
    )
    if not module.check_mode:
        failure = send(module.params["address"], report_of(module.params))
        if failure:
            module.fail_json(**failure)
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
