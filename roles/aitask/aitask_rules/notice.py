"""What goes to a webhook, and what is said of it. `docs/providers.md` is the schema: fields are only added."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .model import Spec, State, Target, Task
from .providers import choose_provider
from .values import format_time, mapping, one_line, whole

VERSION = "aiops.example.com/notice/v1"


@dataclass(frozen=True)
class News:
    """What is new. Both ends of a breach carry the id of the notification that it began with; a notice that comes twice
    (after a crash) is the same in id and status."""

    status: str
    """Breached or Cleared."""
    id: str
    message: str
    time: datetime


def notice(spec: Spec, task: Task, target: Target, state: State, news: News) -> dict[str, Any]:
    """The body of the request."""
    return {
        "version": VERSION,
        "id": news.id,
        "status": news.status,
        "time": format_time(news.time),
        "task": {"namespace": task.namespace, "name": task.name, "uid": task.uid},
        "target": {"kind": "Deployment", "name": target.name, "uid": target.uid},
        "metric": {
            "type": spec.metric,
            "value": state.observed_value or None,
            "comparison": spec.comparison,
            "threshold": spec.threshold,
        },
        "message": news.message[:1024],
    }


def delivery_words(spec: Spec, namespace: str, reads: Mapping[str, Any]) -> str:
    """For the message of the notification, after a comma; empty if no webhook was asked for."""
    if not spec.webhook:
        return ""
    name = one_line(spec.webhook, 63)
    fault = _fault(spec, namespace, reads)
    return f", webhook {name} not told: {fault}; Events only" if fault else f", webhook {name} told"


def _fault(spec: Spec, namespace: str, reads: Mapping[str, Any]) -> str:
    provider = choose_provider(mapping(reads.get("webhooks")), "webhook", spec.webhook, namespace)
    if isinstance(provider, str):
        return provider
    answer = mapping(reads.get("delivery"))
    if provider.secret and not answer:
        return f"its credential cannot be read: Secret {provider.secret}, key {provider.key}"
    status = whole(answer.get("status"))
    if 200 <= status < 300:
        return ""
    if status:
        return f"it answers {status}{' (a redirect is not followed)' if status < 400 else ''}"
    return one_line(answer.get("error") or answer.get("msg") or "it was not asked", 200)
