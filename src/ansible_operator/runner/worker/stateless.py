"""Whether a Python file keeps nothing from one call to the next, as far as its text shows; in doubt it does.

A user's filter may count its calls in a list: with a process per task each task starts with an empty one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ansible_operator.runner.worker.verdicts import Verdicts

_MUTATORS = frozenset(
    [
        "append",
        "appendleft",
        "extend",
        "insert",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "clear",
        "update",
        "setdefault",
        "add",
        "discard",
        "sort",
        "reverse",
        "write",
        "send",
        "__setitem__",
        "__delitem__",
    ]
)
_CACHES = frozenset(("cache", "lru_cache", "cached_property", "singledispatch"))
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)


def is_stateless(path: str) -> bool:
    """Judge a file."""
    return _verdicts.of(path)


def _judge(tree: ast.Module) -> bool:
    shared = {name for node in tree.body for name in _bound(node)}
    shared |= {
        name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for part in node.body for name in _bound(part)
    }
    return not any(_keeps(node, shared) for node in _nodes_of_functions(tree))


def _nodes_of_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Each function, with all that is in it, once."""
    todo: list[tuple[ast.AST, bool]] = [(tree, False)]
    while todo:
        node, inside = todo.pop()
        inside = inside or _is_function(node)
        if inside:
            yield node
        todo.extend((child, inside) for child in ast.iter_child_nodes(node))


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(name.asname or name.name).partition(".")[0] for name in node.names}
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _keeps(node: ast.AST, shared: set[str]) -> bool:
    if isinstance(node, ast.Global):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        defaults = [*node.args.defaults, *node.args.kw_defaults]
        return any(isinstance(value, _MUTABLE) for value in defaults) or any(
            _last(decorator) in _CACHES for decorator in node.decorator_list
        )
    if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        return _base(node) in shared or _base(node) in {"cls", "self"}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
        return _base(node.func) in shared or _base(node.func) in {"cls", "self"}
    return isinstance(node, ast.Call) and _last(node.func) in {"setattr", "globals", "vars", "next"} | _CACHES


def _base(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _last(node: ast.AST) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_verdicts = Verdicts(lambda file: _judge(ast.parse(file.read_bytes())))
