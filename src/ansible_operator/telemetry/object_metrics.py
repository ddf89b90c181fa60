"""Gauges of the watched objects themselves: when they were made, and how their conditions stand.

Bounded: an object's series go with the object; of the conditions of at most ``max_objects`` objects, and of 16 of each
object, series are shown. Where there are more, the first ones seen keep theirs until they are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ansible_operator.model.gvk import GVK, Object, ObjectKey

MAX_OBJECTS = 1000
_MAX_CONDITIONS = 16
_MAX_TEXT = 316
"""Characters of a condition's type, as the API conventions allow, and of its reason; a role may write anything."""

_LABELS = ("name", "namespace", "group", "version", "kind")
_VALUES = {"True": 1.0, "False": 0.0}


_NO_CONDITIONS: Mapping[str, tuple[float, str]] = {}


@dataclass(slots=True)
class _Seen:
    created: float
    conditions: Mapping[str, tuple[float, str]] = field(default_factory=lambda: _NO_CONDITIONS)
    """Value and reason, by type."""


class ObjectMetrics(Collector):
    """What informers have seen last. It may be scraped from another thread."""

    def __init__(self, registry: CollectorRegistry, max_objects: int = MAX_OBJECTS) -> None:
        self._objects: dict[tuple[GVK, ObjectKey], _Seen] = {}
        self._with_conditions: set[tuple[GVK, ObjectKey]] = set()
        self._max_objects = max_objects
        registry.register(self)

    def __len__(self) -> int:
        return len(self._objects)

    def put(self, gvk: GVK, obj: Object) -> None:
        """An object is there, or has changed."""
        place = (gvk, ObjectKey.of(obj))
        seen = self._objects[place] = _Seen(_created(obj))
        if place in self._with_conditions or len(self._with_conditions) < self._max_objects:
            self._with_conditions.add(place)
            seen.conditions = _conditions(obj)

    def remove(self, gvk: GVK, key: ObjectKey) -> None:
        """An object is gone, or no longer ours."""
        self._objects.pop((gvk, key), None)
        self._with_conditions.discard((gvk, key))

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """The families without series: the registry asks for names at the start."""
        yield from self._families()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Everything as it stands now."""
        created, condition, reasons = self._families()
        for (gvk, key), seen in list(self._objects.items()):
            labels = (key.name, key.namespace, gvk.group, gvk.version, gvk.kind)
            created.add_metric(labels, seen.created)
            for kind, (value, reason) in seen.conditions.items():
                condition.add_metric((*labels, kind), value)
                if reason:
                    reasons.add_metric((*labels, kind, reason), value)
        yield from (created, condition, reasons)

    @staticmethod
    def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
        return (
            GaugeMetricFamily("resource_created_at_seconds", "When a watched object was made", labels=_LABELS),
            GaugeMetricFamily(
                "ansible_operator_condition",
                "Status conditions of watched objects: 1 True, 0 False, -1 Unknown",
                labels=(*_LABELS, "type"),
            ),
            # Apart, so that a condition stays one series through all its reasons, and an alert on it goes on.
            GaugeMetricFamily(
                "ansible_operator_condition_reason",
                "The same by the reason that a condition has now: 1 True, 0 False, -1 Unknown",
                labels=(*_LABELS, "type", "reason"),
            ),
        )


def _created(obj: Object) -> float:
    try:
        return datetime.fromisoformat(obj["metadata"].get("creationTimestamp", "")).timestamp()
    except ValueError:
        return 0.0


def _conditions(obj: Object) -> dict[str, tuple[float, str]]:
    status = obj.get("status")
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    values: dict[str, tuple[float, str]] = {}
    for condition in listed if isinstance(listed, list) else ():
        if isinstance(condition, Mapping) and condition.get("type") and len(values) < _MAX_CONDITIONS:
            value, reason = _VALUES.get(str(condition.get("status")), -1.0), str(condition.get("reason") or "")
            values[str(condition["type"])[:_MAX_TEXT]] = (value, reason[:_MAX_TEXT])
    return values
