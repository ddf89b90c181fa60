"""Entries of a watches file that name a chart (docs/helm.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_operator.config.charts import CONTENT, PLAYBOOK
from ansible_operator.config.watches import parse_watches
from ansible_operator.model.errors import ConfigError
from ansible_operator.model.gvk import GVK
from ansible_operator.model.watch import Chart, Watch

WEB = "- version: v1\n  group: example.com\n  kind: Web\n"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "charts/web").mkdir(parents=True)
    (tmp_path / "charts/web/Chart.yaml").write_text("name: web\nversion: 0.1.0\n")
    (tmp_path / "charts/web-0.1.0.tgz").touch()
    (tmp_path / "charts/empty").mkdir()
    (tmp_path / "roles/web").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/helm").touch(mode=0o755)
    return tmp_path


def read(lines: str, directory: Path, **environment: str) -> Watch:
    text = WEB + "".join(f"  {line}\n" for line in lines.splitlines())
    (watch,) = parse_watches(text, "watches.yaml", {"PATH": str(directory / "bin"), **environment}, directory)
    return watch


def faults(lines: str, directory: Path, **environment: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(lines, directory, **environment)
    return [str(fault).replace(str(directory), "<directory>") for fault in caught.value.faults]


def test_a_chart_is_played_by_the_playbook_that_ships_with_the_runtime(directory: Path) -> None:
    watch = read("chart: charts/web", directory)
    assert watch.content == CONTENT
    assert PLAYBOOK.is_file()
    assert watch.chart == Chart(str(directory / "charts/web"))
    assert watch.finalizer is not None
    assert (watch.finalizer.name, watch.finalizer.content) == ("helm.sdk.operatorframework.io/uninstall-release", None)


def test_the_secrets_that_hold_releases_wake_nobody(directory: Path) -> None:
    secret, config_map = GVK("", "v1", "Secret"), GVK("", "v1", "ConfigMap")
    assert read("chart: charts/web", directory).blacklist == {secret}
    more = read("chart: charts/web\nblacklist: [{version: v1, kind: ConfigMap}]", directory)
    assert more.blacklist == {secret, config_map}


def test_charts_are_directories_packages_and_what_is_fetched(directory: Path) -> None:
    package = read("chart: charts/web-0.1.0.tgz", directory)
    assert package.chart == Chart(str(directory / "charts/web-0.1.0.tgz"))
    oci = read("chart: oci://registry/web\nchartVersion: 1.2.3", directory)
    assert oci.chart == Chart("oci://registry/web", version="1.2.3")
    named = read("chart: web\nchartRepository: https://charts.example.com\nchartVersion: 1.2.3", directory)
    assert named.chart == Chart("web", "https://charts.example.com", "1.2.3")


def test_values_of_the_watch_may_come_from_the_environment(directory: Path) -> None:
    watch = read("chart: charts/web\noverrideValues:\n  image.tag: ${TAG}\n  debug: false", directory, TAG="v2")
    assert watch.chart is not None
    assert watch.chart.override_values == {"image": {"tag": "v2"}, "debug": False}


@pytest.mark.parametrize(
    "text", ["1.20", "12e5", "on", "y", "010", "1234567", "0x1f", "12:30", "2024-01-01", "null", ""]
)
def test_what_stands_in_the_environment_is_a_value_letter_for_letter(text: str, directory: Path) -> None:
    watch = read(
        "chart: charts/web\noverrideValues:\n  image.tag: ${TAG}\n  tags: [{a: '${TAG}'}]", directory, TAG=text
    )
    assert watch.chart is not None
    given = None if text == "null" else text
    assert watch.chart.override_values == {"image": {"tag": given}, "tags": [{"a": text}]}


def test_a_value_that_is_no_text_says_so(directory: Path) -> None:
    lines = 'a: true\nb: ~\nc: !!int "3"\nd: !!float "1.5"\n1.20: [1, {0x1: false}]\n<<: {e: 1.0}'
    values = "".join(f"\n  {line}" for line in lines.splitlines())
    watch = read(f"chart: charts/web\noverrideValues:{values}", directory)
    assert watch.chart is not None
    given = {"a": True, "b": None, "c": 3, "d": 1.5, "1": {"20": ["1", {"0x1": False}]}, "e": "1.0"}
    assert watch.chart.override_values == given


def test_a_watches_file_of_helm_operator_is_understood(directory: Path) -> None:
    """Its keys have the same names here, those that mean nothing here do no harm."""
    watch = read("chart: charts/web\nwatchDependentResources: false\noverrideValues: {a: b}\nmaxHistory: 5", directory)
    assert watch.watch_dependent_resources is False


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "chart: charts/wbe",
            "line 4: [0].chart: no chart in <directory>/charts/wbe; give a directory with a Chart.yaml, a .tgz, or an"
            " oci:// reference, or add chartRepository",
        ),
        (
            "chart: charts/empty",
            "line 4: [0].chart: no chart in <directory>/charts/empty; give a directory with a Chart.yaml, a .tgz, or an"
            " oci:// reference, or add chartRepository",
        ),
        (
            "chart: oci://registry/web",
            "line 1: [0].chartVersion: is missing; add chartVersion to this entry",
        ),
        (
            "chart: charts/web\nrole: web",
            "line 5: [0].role: stands beside chart; keep one of them",
        ),
        (
            "chart: charts/web\nvars: {a: 1}",
            "line 5: [0].vars: stands beside chart; a chart has no use for them; give values with overrideValues",
        ),
        (
            "chart: charts/web\nfinalizer: {name: a/b}",
            "line 5: [0].finalizer: stands beside chart; remove it; a release is uninstalled by a finalizer of its own",
        ),
        (
            "chart: charts/web\noverrideValues: [a]",
            "line 5: [0].overrideValues: is not a map; write name: value pairs",
        ),
        (
            "chart: charts/web\noverrideValues: {'hosts[0].host': a}",
            "line 5: [0].overrideValues: 'hosts[0].host' is no path of names; write name.name; set a list as a whole;"
            r" put \ before one of . , = [ ] { } that belongs to a name",
        ),
        (
            "chart: charts/web\noverrideValues: {a: !!int 'b'}",
            "line 5: [0].overrideValues: is not YAML: invalid literal for int() with base 10: 'b'; correct the syntax"
            " at this line",
        ),
    ],
)
def test_a_fault_names_its_field_and_the_cure(lines: str, expected: str, directory: Path) -> None:
    assert faults(lines, directory) == [expected]


def test_without_helm_no_chart_can_be_released(directory: Path) -> None:
    expected = "line 4: [0].chart: there is no program helm on the PATH; install Helm 3 where the operator runs"
    assert faults("chart: charts/web", directory, PATH=str(directory)) == [expected]


def test_a_null_is_as_good_as_nothing(directory: Path) -> None:
    watch = read("chart: null\nrole: web", directory)
    assert watch.chart is None
    assert read("chart: charts/web\nrole: null\nvars: ~", directory).chart is not None


def test_every_file_of_the_playbook_is_yaml(directory: Path) -> None:
    files = [PLAYBOOK, *(PLAYBOOK.parent / "chart").glob("*.yml")]
    assert len(files) >= 6
    assert all(isinstance(yaml.safe_load(file.read_text()), list) for file in files)
