"""Which rights an account was granted, which it used, and which it was refused: roles beside the audit log.

The API server notes in each line what allowed the request: the binding and its role. So two roles that grant the same
are told apart, and a right counts as used only where it was this one that let the request through.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_ALLOWED = re.compile(r'RBAC: allowed by \w+ "[^"]*" of (Role|ClusterRole) "([^"]*)"')
_REFUSED = re.compile(
    r'cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]*)"| at the cluster scope)'
)

Entry = Mapping[str, Any]
"""A line of the audit log."""


class Right(NamedTuple):
    """A verb on a kind of object, by a role. ``name``: the one object that it is for, or empty."""

    role: tuple[str, str]
    """Kind and name."""
    group: str
    resource: str
    """With its subresource, as in `aitasks/status`."""
    verb: str
    name: str = ""


class Refusal(NamedTuple):
    """What was refused for want of a right. ``namespace`` is empty for the whole cluster, ``name`` where none was asked
    for."""

    group: str
    resource: str
    verb: str
    namespace: str
    name: str


def granted(manifests: Iterable[Mapping[str, Any]], bound: Iterable[tuple[str, str]]) -> set[Right]:
    """The rights of those roles of the manifests that are bound, by kind and name; each verb of each rule is one."""
    roles = set(bound)
    return {
        Right((found["kind"], found["metadata"]["name"]), group, resource, verb, name)
        for found in manifests
        if (found["kind"], found["metadata"]["name"]) in roles
        for rule in found["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def granted_again(rights: Iterable[Right], everywhere: set[tuple[str, str]]) -> set[Right]:
    """Rights that the account has anyway: another role grants the same ``everywhere`` (the roles that are bound in the
    whole cluster)."""
    rights = set(rights)
    return {
        right
        for right in rights
        for other in rights
        if other.role != right.role
        and other.role in everywhere
        and other[1:4] == right[1:4]
        and other.name in ("", right.name)
    }


def used(entries: Iterable[Entry], rights: Iterable[Right]) -> set[Right]:
    """The rights that let one of these requests through.

    An apply that creates is a `patch` in the log. The server asks for `create` besides, and does not note what allowed
    that: it counts for each role that does.
    """
    passed: set[Right] = set()
    made: set[tuple[str, str]] = set()
    for entry in entries:
        found = _ALLOWED.match(entry.get("annotations", {}).get("authorization.k8s.io/reason", ""))
        if found:
            subject = entry["objectRef"]
            right = Right((found[1], found[2]), subject.get("apiGroup", ""), _resource(subject), entry["verb"])
            passed |= {right, right._replace(name=subject.get("name", ""))}
            if (right.verb, entry.get("responseStatus", {}).get("code")) == ("patch", 201):
                made.add((right.group, right.resource))
    return {r for r in rights if r in passed or (r.verb == "create" and (r.group, r.resource) in made)}


def _resource(subject: Mapping[str, str]) -> str:
    return "/".join(part for part in (subject["resource"], subject.get("subresource", "")) if part)


def refused(entries: Iterable[Entry]) -> list[Refusal]:
    """What the account asked for and may not, in the order of the answers.

    By the words of the answer: what is forbidden for another reason (a policy, a quota, a namespace that is going) has
    others, and the right to create that an apply lacks is only said there.
    """
    found = []
    for entry in entries:
        status = entry.get("responseStatus", {})
        said = _REFUSED.search(status.get("message", "")) if status.get("code") == 403 else None
        if said:
            found.append(Refusal(said[3], said[2], said[1], said[4] or "", entry["objectRef"].get("name", "")))
    return found
