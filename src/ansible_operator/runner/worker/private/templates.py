"""Templates are compiled once: what Jinja makes of a text depends on the text and a few settings alone.

Ansible compiles a template anew each time it meets it. Those of the content are compiled before the fork, which keeps
code objects and nothing else: no variable, no result, and no template that came with an object.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jinja2
import jinja2.environment
import yaml
from ansible._internal._templating import _jinja_bits as bits

from ansible_operator.runner.worker.content import roles_of
from ansible_operator.runner.worker.private.supported import Unsupported

_CONDITIONS = frozenset(("when", "that", "until", "failed_when", "changed_when", "break_when"))
"""Keywords whose texts are expressions; ``that`` is the assertion's."""

_DIRECTORIES = ("tasks", "handlers", "defaults", "vars")
_LARGEST = 1 << 20
_MARKS = ("{{", "{%", "{#")

_codes: dict[tuple[Any, ...], types.CodeType] = {}
_ordinary_compile = jinja2.Environment.compile
_ordinary_expression = bits.AnsibleEnvironment.compile_expression


def install() -> None:
    """Let Ansible ask here first. Raises Unsupported where that gives other code."""
    before = [_code_of(False, "{{ a ~ '\\\\1' }}"), _code_of(True, "a is defined and '\\d' in b")]
    bits.AnsibleEnvironment.compile = _compile
    bits.AnsibleEnvironment.compile_expression = _compile_expression
    for _ in range(2):
        after = [_code_of(False, "{{ a ~ '\\\\1' }}"), _code_of(True, "a is defined and '\\d' in b")]
        if after != before:
            raise Unsupported("templates compile to something else from one time to the next")


def _code_of(condition: bool, text: str) -> Any:
    """What a template or a condition is compiled to."""
    environment = bits.AnsibleEnvironment()
    with bits._TemplateCompileContext(escape_backslashes=not condition):
        made = environment.compile_expression(text, False)._template if condition else environment.from_string(text)
    return made.root_render_func.__code__


def _settings(environment: Any) -> tuple[Any, ...]:
    context = bits._TemplateCompileContext.current(optional=True)
    escapes = None if context is None else context.escape_backslashes
    return (escapes, *(getattr(environment, name) for name in bits._TEMPLATE_OVERRIDE_FIELD_NAMES))


def _compile(environment: Any, source: Any, *arguments: Any, **options: Any) -> Any:
    """In place of ``Environment.compile``, for texts without a file."""
    if arguments or options or not isinstance(source, str) or environment._debuggable_template_source:
        return _ordinary_compile(environment, source, *arguments, **options)
    key = ("template", str(source), *_settings(environment))
    if (code := _codes.get(key)) is None:
        code = _codes[key] = _ordinary_compile(environment, source)
    return code


def _compile_expression(environment: Any, source: str, undefined_to_none: bool = True) -> Any:
    """In place of ``Environment.compile_expression``, whose tree ``from_string`` compiles."""
    if environment._debuggable_template_source:
        return _ordinary_expression(environment, source, undefined_to_none)
    key = ("expression", str(source), *_settings(environment))
    if (code := _codes.get(key)) is not None:
        template = environment.template_class.from_code(environment, code, environment.make_globals(None), None)
        return jinja2.environment.TemplateExpression(template, undefined_to_none)
    seen: list[types.CodeType] = []

    def compile_(tree: Any, *arguments: Any, **options: Any) -> Any:
        seen.append(_ordinary_compile(environment, tree, *arguments, **options))
        return seen[-1]

    environment.compile = compile_
    try:
        expression = _ordinary_expression(environment, source, undefined_to_none)
    finally:
        del environment.compile
    _codes[key] = seen[-1]
    return expression


def prepare(content: list[Path]) -> None:
    """Compile what roles and playbooks contain. What cannot be read or compiled is left to the run that meets it."""
    environment = bits.AnsibleEnvironment()
    for text, condition in _texts(content):
        with suppress(Exception), bits._TemplateCompileContext(escape_backslashes=not condition):
            if condition:
                environment.compile_expression(text, False)
            else:
                environment.from_string(text)


def _texts(content: list[Path]) -> Iterator[tuple[str, bool]]:
    """Templates and conditions: the text, and whether it is a condition."""
    for file in _files(content):
        with suppress(OSError, yaml.YAMLError, UnicodeDecodeError):
            if file.stat().st_size <= _LARGEST:
                yield from _texts_in(yaml.load(file.read_text(), Loader=_Loader), None)  # noqa: S506


def _files(content: list[Path]) -> Iterator[Path]:
    """The YAML files of roles, and playbooks with the roles beside them."""
    for path in content:
        if path.is_file():
            yield path
        for role in roles_of(path):
            for name in _DIRECTORIES:
                yield from sorted((role / name).rglob("*.y*ml"))


def _texts_in(value: Any, key: Any) -> Iterator[tuple[str, bool]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _texts_in(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item, key)
    elif isinstance(value, str):
        if any(mark in value for mark in _MARKS):
            yield value, False
        elif key in _CONDITIONS:
            yield value, True


class _Loader(yaml.CSafeLoader):
    """Passes over values with tags of Ansible's own, encrypted ones among them."""


_Loader.add_multi_constructor("!", lambda *_: None)
