"""Copies of what YAML files hold.

Ansible copies all that it has read from a file, by ``copy.deepcopy``, which makes each text anew and takes longer than
to read the file did. Texts, numbers and tags do not change; lists and dictionaries are what is copied here.
"""

from __future__ import annotations

import copy
from typing import Any

from ansible.module_utils._internal._datatag import (
    _AnsibleTaggedDict,
    _AnsibleTaggedFloat,
    _AnsibleTaggedInt,
    _AnsibleTaggedList,
    _AnsibleTaggedStr,
)

_SAME = frozenset((str, int, float, bool, type(None), _AnsibleTaggedStr, _AnsibleTaggedInt, _AnsibleTaggedFloat))
_TAGGED = (_AnsibleTaggedDict, _AnsibleTaggedList)


class Copies:
    """In place of the module ``copy``."""

    def __getattr__(self, name: str) -> Any:
        return getattr(copy, name)

    @staticmethod
    def deepcopy(value: Any, memo: dict[int, Any] | None = None) -> Any:
        """See ``copy.deepcopy``: what is one object in several places (an alias) is one in the copy."""
        return _copied(value, {} if memo is None else memo)


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    kind = type(value)
    if kind in _SAME:
        return value
    if kind is not dict and kind is not list and kind not in _TAGGED:
        return copy.deepcopy(value, memo)
    if (known := memo.get(id(value))) is not None:
        return known
    memo[id(value)] = made = kind()
    if isinstance(value, dict):
        for name, part in value.items():
            made[_copied(name, memo)] = _copied(part, memo)
    else:
        made.extend([_copied(part, memo) for part in value])
    if kind in _TAGGED:
        made._ansible_tags_mapping = value._ansible_tags_mapping
    return made
