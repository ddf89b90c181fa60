"""`python -m role_docs [--check]`: the README of each role, from its `meta/argument_specs.yml` and `defaults/main.yml`.

`make role-docs` writes them. With --check nothing is written, and the exit status is 1 where one differs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
_HEAD = "| variable | type | default | meaning |\n|---|---|---|---|\n"


def render(role: Path) -> str:
    """The README of one role."""
    meta = _load(role / "meta/main.yml")["galaxy_info"]
    specs = _load(role / "meta/argument_specs.yml")["argument_specs"]
    parts = [f"# {role.name}", f"{meta['description']}.", _requirements(role, meta)]
    for entry, spec in specs.items():
        parts += _entry(entry, spec, _load(role / "defaults/main.yml"))
    parts.append("Written by `make role-docs` from `meta/argument_specs.yml` and `defaults/main.yml`.")
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> int:
    """See the module."""
    stale = [role for role in roles() if _text(role / "README.md") != render(role)]
    for role in stale:
        if "--check" in arguments:
            print(f"{role.name}/README.md is not what its argument_specs say; run: make role-docs", file=sys.stderr)
        else:
            (role / "README.md").write_text(render(role))
            print(f"{role.name}/README.md written")
    return int(bool(stale) and "--check" in arguments)


def roles() -> list[Path]:
    """The directories of the roles."""
    return sorted(path.parent.parent for path in ROOT.glob("roles/*/meta/argument_specs.yml"))


def _requirements(role: Path, meta: Mapping[str, Any]) -> str:
    needed = [f"`{entry['role']}`" for entry in _load(role / "meta/main.yml").get("dependencies", [])]
    depends = f" Depends on role {', '.join(needed)}." if needed else ""
    return (
        f"Runs on ansible-core {meta['min_ansible_version']} or later with `kubernetes.core` and `operator_sdk.util`, "
        f"under any operator that follows operator-sdk.{depends}"
    )


def _entry(name: str, spec: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    title = "## Variables" if name == "main" else f"## Variables of `tasks_from: {name}`"
    about = [f"{spec['short_description']}.", *spec.get("description", [])]
    rows = [_row(option, fields, defaults) for option, fields in spec["options"].items()]
    return [title, " ".join(about), _HEAD + "\n".join(rows)] if rows else [title, " ".join(about)]


def _row(name: str, fields: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    kind = fields["type"] + (f" of {fields['elements']}" if "elements" in fields else "")
    meaning = fields["description"]
    if "choices" in fields:
        meaning += f" One of {', '.join(f'`{choice}`' for choice in fields['choices'])}."
    cells = (f"`{name}`", kind, _default(name, fields, defaults), meaning)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(name: str, fields: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    if name not in defaults:
        return "required" if fields.get("required") else "none"
    value = defaults[name]
    text = value if isinstance(value, str) else yaml.safe_dump(value, default_flow_style=True).split("\n")[0]
    return f"`{text}`" if text else "empty"


def _load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = (yaml.safe_load(path.read_text()) if path.exists() else None) or {}
    return found


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
