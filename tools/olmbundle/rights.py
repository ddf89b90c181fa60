"""The rights of the operator's account, from roles and bindings to the form of a ClusterServiceVersion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from olmbundle.errors import BundleError
from olmbundle.kinds import Manifest, named

_BINDINGS = {"ClusterRoleBinding": "clusterPermissions", "RoleBinding": "permissions"}
_PLURALS = {"ClusterRole": "clusterroles", "Role": "roles"}


def strategy_permissions(manifests: Sequence[Manifest]) -> tuple[dict[str, list[Any]], list[Manifest]]:
    """`permissions` and `clusterPermissions` (an entry an account, its rules in the order of the bindings), and the
    manifests that are left: neither bindings, nor bound roles, nor accounts, all of which OLM makes.

    Raises BundleError for a binding that OLM could not make again.
    """
    roles = {(found["kind"], found["metadata"]["name"]): found for found in manifests if found["kind"] in _PLURALS}
    rules: dict[str, dict[str, list[Any]]] = {field: {} for field in _BINDINGS.values()}
    bound = set()
    for binding in (found for found in manifests if found["kind"] in _BINDINGS):
        reference = (binding["roleRef"]["kind"], binding["roleRef"]["name"])
        if reference not in roles:
            raise BundleError(
                f"{named(binding)}: it binds {' '.join(reference)}, which config/manifests does not hold; "
                "add the role, since OLM makes roles from rules"
            )
        bound.add(reference)
        granted = rules[_BINDINGS[binding["kind"]]].setdefault(_account(binding), [])
        granted.extend(roles[reference]["rules"])
    return _entries(rules), [found for found in manifests if not _made_by_olm(found, bound)]


def _entries(rules: dict[str, dict[str, list[Any]]]) -> dict[str, list[Any]]:
    return {
        field: [{"serviceAccountName": account, "rules": granted} for account, granted in accounts.items()]
        for field, accounts in rules.items()
    }


def _account(binding: Manifest) -> str:
    subjects = binding.get("subjects", [])
    if len(subjects) != 1 or subjects[0]["kind"] != "ServiceAccount":
        raise BundleError(
            f"{named(binding)}: OLM binds roles to one ServiceAccount of the operator; give it that one subject, or "
            "leave the binding to whoever installs"
        )
    return str(subjects[0]["name"])


def _made_by_olm(manifest: Manifest, bound: Iterable[tuple[str, str]]) -> bool:
    kind = manifest["kind"]
    return kind in _BINDINGS or kind == "ServiceAccount" or (kind, manifest["metadata"]["name"]) in bound
