"""``$VAR`` and ``${VAR}`` in the raw text of ``watches.yaml``, as the Go operator expands them (contract 4.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VARIABLE = re.compile(
    r"\$(?:"
    r"(?P<plain>[*#$@!?0-9-]|[A-Za-z0-9_]+)"
    r"|\{(?P<special>[*#$@!?0-9-])\}"
    r"|\{(?P<braced>[^}]+)\}"  # whatever it is: environment variables of a pod may have dots and hyphens
    r"|\{\}?"
    r")"
)


def expand(text: str, environment: Mapping[str, str]) -> str:
    """The text with variables replaced; unset ones stay, written ``${NAME}``.

    ``$$`` becomes ``${$}`` and ``$1`` becomes ``${1}`` (unset, too), a lone ``$`` stays, ``${}`` vanishes, and so does
    a ``${`` that is never closed.
    """

    def replace(match: re.Match[str]) -> str:
        name = match["plain"] or match["special"] or match["braced"]
        return environment.get(name, f"${{{name}}}") if name else ""

    return _VARIABLE.sub(replace, text)
