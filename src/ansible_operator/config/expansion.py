"""``$VAR`` and ``${VAR}`` in the raw text of ``watches.yaml``, as the Go operator expands them (contract 4.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SPECIAL = r"[*#$@!?\-0-9]"
_VARIABLE = re.compile(
    rf"\$(?:\{{(?P<braced>{_NAME}|{_SPECIAL})\}}|(?P<plain>{_NAME}|{_SPECIAL})|(?P<empty>\{{\}}|\{{\Z))"
)


def expand(text: str, environment: Mapping[str, str]) -> str:
    """The text with variables replaced; unset ones stay, written ``${NAME}``.

    ``$$`` becomes ``${$}`` and ``$1`` becomes ``${1}`` (unset, too), a lone ``$`` stays, ``${}`` vanishes.
    """

    def replace(match: re.Match[str]) -> str:
        name = match["braced"] or match["plain"]
        if not name:
            return ""
        return environment.get(name, f"${{{name}}}")

    return _VARIABLE.sub(replace, text)
