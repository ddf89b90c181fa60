"""What a run shows to the outside, without what differs from run to run: times, process ids, generated names."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_VOLATILE = {
    *(
        "uuid",
        "parent_uuid",
        "play_uuid",
        "playbook_uuid",
        "task_uuid",
        "pid",
        "child_pid",
        "runner_ident",
        "ansible_job_id",
    ),
    *("created", "start", "end", "duration", "delta", "atime", "ctime", "mtime", "inode", "results_file"),
    *("resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "_original_basename"),
}
_PLACES = ("counter", "start_line", "end_line")
_NAMES = (
    (re.compile(r"ansible-operator-warm-[0-9a-f]{16}/\d+"), "temporary"),
    (re.compile(r"ansible-tmp-[\w.-]+"), "ansible-tmp"),
    (re.compile(r"Valid booleans include: [^\n\x1b]*"), "Valid booleans include"),
    (re.compile(r"_payload_\w{8}\b"), "_payload"),
    (re.compile(r"ansible-moduletmp-[\w.-]+"), "ansible-moduletmp"),
    (re.compile(r"ansible-local-\w+"), "ansible-local"),
    (re.compile(r"\btmp[a-z0-9_]{8}\b"), "tmp"),
    (re.compile(r"/ansible\.\w{8}\b"), "/ansible.tmp"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "hash"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "uuid"),
    (re.compile(r"\bj?\d{4,}\.\d+\b"), "number"),
    (re.compile(r"artifacts/\d+"), "artifacts/ident"),
    (re.compile(r"Paused for [\d.]+ seconds"), "Paused for some seconds"),
    (re.compile(r"^\d{7,}$"), "number"),
    (re.compile(r'"(resourceVersion|uid|creationTimestamp|deletionTimestamp|time)": "[^"]*"'), r'"\1": x'),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "date"),
    (re.compile(r'(resourceVersion\\*": ?\\*")\d+'), r"\1n"),
    (re.compile(r" at 0x[0-9a-f]+"), " at address"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "time"),
    (re.compile(r"\d:\d\d:\d\d\.\d{6}"), "delta"),
    (re.compile(r'"(atime|ctime|mtime|inode|pid|child_pid|start|end|delta)": ("[^"]*"|[\d.]+)'), r'"\1": x'),
)


def plain(value: Any) -> Any:
    """A value without its volatile parts."""
    if isinstance(value, dict):
        return {
            key: sorted(item) if key == "ansible_facts" and "ansible_date_time" in item else plain(item)
            for key, item in value.items()
            if key not in _VOLATILE
        }
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str):
        for pattern, name in _NAMES:
            value = pattern.sub(name, value)
    return value


def shown(directory: Path, ident: str, events: list[Mapping[str, Any]], exit_code: int) -> dict[str, Any]:
    """Everything a run shows: what it reported, and what is in its artifacts."""
    artifacts = directory / "artifacts" / ident
    stdout = (
        artifacts / "stdout"
    ).read_bytes()  # whether a printed line keeps its \r is chance: how it is read in parts
    files = sorted((artifacts / "job_events").iterdir(), key=lambda path: int(path.name.split("-")[0]))
    return {
        "exit code": exit_code,
        "events": [plain(dict(event)) for event in events],
        "job_events": [plain(json.loads(file.read_text())) for file in files],
        "stdout": [line.rstrip("\r") for line in plain(stdout.decode(errors="replace")).split("\n")],
        "artifacts": sorted(path.name for path in artifacts.iterdir()),
        "rc": (artifacts / "rc").read_text(),
        "status": (artifacts / "status").read_text(),
    }


def without_last_words(result: dict[str, Any]) -> dict[str, Any]:
    """The same for a run that is killed: what is printed by then without an end of line becomes an event only cold."""
    kept = {}
    for name in ("events", "job_events"):
        events = list(result[name])
        while events and events[-1]["event"] == "verbose":
            events.pop()
        kept[name] = events
    return {**result, **kept}


def by_host(result: dict[str, Any]) -> dict[str, Any]:
    """The same where it is chance which host is ready first: the events of a task one host after the other."""
    return {
        **result,
        "events": _by_host(result["events"]),
        "job_events": _by_host(result["job_events"]),
        "stdout": sorted(result["stdout"]),
    }


def _by_host(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ordered: list[dict[str, Any]] = []
    for _, group in itertools.groupby(events, lambda event: "host" in event["event_data"]):
        ordered += sorted(group, key=lambda event: str(event["event_data"].get("host")))
    return [{name: value for name, value in event.items() if name not in _PLACES} for event in ordered]


def differences(cold: Any, warm: Any, where: str = "") -> list[str]:
    """Where two values differ, as lines for people."""
    if isinstance(cold, dict) and isinstance(warm, dict):
        found = []
        for key in sorted({*cold, *warm}, key=str):
            if key not in cold or key not in warm:
                found.append(f"{where}.{key}: only {'cold' if key in cold else 'warm'}: {_short((cold | warm)[key])}")
            else:
                found += differences(cold[key], warm[key], f"{where}.{key}")
        return found
    if isinstance(cold, list) and isinstance(warm, list):
        found = [] if len(cold) == len(warm) else [f"{where}: {len(cold)} items cold, {len(warm)} warm"]
        for index, (one, other) in enumerate(zip(cold, warm, strict=False)):
            found += differences(one, other, f"{where}[{index}]")
        return found
    return [] if cold == warm and type(cold) is type(warm) else [f"{where}: cold {_short(cold)}, warm {_short(warm)}"]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 300 else f"{text[:300]}…"
