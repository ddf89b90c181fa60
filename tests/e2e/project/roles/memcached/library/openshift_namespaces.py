#!/usr/bin/python
"""A module as they were written before the collections: it imports openshift."""

from ansible.module_utils.basic import AnsibleModule
from kubernetes import client, config
from openshift.dynamic import DynamicClient
from openshift.dynamic.exceptions import NotFoundError
from openshift.helper.userpassauth import OCPLoginConfiguration


def main():
    module = AnsibleModule({"name": {"type": "str", "required": True}})
    assert issubclass(OCPLoginConfiguration, client.Configuration)
    found = DynamicClient(config.new_client_from_config())
    namespaces = found.resources.get(api_version="v1", kind="Namespace")
    try:
        module.exit_json(changed=False, phase=namespaces.get(name=module.params["name"]).status.phase)
    except NotFoundError:
        module.fail_json(msg="no such namespace")


if __name__ == "__main__":
    main()
