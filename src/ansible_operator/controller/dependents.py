"""Watching what runs have made: a change of a dependent queues its owner (contract 4.3, 4.8)."""

from __future__ import annotations

from ansible_operator.kube.informer import Change
from ansible_operator.kube.informers import Informers
from ansible_operator.model.gvk import GVK, Resource
from ansible_operator.model.owner import owners_of
from ansible_operator.model.predicates import dependent_update_matters
from ansible_operator.model.watch import Watch
from ansible_operator.proxy.grants import Child
from ansible_operator.telemetry.logs import get_logger
from ansible_operator.workqueue import Priority

from .controller import Queue


class Dependents:
    """The dependents of the objects of one watch."""

    def __init__(self, watch: Watch, owner: Resource, informers: Informers, queue: Queue) -> None:
        self._watch = watch
        self._owner = owner
        self._informers = informers
        self._queue = queue
        self._watched: set[GVK] = set()
        self._log = get_logger("controller").bind(controller=watch.gvk.controller_name)

    def on_child(self, child: Child) -> None:
        """A run has made or found a child: watch its kind from now on."""
        gvk = child.resource.gvk
        if gvk in self._watched or not self._wants(child):
            return
        self._watched.add(gvk)
        self._log.info("watching dependents", kind=str(gvk))
        self._informers.ensure(child.resource, self._on_change, required=False)

    def _wants(self, child: Child) -> bool:
        if not self._watch.watch_dependent_resources or child.resource.gvk in self._watch.blacklist:
            return False
        if child.by_annotation and not child.resource.namespaced and not self._watch.watch_cluster_scoped_resources:
            return False
        return self._informers.watches(child.namespace)

    def _on_change(self, change: Change) -> None:
        if change.kind == "added":
            return
        if change.old and change.new and not dependent_update_matters(change.old, change.new):
            return
        for obj in (change.old, change.new):
            if obj is not None:
                for key in owners_of(obj, self._watch.gvk, owner_is_namespaced=self._owner.namespaced):
                    self._queue.add(key, Priority.DEPENDENT)
