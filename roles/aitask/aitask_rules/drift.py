"""Whether a Deployment has all that a template says, in whatever way the server writes it.

A difference that is none costs one more apply, which changes nothing; one that is not seen is never brought back. So
what cannot be told apart for certain counts as different.
"""

from collections.abc import Mapping
from typing import Any

from .values import items, mapping, parse_quantity

# By what Kubernetes tells the entries of these lists apart; of any other list the whole must be equal.
_MERGE_KEYS = ("name", "mountPath", "devicePath", "containerPort", "topologyKey", "ip")
# Below these stand quantities: `1000m` comes back as `1`.
_AMOUNTS = ("requests", "limits", "sizeLimit", "divisor")
# What of these is empty the server does not keep (fields that are `omitempty`, and no pointers, in its types) ...
_DROPPED_EMPTY = ("nodeSelector", "labels", "annotations", "requests", "limits", "overhead", "matchLabels")
# ... and of these what is false. All others that are false say something: allowPrivilegeEscalation for instance.
_DROPPED_FALSE = ("tty", "stdin", "stdinOnce", "hostNetwork", "hostPID", "hostIPC", "readOnly")


def covers(found: Any, wanted: Any, key: str = "", amounts: bool = False) -> bool:
    """Whether all that is wanted is there; defaults and what others added beside it do not matter.

    `key` is the field that both stand in, `amounts` whether what is below it are quantities."""
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping):
            return not wanted and found is None and key in _DROPPED_EMPTY
        below = amounts or key in _AMOUNTS
        return all(covers(found.get(name), value, name, below) for name, value in wanted.items() if value is not None)
    if isinstance(wanted, list | tuple):
        return _covers_list(items(found), items(wanted), key)
    if found is None:
        return wanted in ("", 0) if wanted is not False else key in _DROPPED_FALSE
    if amounts or key in _AMOUNTS:
        return _same_amount(found, wanted)
    return bool(found == wanted) and isinstance(found, bool) == isinstance(wanted, bool)


def _covers_list(found: Any, wanted: Any, key: str) -> bool:
    names = (name for name in _MERGE_KEYS if wanted and all(name in mapping(entry) for entry in wanted))
    name = next(names, None)
    if name is None:
        return len(found) == len(wanted) and all(
            covers(one, other, key) for one, other in zip(found, wanted, strict=True)
        )
    return all(
        any(mapping(there).get(name) == one[name] and covers(there, one, key) for there in found) for one in wanted
    )


def _same_amount(found: Any, wanted: Any) -> bool:
    amounts = parse_quantity(found), parse_quantity(wanted)
    return found == wanted or (None not in amounts and amounts[0] == amounts[1])
