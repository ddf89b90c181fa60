"""The rules by which an AITask decides. Pure: no I/O, no clock, no Ansible; the same world gives the same plan.

What belongs here is everything that could decide wrongly. Reading and writing the cluster is left to the tasks of the
role, which know nothing of thresholds. The one way in is `plan_pass`; the rest says
what its reads need to know.
"""

from .passes import plan_pass, report_failure
from .permission import asks_for_labels
from .providers import bearer_token, config_revision, find_provider, query_url
from .target import pod_selectors

__all__ = [
    "asks_for_labels",
    "bearer_token",
    "config_revision",
    "find_provider",
    "plan_pass",
    "pod_selectors",
    "query_url",
    "report_failure",
]
