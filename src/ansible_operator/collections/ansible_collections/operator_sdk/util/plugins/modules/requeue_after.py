#!/usr/bin/python
# Copyright the ansible-operator authors
# Apache License 2.0 (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: requeue_after
short_description: Ask for the next run of this object
version_added: "0.1.0"
author: The ansible-operator authors (!UNKNOWN)
description:
  - Tells the operator when to run the content for this object again. The play goes on to its end; the time counts
    from there.
  - Where a play asks more than once the first request counts. A play that fails is tried again by the operator's own
    rule.
  - Outside an operator the module does nothing.
options:
  time:
    description: How long to wait, as a Go duration such as V(30s), V(1h30m) or V(500ms).
    type: str
    required: true
attributes:
  check_mode:
    description: Does the same.
    support: full
"""

EXAMPLES = r"""
- name: Look again in a minute
  operator_sdk.util.requeue_after:
    time: 1m
"""

RETURN = r"""
period:
  description: The time that was asked for.
  returned: success
  type: str
"""

import re

from ansible.module_utils.basic import AnsibleModule

DURATION = re.compile(r"0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+")  # as model/durations.py


def main():
    """Entry point."""
    module = AnsibleModule(argument_spec={"time": {"type": "str", "required": True}}, supports_check_mode=True)
    period = module.params["time"]
    if not DURATION.fullmatch(period):
        module.fail_json(msg=f"time is {period!r}; write a duration with units h, m, s or ms, for example 1h30m")
    module.exit_json(changed=False, period=period)


if __name__ == "__main__":
    main()
