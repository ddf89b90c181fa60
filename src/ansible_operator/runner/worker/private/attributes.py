"""Attributes of plays, blocks and tasks: what Ansible works out anew for each of sixty per task, told once per class.

Most attributes of most tasks hold nothing, or a plain value. For these the replacements do what Ansible's own
functions come to, without asking how; whatever else an attribute holds goes Ansible's own way. They are put in only
where the functions that they replace read as they are known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any, NamedTuple

from ansible.module_utils._internal._datatag import _AnsibleTaggedInt, _AnsibleTaggedStr
from ansible.playbook import base
from ansible.playbook.attribute import Attribute, FieldAttribute
from ansible.playbook.base import FieldAttributeBase
from ansible.playbook.role_include import IncludeRole
from ansible.utils.sentinel import Sentinel

from ansible_operator.runner.worker.private import insides

_base_copy, _base_get, _inherited_get = FieldAttributeBase.copy, Attribute.__get__, FieldAttribute.__get__
_base_load, _base_squash = FieldAttributeBase.load_data, FieldAttributeBase.squash
_base_post_validate, _base_validate = FieldAttributeBase.post_validate, FieldAttributeBase.validate

BODIES = {
    "ansible.playbook.attribute:Attribute.__get__": "e2b47b8514db2ecd",
    "ansible.playbook.attribute:Attribute.__set__": "a2c12a3e63802351",
    "ansible.playbook.attribute:FieldAttribute.__get__": "aeac26b5d3d64e95",
    "ansible.playbook.base:FieldAttributeBase.copy": "5a01585a9551187b",
    "ansible.playbook.base:FieldAttributeBase.load_data": "4ba84f9e85629957",
    "ansible.playbook.base:FieldAttributeBase.post_validate": "e63ec18b9457bb19",
    "ansible.playbook.base:FieldAttributeBase.post_validate_attribute": "82f54776c385575c",
    "ansible.playbook.base:FieldAttributeBase._get_validated_value": "5b621283bf0aae27",
    "ansible.playbook.base:FieldAttributeBase.squash": "d61a9dc8e5aa3919",
    "ansible.playbook.base:FieldAttributeBase.validate": "e530adaf12a62ce1",
}
"""What is replaced or done without, by digests of the text."""

_PLAIN = frozenset((bool, int, float, str, type(None)))
_SCALARS = {"bool": {bool}, "int": {int, _AnsibleTaggedInt}, "float": {float}}
_CONTAINERS = {"list": list, "dict": dict}
_STRINGS = {str, _AnsibleTaggedStr}


class _Field(NamedTuple):
    """An attribute of a class.

    ``place``: where an object's ``__dict__`` has its value; ``places``: where a value goes, an alias's place included;
    ``load``, ``validate``: methods of its own, if any; ``is_skipped``: late validation leaves it alone;
    ``is_open``: it is validated late, and by no method of its own.
    """

    name: str
    attribute: Any
    place: str
    places: tuple[str, ...]
    load: str
    validate: str
    is_skipped: bool
    is_open: bool


class _Plan(NamedTuple):
    """The attributes of a class, in Ansible's order, and in that in which they are loaded."""

    fields: tuple[_Field, ...]
    loaded: tuple[_Field, ...]
    checked: tuple[_Field, ...]
    places: dict[str, str]


def install() -> None:
    """Put the replacements in, where all of what they replace is known."""
    if not all(insides.digest(name) == digest for name, digest in BODIES.items()):
        return
    Attribute.__get__, FieldAttribute.__get__ = _get, _get_inherited
    for name, function in (("copy", _copy), ("load_data", _load_data), ("squash", _squash), ("validate", _validate)):
        setattr(FieldAttributeBase, name, function)
    FieldAttributeBase.post_validate = _post_validate
    kinds = [FieldAttributeBase]
    for kind in kinds:  # before the fork
        _plan(kind)
        kinds += kind.__subclasses__()


def _make_plan(kind: Any) -> _Plan | None:
    """None for a class that reads or writes attributes in a way of its own."""
    if not issubclass(kind, FieldAttributeBase) or issubclass(kind, IncludeRole):
        return None
    attributes: dict[str, Any] = kind.fattributes
    names = {"_squashed", "_finalized", *(f"{mark}{name}" for name in attributes for mark in ("_", "_get_attr_"))}
    if (
        any(hasattr(kind, name) for name in names)
        or any(type(found).__set__ is not Attribute.__set__ for found in attributes.values())
        or any(_found(kind, name) is not found for name, found in attributes.items())
        or kind.post_validate_attribute is not FieldAttributeBase.post_validate_attribute
        or kind.__setattr__ is not object.__setattr__
    ):
        return None
    fields = tuple(_field(kind, name, found) for name, found in attributes.items())
    loaded = tuple(sorted(fields, key=operator.attrgetter("attribute")))
    checked = tuple(field for field in fields if field.validate or field.attribute.isa == "string")
    return _Plan(fields, loaded, checked, {field.name: field.place for field in fields})


_plan: Callable[[Any], _Plan | None] = cache(_make_plan)


def _found(kind: Any, name: str) -> Any:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _field(kind: Any, name: str, found: Any) -> _Field:
    places = (f"_{found.name}",) if found.alias is None else (f"_{found.name}", f"_{found.alias}")
    load, validate, post = (f"{verb}_{name}" for verb in ("_load", "_validate", "_post_validate"))
    is_validated = found.always_post_validate or kind._post_validate_object
    return _Field(
        name,
        found,
        f"_{name}",
        places,
        load if hasattr(kind, load) else "",
        validate if hasattr(kind, validate) else "",
        is_skipped=not (found.static or is_validated or found.required or callable(found.default)),
        is_open=is_validated and not hasattr(kind, post) and not found.static,
    )


def _get(self: Any, obj: Any, obj_type: Any = None) -> Any:
    """``Attribute.__get__``."""
    plan = _plan(type(obj))
    if plan is None:
        return _base_get(self, obj, obj_type)
    value = vars(obj).get(plan.places[self.name], Sentinel)
    if value is not Sentinel:
        return value
    value = self.default
    if callable(value):
        value = value()
        setattr(obj, plan.places[self.name], value)
    return value


def _get_inherited(self: Any, obj: Any, obj_type: Any = None) -> Any:
    """``FieldAttribute.__get__``."""
    plan = _plan(type(obj))
    if plan is None:
        return _inherited_get(self, obj, obj_type)
    values = vars(obj)
    if values.get("_squashed") or values.get("_finalized"):
        value = values.get(plan.places[self.name], Sentinel)
    else:
        try:
            value = obj._get_parent_attribute(self.name)
        except AttributeError:
            value = values.get(plan.places[self.name], Sentinel)
    if value is Sentinel:
        value = self.default
        if callable(value):
            value = value()
    return value


def _copy(self: Any) -> Any:
    """``FieldAttributeBase.copy``."""
    plan = _plan(type(self))
    if plan is None:
        return _base_copy(self)
    values, new = vars(self), self.__class__
    try:
        made = new()
    except RecursionError:
        return _base_copy(self)  # which says so
    target = vars(made)
    for field in plan.fields:
        value = values.get(field.place, Sentinel)
        if value is not Sentinel and type(value) not in _PLAIN:
            value = copy(value)
        for place in field.places:
            target[place] = value
    for name in ("_loader", "_variable_manager", "_origin", "_validated", "_finalized", "_uuid"):
        target[name] = values[name]
    if "_ds" in values:
        target["_ds"] = values["_ds"]
    return made


def _squash(self: Any) -> None:
    """``FieldAttributeBase.squash``."""
    plan = _plan(type(self))
    if plan is None:
        _base_squash(self)
    elif not self._squashed:
        values = vars(self)
        for field in plan.fields:
            value = getattr(self, field.name)
            for place in field.places:
                values[place] = value
        self._squashed = True


def _load_data(self: Any, ds: Any, variable_manager: Any = None, loader: Any = None) -> Any:
    """``FieldAttributeBase.load_data``."""
    plan = _plan(type(self))
    if plan is None or ds is None or loader is None:
        return _base_load(self, ds, variable_manager=variable_manager, loader=loader)
    self._ds = ds
    self._variable_manager = variable_manager
    self._origin = base.Origin.get_tag(ds)
    self._loader = loader
    ds = self.preprocess_data(ds)
    self._validate_attributes(ds)
    for field in plan.loaded:
        if field.name in ds:
            value = ds[field.name]
            setattr(self, field.name, getattr(self, field.load)(field.name, value) if field.load else value)
    self.validate()
    return self


def _validate(self: Any, all_vars: Any = None) -> None:
    """``FieldAttributeBase.validate``."""
    plan = None if self._validated else _plan(type(self))
    if plan is None:
        _base_validate(self, all_vars)
        return
    values = vars(self)
    for field in plan.checked:
        if field.validate:
            getattr(self, field.validate)(field.attribute, field.name, getattr(self, field.name))
        elif isinstance(values.get(field.place), (list, dict)):
            _base_validate(self, all_vars)  # which says what is wrong
    self._validated = True


def _post_validate(self: Any, templar: Any) -> None:
    """``FieldAttributeBase.post_validate``."""
    plan = _plan(type(self))
    if plan is None:
        _base_post_validate(self, templar)
        return
    for field in plan.fields:
        if field.is_skipped:
            continue
        value = getattr(self, field.name)
        if value is None and not field.attribute.required:
            continue
        if field.attribute.static and (not value or field.name == "vars"):
            continue
        if not (field.is_open and _is_final(value, field.attribute.isa)):
            value = self.post_validate_attribute(field.name, templar=templar)
        elif type(value) in _CONTAINERS.values():
            value = type(value)()
        if value is not Sentinel:
            setattr(self, field.name, value)
    self._finalized = True


def _is_final(value: Any, isa: str) -> bool:
    """Whether neither a template nor a conversion could make something else of a value."""
    kind = type(value)
    if isa == "string":
        return kind in _STRINGS and "{" not in value and not value.startswith("#")
    return kind in _SCALARS.get(isa, ()) or (_CONTAINERS.get(isa) is kind and not value)
