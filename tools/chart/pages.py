"""Manifests with template expressions in them, as text that Helm renders.

An expression travels through the YAML emitter as a word that stands for it (its text in hexadecimal), so that all
else is quoted and indented by the emitter, and what looks like an expression in a manifest itself is escaped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

HEAD = "{{- /* Written by `make chart` from config/; change it there. */ -}}\n"
_BRACES = re.compile(r"\{\{|\}\}")
_INLINE = re.compile(r"zzInline([0-9a-f]*)zz")
_BLOCK = re.compile(r"^( *)[^\n]*?zzBlock([0-9a-f]*)zz$", re.MULTILINE)
_FIRST = re.compile(r"^ *- \w+: zzBlock", re.MULTILINE)
_DEPTH = re.compile(r"@(\d+)")


class Inline(str):
    """Text with expressions that stands for a scalar."""

    __slots__ = ()


class Block(str):
    """Lines that stand for a field or an item, its name included; `@2` is their own indentation and two more."""

    __slots__ = ()


@dataclass(frozen=True)
class Doc:
    """One manifest, and the condition that it is rendered on."""

    manifest: dict[str, Any]
    when: str = ""


def page(*docs: Doc) -> str:
    """A file of templates/."""
    return HEAD + "".join(map(_document, docs))


def dump(value: Any) -> str:
    """YAML, sorted, so that it depends on nothing but the value."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=10**6)


def _document(doc: Doc) -> str:
    text = _BRACES.sub(lambda found: '{{ "' + found[0] + '" }}', dump(doc.manifest))
    if _FIRST.search(text):
        raise ValueError(
            "a block cannot be the first field of an item: where it is left out, the item has no beginning"
        )
    text = _BLOCK.sub(lambda found: _indented(bytes.fromhex(found[2]).decode(), found[1]), text)
    text = _INLINE.sub(lambda found: bytes.fromhex(found[1]).decode(), text)
    return f"{{{{- if {doc.when} }}}}\n---\n{text}{{{{- end }}}}\n" if doc.when else f"---\n{text}"


def _indented(block: str, indent: str) -> str:
    lines = [indent + line if line and not line.startswith("{{-") else line for line in block.splitlines()]
    return _DEPTH.sub(lambda found: str(len(indent) + int(found[1])), "\n".join(lines))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _word(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", f"zz{type(value).__name__}{value.encode().hex()}zz")


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(Inline, _word)
_Dumper.add_representer(Block, _word)
_Dumper.add_representer(str, _text)
