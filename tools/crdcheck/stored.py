"""OLM's own look at stored objects before it writes a new definition.

As validateExistingCRs of OLM v0.46.0 (pkg/controller/operators/catalog/operator.go) does: each object as it is stored,
without the new schema's defaults, whole, with no regard to what was invalid before, and without CEL. One object that
does not pass stops the upgrade ("updated validation is too restrictive").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from jsonschema import Draft4Validator, FormatChecker

Object = Mapping[str, Any]


def _is_time(value: object) -> bool:
    return not isinstance(value, str) or bool(datetime.fromisoformat(value))


_FORMATS = FormatChecker(formats=())
_FORMATS.checks("date-time", raises=ValueError)(_is_time)


def refused(definition: Mapping[str, Any], objects: Iterable[Object]) -> list[str]:
    """What OLM would say of these objects, each as `Kind namespace/name: field: what`; empty when it would upgrade."""
    kind = definition["spec"]["names"]["kind"]
    validators = {
        f"{definition['spec']['group']}/{one['name']}": Draft4Validator(
            _json_schema(one["schema"]["openAPIV3Schema"]), format_checker=_FORMATS
        )
        for one in definition["spec"]["versions"]
        if one["served"]
    }
    return [
        f"{kind} {_name(one)}: {'.'.join(map(str, fault.absolute_path)) or 'object'}: {fault.message}"
        for one in objects
        if one["kind"] == kind and one["apiVersion"] in validators
        for fault in validators[one["apiVersion"]].iter_errors(one)
    ]


def _name(found: Object) -> str:
    metadata = found["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _json_schema(schema: Any) -> Any:
    """The same as a JSON schema of draft 4, which OpenAPI 3.0 extends by these two words."""
    if isinstance(schema, list):
        return [_json_schema(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: _json_schema(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string") is True:
        made["type"] = ["integer", "string"]
    if schema.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made
