"""``watches.yaml``: text to Watch objects, with every fault of the file in one error (contract 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ansible_operator.config import charts
from ansible_operator.config.content import SearchPath
from ansible_operator.config.document import Section, read_list
from ansible_operator.config.expansion import expand
from ansible_operator.model.errors import ConfigError, Fault
from ansible_operator.model.gvk import GVK
from ansible_operator.model.selectors import OPERATORS, Requirement, Selector, is_label_value, is_qualified_name
from ansible_operator.model.watch import DEFAULT_MAX_RUNNER_ARTIFACTS, Content, Finalizer, Watch

_WORD = "at most 63 letters, digits, '-', '_' and '.', a letter or digit first and last"
_QUALIFIED_NAME = f"write name or example.com/name; the name is {_WORD}"


def load_watches(file: Path, environment: Mapping[str, str], directory: Path) -> list[Watch]:
    """The watches of a file; relative content is looked for from ``directory``. Raises ConfigError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        fault = Fault(0, "file", f"cannot be read: {problem}", "name an existing file with --watches-file")
        raise ConfigError(str(file), [fault]) from error
    return parse_watches(text, str(file), environment, directory)


def parse_watches(text: str, source: str, environment: Mapping[str, str], directory: Path) -> list[Watch]:
    """The watches in a text that came from ``source``. Raises ConfigError with every fault."""
    faults: list[Fault] = []
    search = SearchPath.of(directory, environment)
    watches: list[Watch] = []
    for section in read_list(expand(text, environment), source, faults):
        watch = _watch(section, search, environment)
        if watch.gvk.version and watch.gvk.kind and any(watch.gvk == other.gvk for other in watches):
            section.fault("kind", f"{watch.gvk} is watched twice", "keep one entry for each kind")
        watches.append(watch)
    if faults:
        raise ConfigError(source, faults)
    return watches


def _watch(section: Section, search: SearchPath, environment: Mapping[str, str]) -> Watch:
    """The watch of an entry; where something is missing that is among the faults, and nobody will see the watch."""
    gvk = _gvk(section)
    chart = charts.read_chart(section, search, environment)
    content = _content(section, search, missing="name the content to run") if chart is None else charts.CONTENT
    finalizer = _finalizer(section, search) if chart is None else charts.UNINSTALL
    artifacts = section.number("maxRunnerArtifacts", DEFAULT_MAX_RUNNER_ARTIFACTS)
    blacklist = frozenset(_gvk(entry) for entry in section.sections("blacklist"))
    return Watch(
        gvk=gvk,
        content=content or Content(),
        vars=section.mapping("vars"),
        max_runner_artifacts=artifacts or DEFAULT_MAX_RUNNER_ARTIFACTS,
        reconcile_period=section.duration("reconcilePeriod"),
        manage_status=section.boolean("manageStatus", True),
        watch_dependent_resources=section.boolean("watchDependentResources", True),
        watch_cluster_scoped_resources=section.boolean("watchClusterScopedResources", False),
        snake_case_parameters=section.boolean("snakeCaseParameters", True),
        watch_annotations_changes=section.boolean("watchAnnotationsChanges", False),
        mark_unsafe=section.boolean("markUnsafe", False),
        blacklist=blacklist if chart is None else blacklist | charts.BLACKLIST,
        finalizer=finalizer,
        selector=_selector(section.section("selector")),
        chart=chart,
    )


def _gvk(section: Section) -> GVK:
    return GVK(section.text("group"), section.text("version", required=True), section.text("kind", required=True))


def _content(section: Section, search: SearchPath, *, missing: str = "") -> Content | None:
    """The content of a watch or finalizer. Where both are given the playbook wins.

    ``missing`` is the cure where there is neither; without it there need not be one.
    """
    playbook, role = section.text("playbook"), section.text("role")
    if playbook:
        path = search.playbook(playbook)
        if path.is_file():
            return Content(playbook=path)
        section.fault("playbook", f"{path} does not exist", "give the path of an existing playbook")
    elif role:
        found, tried = search.role(role)
        if found is not None:
            return Content(role=found)
        places = ", ".join(map(str, tried))
        variable = "ANSIBLE_COLLECTIONS_PATH" if role.count(".") == 2 else "ANSIBLE_ROLES_PATH"
        section.fault("role", f"no role {role!r} in {places}", f"create it there, or set {variable}")
    elif missing:
        section.fault("role", "neither role nor playbook is given", missing)
    return None


def _finalizer(section: Section, search: SearchPath) -> Finalizer | None:
    entry = section.section("finalizer")
    if entry is None:
        return None
    name = entry.text("name", required=True)
    if name and not is_qualified_name(name):
        entry.fault("name", f"{name!r} is no name of a finalizer", _QUALIFIED_NAME)
    variables = entry.mapping("vars")
    missing = "" if variables else "name the content to run, or give vars for the main content"
    content = _content(entry, search, missing=missing)
    return Finalizer(name, content, variables)


def _selector(section: Section | None) -> Selector:
    if section is None:
        return Selector()
    requirements = []
    for key, value in section.text_map("matchLabels").items():
        _check_label(section, "matchLabels", key, (value,))
        requirements.append(Requirement(key, "In", (value,)))
    for expression in section.sections("matchExpressions"):
        key, values = expression.text("key", required=True), expression.texts("values")
        operator = expression.text("operator", required=True)
        if operator and operator not in OPERATORS:
            expression.fault("operator", f"is {operator!r}", f"write one of {', '.join(OPERATORS)}")
        elif (operator in ("In", "NotIn")) != bool(values):
            cure = "list at least one" if not values else f"remove them, {operator} takes none"
            expression.fault("values", f"do not fit operator {operator}", cure)
        if key:
            _check_label(expression, "key", key)
        _check_label(expression, "values", "", values)
        requirements.append(Requirement(key, operator, values))
    return Selector(tuple(requirements))


def _check_label(section: Section, field: str, key: str, values: tuple[str, ...] = ()) -> None:
    """A selector that no label can have would be refused by the API server at each list, for ever."""
    if key and not is_qualified_name(key):
        section.fault(field, f"{key!r} is no label key", _QUALIFIED_NAME)
    for value in values:
        if not is_label_value(value):
            section.fault(field, f"{value!r} is no label value", f"write {_WORD}, or nothing")
