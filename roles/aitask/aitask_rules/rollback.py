"""Action rollback: which earlier pod template to go back to.

`kubectl rollout undo` takes the revision before the current one, which after one rollback is the bad one again, and
`kubernetes.core.k8s_rollback` replaces all annotations of the Deployment besides. So the choice is made here, and only
the pod template is replaced.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .model import Change, Hold, Target, Wish
from .target import REVISION
from .values import items, mapping

_HASH = "pod-template-hash"


def roll_back(wish: Wish, replica_sets: Sequence[Any]) -> Change | Hold:
    """To `toRevision`, else to the newest revision that is not the current one and that this task never rolled away
    from."""
    target, wanted = wish.target, wish.spec.to_revision
    own = own_revisions(replica_sets, target.uid)
    current = next((found for found in own if str(revision_of(found)) == target.revision), None)
    if current is None:
        return Hold("NoRollbackHistory", f"the current revision of {target.name} is not in its history")
    chosen = candidates(target, wanted, wish.state.rolled_back_from, replica_sets)
    if wanted is not None:
        missing = (
            f"revision {wanted} of {target.name} is {'the current one' if str(wanted) == target.revision else 'gone'}"
        )
    else:
        missing = f"{target.name} has no earlier revision that this task has not rolled away from"
    if not chosen:
        return Hold("NoRollbackHistory", missing)
    goal = str(revision_of(chosen[0]))
    return Change(
        origin=target.revision,
        goal=goal,
        body={"template": {"$patch": "replace", **_template(chosen[0])}},
        words=f"rolled back from revision {target.revision} to {goal}",
        intends=f"roll {target.name} back from revision {target.revision} to {goal}",
        leaves=_hash(current),
    )


def candidates(
    target: Target, wanted: int | None, left: Sequence[str], replica_sets: Sequence[Any]
) -> list[Mapping[str, Any]]:
    """Where a rollback may go, the best first: to the revision `wanted` alone, if one is. `left` holds the hashes of
    the templates that this task rolled away from."""
    earlier = [found for found in own_revisions(replica_sets, target.uid) if str(revision_of(found)) != target.revision]
    if wanted is not None:
        return [found for found in earlier if revision_of(found) == wanted]
    return [found for found in earlier if _hash(found) not in left]


def own_revisions(replica_sets: Sequence[Any], uid: str) -> list[Mapping[str, Any]]:
    """Of the Deployment with this uid, newest first."""
    own = [found for found in map(mapping, replica_sets) if _is_of(found, uid) and revision_of(found) > 0]
    return sorted(own, key=revision_of, reverse=True)


def _is_of(found: Mapping[str, Any], uid: str) -> bool:
    """By its controller: labels of two Deployments may overlap."""
    owners = [mapping(owner) for owner in items(mapping(found.get("metadata")).get("ownerReferences"))]
    return any(owner.get("uid") == uid and owner.get("controller") for owner in owners)


def revision_of(found: Mapping[str, Any]) -> int:
    """0 if it has none: the Deployment controller has not taken it up yet."""
    text = str(mapping(mapping(found.get("metadata")).get("annotations")).get(REVISION, ""))
    return int(text) if text.isdecimal() else 0


def _hash(found: Mapping[str, Any]) -> str:
    return str(mapping(mapping(found.get("metadata")).get("labels")).get(_HASH, ""))


def _template(found: Mapping[str, Any]) -> dict[str, Any]:
    """The pod template as the Deployment had it: the hash is the ReplicaSet's own mark."""
    template = mapping(mapping(found.get("spec")).get("template"))
    meta = mapping(template.get("metadata"))
    labels = {key: value for key, value in mapping(meta.get("labels")).items() if key != _HASH}
    return {**template, "metadata": {**meta, "labels": labels}}
