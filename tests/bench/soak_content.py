"""What the operator of the soak watches and plays."""

from __future__ import annotations

from typing import Any

WATCHES = """
- {group: soak.example.com, version: v1, kind: Soak, role: soak, markUnsafe: true, maxRunnerArtifacts: 2}
"""

TASKS = """
- name: Do nothing
  ansible.builtin.debug: {msg: "{{ outcome }}"}
- name: Make a ConfigMap
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ ansible_operator_meta.name }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
      data:
        round: "{{ round | string }}"
  when: outcome == 'call'
- name: Fail
  ansible.builtin.fail: {msg: as asked}
  when: outcome == 'fail'
- name: Take too long, with a process in the background
  ansible.builtin.shell: sleep 600 & sleep 600
  when: outcome == 'hang'
- name: Be killed
  ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.pipe', 'kill -9 $PPID') }}"}
  when: outcome == 'kill'
"""

MIX = {"hang": 1, "kill": 3, "fail": 10, "call": 26}
"""Runs of each outcome among a hundred; the others are quiet."""

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "soaks.soak.example.com"},
    "spec": {
        "group": "soak.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Soak", "plural": "soaks", "singular": "soak", "listKind": "SoakList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def outcome(number: int, round_number: int, mix: bool) -> str:
    """What becomes of the run of an object in a round."""
    if not mix:
        return "call"
    place = (number * 37 + round_number * 61) % 100
    for name, share in MIX.items():
        if place < share:
            return name
        place -= share
    return "quiet"
