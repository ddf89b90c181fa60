#!/usr/bin/python
# Copyright the ansible-operator authors
# Apache License 2.0 (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_event
short_description: Tell of something by a Kubernetes Event
version_added: "0.1.0"
author: The ansible-operator authors (!UNKNOWN)
description:
  - Writes a core/v1 Event about an object, as C(kubectl describe) and C(kubectl get events) show it.
  - An Event that is there under the same name and with the same reason is not made again, its count rises.
  - An operator that runs the content never becomes the owner of the Event. The API server removes it after a while.
options:
  state:
    description: Whether the Event shall be there. V(absent) removes it.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: Name of the Event.
    type: str
    required: true
  namespace:
    description:
      - Namespace of the Event, which is that of the object it is about.
      - For an object that has no namespace it is V(default).
    type: str
    required: true
  message:
    description: What has happened, for a person.
    type: str
    required: true
  reason:
    description: Why it is told, as one CamelCase word for programs.
    type: str
    required: true
  type:
    description: How it is meant.
    type: str
    choices: [Normal, Warning]
    default: Normal
  reportingComponent:
    description: Name of the controller that tells of it, such as V(example.com/backup-operator).
    type: str
  source:
    description: Where it comes from, with the keys C(component) and C(host).
    type: dict
  involvedObject:
    description:
      - The object that the Event is about, with the keys C(apiVersion), C(kind), C(name) and C(namespace).
      - Its C(uid) is looked up where it is not given; C(kubectl describe) shows only Events that have it.
    type: dict
  appendTimestamp:
    description: Put the time behind the name, so that each time an Event of its own is made.
    type: bool
    default: false
  merge_type:
    description: Kind of patch by which an Event that is there is changed. The first of the list is used.
    type: list
    elements: str
    choices: [json, merge, strategic-merge]
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
requirements:
  - python >= 3.9
  - kubernetes >= 24.2.0
attributes:
  check_mode:
    description: Reports what would be written and writes nothing.
    support: full
"""

EXAMPLES = r"""
- name: Tell of the backup
  operator_sdk.util.k8s_event:
    name: "{{ ansible_operator_meta.name }}.backed-up"
    namespace: "{{ ansible_operator_meta.namespace }}"
    reason: BackedUp
    message: the backup is complete
    reportingComponent: example.com/backup-operator
    involvedObject:
      apiVersion: app.example.com/v1
      kind: Backup
      name: "{{ ansible_operator_meta.name }}"
      namespace: "{{ ansible_operator_meta.namespace }}"
"""

RETURN = r"""
result:
  description: The Event as it was written; empty where it was removed.
  returned: success
  type: dict
"""

import time
from datetime import datetime, timezone

from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.core import AnsibleK8SModule
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.exceptions import CoreException
from ansible_collections.operator_sdk.util.plugins.module_utils.event import (
    PATCHES,
    event_body,
    event_name,
    involved_object,
    patch_of,
)

ARGUMENTS = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "name": {"type": "str", "required": True},
    "namespace": {"type": "str", "required": True},
    "message": {"type": "str", "required": True},
    "reason": {"type": "str", "required": True},
    "type": {"type": "str", "choices": ["Normal", "Warning"], "default": "Normal"},
    "reportingComponent": {"type": "str"},
    "source": {"type": "dict"},
    "involvedObject": {"type": "dict"},
    "appendTimestamp": {"type": "bool", "default": False},
    "merge_type": {"type": "list", "elements": "str", "choices": list(PATCHES)},
}


def find_involved(client, params):
    """What is known of the object. Nobody is refused an Event because the object is gone or may not be read."""
    from kubernetes.dynamic.exceptions import DynamicApiError, ResourceNotFoundError, ResourceNotUniqueError

    given = params["involvedObject"] or {}
    if not given.get("kind"):
        return involved_object(given, params["namespace"], None)
    try:
        resource = client.resource(given["kind"], given.get("apiVersion") or "v1")
    except (DynamicApiError, ResourceNotFoundError, ResourceNotUniqueError):
        return involved_object(given, params["namespace"], None)
    found = None
    if given.get("name") and not given.get("uid"):
        try:
            namespace = given.get("namespace") or params["namespace"] if resource.namespaced else None
            found = resource.get(name=given["name"], namespace=namespace).to_dict()
        except DynamicApiError:
            pass
    return involved_object(given, params["namespace"], found, resource.namespaced)


def existing(events, params, name):
    """The Event that is there, or None."""
    from kubernetes.dynamic.exceptions import NotFoundError

    try:
        return events.get(name=name, namespace=params["namespace"]).to_dict()
    except NotFoundError:
        return None


def write(client, events, params, check_mode):
    """Create the Event or change the one that is there; the Event as it then is."""
    name = event_name(params, time.time_ns())
    prior = None if params["appendTimestamp"] else existing(events, params, name)
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: UP017 - Python 3.9
    body = event_body(params, name, find_involved(client, params), prior, now)
    if check_mode:
        return body
    if prior is None:
        return client.create(events, body, namespace=params["namespace"]).to_dict()
    content_type, patch = patch_of(body, params["merge_type"])
    place = {"name": name, "namespace": params["namespace"]}
    return client.patch(events, patch, content_type=content_type, **place).to_dict()


def remove(client, events, params, check_mode):
    """Whether there was an Event to remove."""
    there = existing(events, params, params["name"]) is not None
    if there and not check_mode:
        client.delete(events, name=params["name"], namespace=params["namespace"])
    return there


def main():
    """Entry point."""
    module = AnsibleK8SModule(argument_spec={**ARGUMENTS, **AUTH_ARG_SPEC}, supports_check_mode=True)
    params = module.params
    try:
        client = get_api_client(module)
        events = client.resource("Event", "v1")
        if params["state"] == "absent":
            outcome = {"changed": remove(client, events, params, module.check_mode), "result": {}}
        else:
            outcome = {"changed": True, "result": write(client, events, params, module.check_mode)}
    except CoreException as error:
        module.fail_json(msg=str(error))
    except Exception as error:  # the dynamic client's errors, which carry the server's words
        module.fail_json(
            msg=f"the event {params['name']} was not written: {error}",
            status=getattr(error, "status", None),
            reason=getattr(error, "reason", None),
        )
    module.exit_json(**outcome)


if __name__ == "__main__":
    main()
