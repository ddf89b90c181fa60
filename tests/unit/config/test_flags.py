"""Flags: names, defaults, forms and complaints (contract 4.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_operator import app, cli
from ansible_operator.config import flags
from ansible_operator.model.settings import Address, Settings

DEFAULTS = {
    "watches-file": "./watches.yaml",
    "inject-owner-ref": True,
    "ansible-verbosity": 2,
    "ansible-roles-path": "",
    "ansible-collections-path": "",
    "ansible-args": "",
    "reconcile-period": 36000,
    "max-concurrent-reconciles": 0,
    "metrics-bind-address": Address("", 8443),
    "health-probe-bind-address": Address("", 6789),
    "leader-elect": False,
    "leader-election-id": "",
    "leader-election-namespace": "",
    "leader-elect-resource-lock": "",
    "leader-elect-lease-duration": 15,
    "leader-elect-renew-deadline": 10,
    "graceful-shutdown-timeout": 30,
    "ansible-log-events": "tasks",
    "proxy-port": 8888,
    "enable-http2": False,
    "metrics-secure": False,
    "metrics-require-rbac": False,
    "zap-devel": False,
    "zap-encoder": "",
    "zap-log-level": "info",
    "zap-stacktrace-level": "",
    "zap-time-encoding": "",
}
ALIASES = {"metrics-addr": "metrics-bind-address", "enable-leader-election": "leader-elect"}
OURS = {
    "work-dir": "/tmp/ansible-operator",
    "cold": False,
    "max-concurrent-runs": 0,
    "run-timeout": 600,
    "user-metrics-bind-address": Address("127.0.0.1", 5050),
    "proxy-allow-anonymous": False,
}


def values(*arguments: str) -> dict[str, Any]:
    """The values of a command line ``run …``, by the name of the flag."""
    options = cli._parser().parse_args(flags.normalise(["run", *arguments]))
    return {name.replace("_", "-"): value for name, value in flags.values_of(options).items()}


@pytest.mark.parametrize(("name", "value"), [*DEFAULTS.items(), *OURS.items()], ids=[*DEFAULTS, *OURS])
def test_the_default_of(name: str, value: Any) -> None:
    assert values()[name] == value


def test_the_lists_here_are_complete() -> None:
    assert set(values()) == set(DEFAULTS) | set(OURS)


GIVEN: dict[str, tuple[str, Any]] = {
    "watches-file": ("w.yaml", "w.yaml"),
    "inject-owner-ref": ("false", False),
    "ansible-verbosity": ("5", 5),
    "ansible-roles-path": ("/a:/b", "/a:/b"),
    "ansible-collections-path": ("/c", "/c"),
    "ansible-args": ("-e x=y --diff", "-e x=y --diff"),
    "reconcile-period": ("0s", 0),
    "max-concurrent-reconciles": ("3", 3),
    "metrics-bind-address": ("127.0.0.1:9000", Address("127.0.0.1", 9000)),
    "metrics-addr": ("0", Address("", 0)),
    "health-probe-bind-address": ("[::1]:81", Address("::1", 81)),
    "leader-elect": ("true", True),
    "enable-leader-election": ("true", True),
    "leader-election-id": ("me", "me"),
    "leader-election-namespace": ("ns", "ns"),
    "leader-elect-resource-lock": ("leases", "leases"),
    "leader-elect-lease-duration": ("1m", 60),
    "leader-elect-renew-deadline": ("1m30s", 90),
    "graceful-shutdown-timeout": ("500ms", 0.5),
    "ansible-log-events": ("Everything", "everything"),
    "proxy-port": ("18888", 18888),
    "enable-http2": ("true", True),
    "metrics-secure": ("true", True),
    "metrics-require-rbac": ("true", True),
    "zap-devel": ("true", True),
    "zap-encoder": ("console", "console"),
    "zap-log-level": ("debug", "debug"),
    "zap-stacktrace-level": ("error", "error"),
    "zap-time-encoding": ("iso8601", "iso8601"),
    "work-dir": ("/var/run", "/var/run"),
    "cold": ("true", True),
    "max-concurrent-runs": ("4", 4),
    "run-timeout": ("1h", 3600),
    "user-metrics-bind-address": (":5051", Address("", 5051)),
    "proxy-allow-anonymous": ("true", True),
}
BOOLEANS = [name for name, (_, value) in GIVEN.items() if isinstance(value, bool)]


@pytest.mark.parametrize("name", GIVEN)
def test_a_value_behind_an_equals_sign(name: str) -> None:
    text, value = GIVEN[name]
    assert values(f"--{name}={text}")[ALIASES.get(name, name)] == value


@pytest.mark.parametrize("name", [name for name in GIVEN if name not in BOOLEANS])
def test_a_value_in_the_next_word(name: str) -> None:
    text, value = GIVEN[name]
    assert values(f"--{name}", text)[ALIASES.get(name, name)] == value


def test_every_flag_is_tried_here() -> None:
    assert set(GIVEN) == set(values()) | set(ALIASES)


@pytest.mark.parametrize("name", BOOLEANS)
def test_a_bare_boolean_flag_is_true_and_swallows_no_word(name: str) -> None:
    assert values(f"--{name}", "word")[ALIASES.get(name, name)] is True


@pytest.mark.parametrize(("text", "value"), [(text, True) for text in ("1", "t", "T", "true", "TRUE", "True")])
def test_a_boolean_as_go_reads_it(text: str, value: bool) -> None:
    assert values(f"--leader-elect={text}")["leader-elect"] is value


@pytest.mark.parametrize("text", ["0", "f", "F", "false", "FALSE", "False"])
def test_and_false(text: str) -> None:
    assert values(f"--inject-owner-ref={text}")["inject-owner-ref"] is False


def test_the_next_word_is_the_value_even_if_it_looks_like_a_flag() -> None:
    assert values("--ansible-args", "--diff", "--leader-elect") == values("--leader-elect", "--ansible-args=--diff")
    assert values("--ansible-args", "-v")["ansible-args"] == "-v"


def test_the_last_of_two_values_counts() -> None:
    assert values("--proxy-port=1", "--proxy-port", "2")["proxy-port"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["stray", "--proxy-port=5"],
        ["--proxy-port=5", "stray"],
        ["one", "two", "--proxy-port", "5", "three", "--leader-elect", "four"],
        ["--proxy-port=5", "--", "--proxy-port=6"],
    ],
    ids=" ".join,
)
def test_stray_words_are_tolerated_wherever_they_are(arguments: list[str]) -> None:
    assert values(*arguments)["proxy-port"] == 5


# --- what is wrong ---------------------------------------------------------------------------------------------------


BAD = [
    ("ansible-verbosity", "many"),
    ("ansible-verbosity", "-1"),
    ("reconcile-period", "10"),
    ("reconcile-period", "1d"),
    ("max-concurrent-reconciles", "1.5"),
    ("max-concurrent-runs", ""),
    ("metrics-bind-address", "localhost"),
    ("metrics-bind-address", ":99999"),
    ("health-probe-bind-address", ":http"),
    ("proxy-port", "99999"),
    ("leader-elect", "maybe"),
    ("enable-leader-election", "yes"),
    ("zap-encoder", "xml"),
    ("run-timeout", "-5s"),
    ("graceful-shutdown-timeout", "soon"),
]


@pytest.mark.parametrize(("name", "text"), BAD, ids=[f"{name} {text}" for name, text in BAD])
def test_a_bad_value_ends_with_2_and_names_the_flag(name: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        values(f"--{name}={text}")
    assert ended.value.code == 2
    assert f"argument --{name}: " in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--no-such-flag"], ["--no-such-flag=1"], ["--no-such-flag", "1"]], ids=" ".join)
def test_an_unknown_flag_is_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        values(*arguments)
    assert ended.value.code == 2
    assert "--no-such-flag" in capsys.readouterr().err


def test_a_flag_is_not_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        values("--proxy=5")
    assert "--proxy=5" in capsys.readouterr().err


def test_a_flag_without_its_value_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        values("--proxy-port")
    assert "argument --proxy-port: expected one argument" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--metrics-addr=:1", "--metrics-bind-address=:1"], "--metrics-bind-address and --metrics-addr"),
        (["--leader-elect=false", "--enable-leader-election"], "--leader-elect and --enable-leader-election"),
    ],
)
def test_both_names_of_one_flag_end_with_1(
    arguments: list[str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", *arguments]) == 1
    assert f"{names} are the same flag; give one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--metrics-require-rbac"], "--metrics-require-rbac needs --metrics-secure"),
        (["--leader-elect", "--leader-elect-lease-duration=5s"], "--leader-elect-renew-deadline must be longer"),
        (["--leader-elect", "--leader-elect-renew-deadline=2s"], "--leader-elect-renew-deadline must be longer"),
        (["--watches-file=/no/such/file"], "--watches-file"),
    ],
    ids=["metrics", "lease shorter than its renewal", "no time to renew", "watches"],
)
def test_what_cannot_work_ends_with_1_and_names_the_flag(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli.logs, "configure", lambda *_: None)
    assert cli.main(["run", *arguments]) == 1
    assert text in capsys.readouterr().err


# --- commands --------------------------------------------------------------------------------------------------------


def test_help_shows_every_flag_with_its_default_and_no_old_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "--help"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for flag in flags.FLAGS:
        assert f"--{flag.name}" in text
    assert "(default 10h)" in text
    assert all(f"--{alias} " not in text for alias in ALIASES)


def test_version_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["version"]) == 0
    assert capsys.readouterr().out.startswith("ansible-operator version: ")


@pytest.mark.parametrize("arguments", [[], ["walk"]], ids=["none", "unknown"])
def test_a_command_is_needed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_run_hands_settings_and_watches_to_the_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "roles/web").mkdir(parents=True)
    (tmp_path / "watches.yaml").write_text("- {version: v1, group: example.com, kind: Web, role: web}\n")
    seen: list[tuple[Settings, int]] = []

    async def run(settings: Settings, watches: list[Any]) -> None:
        seen.append((settings, len(watches)))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app, "run", run)
    monkeypatch.setattr(cli.logs, "configure", lambda *_: None)
    assert cli.main(["run", "--proxy-port=18888"]) == 0
    ((settings, watches),) = seen
    assert (settings.proxy_port, watches) == (18888, 1)


@pytest.mark.parametrize("text", ["[]", "", "# nothing yet\n"], ids=repr)
def test_a_file_without_watches_is_told_once(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run(_settings: Settings, _watches: list[Any]) -> None:
        pass

    (tmp_path / "watches.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app, "run", run)
    monkeypatch.setattr(cli.logs, "configure", lambda *_: None)
    assert cli.main(["run"]) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).count("nothing is watched") == 1
