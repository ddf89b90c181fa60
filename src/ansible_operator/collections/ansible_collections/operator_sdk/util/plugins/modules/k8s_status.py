#!/usr/bin/python
# Copyright the ansible-operator authors
# Apache License 2.0 (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_status
short_description: Write the status of a Kubernetes object
version_added: "0.1.0"
author: The ansible-operator authors (!UNKNOWN)
description:
  - Writes fields and conditions into the status of an object, through its status subresource.
  - Meant for content that implements the controller of that object; set C(manageStatus) to false in C(watches.yaml)
    where the content owns the whole status.
  - Nothing is written where nothing would change. A write that meets a conflict is made again on what is there by then.
options:
  api_version:
    description: API version of the object.
    type: str
    default: v1
    aliases: [api, version]
  kind:
    description: Kind of the object.
    type: str
    required: true
  name:
    description: Name of the object.
    type: str
    required: true
  namespace:
    description: Namespace of the object, if it has one.
    type: str
  status:
    description:
      - Fields to set, as a JSON merge patch, so that a field set to null is removed.
      - Conditions in C(conditions) are merged by type. They may carry fields that O(conditions) does not know.
      - One of O(status) and O(conditions) is required.
    type: dict
  conditions:
    description:
      - Conditions to set, checked against the Kubernetes API conventions and merged by type with those already there.
      - Without C(lastTransitionTime) the time changes when the status of the condition does.
    type: list
    elements: dict
  force:
    description: Replace the whole status instead of merging.
    type: bool
    default: false
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
requirements:
  - python >= 3.9
  - kubernetes >= 24.2.0
attributes:
  check_mode:
    description: Reports what would change and writes nothing.
    support: full
"""

EXAMPLES = r"""
- name: Set fields of the status
  operator_sdk.util.k8s_status:
    api_version: app.example.com/v1
    kind: Backup
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    status:
      phase: Running
      progressPercent: 40

- name: Set a condition
  operator_sdk.util.k8s_status:
    api_version: app.example.com/v1
    kind: Backup
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    conditions:
      - type: Ready
        status: "False"
        reason: WaitingForVolume
        message: the volume claim is not bound yet
"""

RETURN = r"""
result:
  description: The object, after the write where there was one.
  returned: success
  type: dict
"""

from datetime import datetime, timezone

from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.core import AnsibleK8SModule
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.exceptions import CoreException
from ansible_collections.operator_sdk.util.plugins.module_utils.status import check_conditions, merged

_ATTEMPTS = 5

ARGUMENTS = {
    "api_version": {"type": "str", "default": "v1", "aliases": ["api", "version"]},
    "kind": {"type": "str", "required": True},
    "name": {"type": "str", "required": True},
    "namespace": {"type": "str"},
    "status": {"type": "dict"},
    "conditions": {"type": "list", "elements": "dict"},
    "force": {"type": "bool", "default": False},
}


def changes_of(params):
    """What to write: the fields, with the checked conditions among them. Raises ValueError."""
    changes = dict(params["status"] or {})
    if params["conditions"]:
        if "conditions" in changes:
            raise ValueError("conditions stand both in status and in conditions; give them once")
        changes["conditions"] = check_conditions(params["conditions"])
    return changes


def write_status(client, resource, params, changes, check_mode):
    """Write until there is no conflict; the object as it then is, and whether it was changed."""
    from kubernetes.dynamic.exceptions import ConflictError

    for attempt in range(1, _ATTEMPTS + 1):
        instance = resource.get(name=params["name"], namespace=params["namespace"]).to_dict()
        old = instance.get("status") or {}
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: UP017 - Python 3.9
        new = merged(old, changes, now, params["force"])
        if new == old:
            return instance, False
        if check_mode:
            return {**instance, "status": new}, True
        try:
            # A PUT of the whole status, guarded by the resource version it was merged with.
            written = client.replace(resource.status, {**instance, "status": new}, namespace=params["namespace"])
            return written.to_dict(), True
        except ConflictError:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def main():
    """Entry point."""
    module = AnsibleK8SModule(
        argument_spec={**ARGUMENTS, **AUTH_ARG_SPEC},
        supports_check_mode=True,
        required_one_of=[("status", "conditions")],
    )
    params = module.params
    try:
        changes = changes_of(params)
        client = get_api_client(module)
        resource = client.resource(params["kind"], params["api_version"])
        if "status" not in resource.subresources:
            module.fail_json(
                msg=f"{params['kind']} {params['api_version']} has no status subresource; add it to the CRD"
            )
        result, changed = write_status(client, resource, params, changes, module.check_mode)
    except (CoreException, ValueError) as error:
        module.fail_json(msg=str(error))
    except Exception as error:  # the dynamic client's errors, which carry the server's words
        module.fail_json(
            msg=f"the status of {params['kind']} {params['name']} was not written: {error}",
            status=getattr(error, "status", None),
            reason=getattr(error, "reason", None),
        )
    module.exit_json(changed=changed, result=result)


if __name__ == "__main__":
    main()
