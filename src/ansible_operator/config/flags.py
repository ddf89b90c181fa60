"""The flags of ``ansible-operator run``: names, defaults and help in one table (contract 4.1).

The Go operator's flags are all accepted; those that mean nothing here say so in their help. They are read as in Go
programs: a boolean flag is set by its bare name or by ``--flag=false``, any other takes the next word whatever it is,
and words that belong to no flag are tolerated.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_operator.model.durations import parse_duration
from ansible_operator.model.settings import Address

_TRUE = ("1", "t", "true")
_FALSE = ("0", "f", "false")


def boolean(text: str) -> bool:
    """A boolean as Go's strconv reads it."""
    if text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    raise argparse.ArgumentTypeError(f"{text!r} is not a boolean; write true or false")


def duration(text: str) -> float:
    """A Go duration in seconds."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def address(text: str) -> Address:
    """``host:port``, ``:port``, or ``0`` for off."""
    host, _, port = text.rpartition(":")
    if port.isdecimal() and int(port) < 65536:
        return Address(host.strip("[]"), int(port))
    raise argparse.ArgumentTypeError(f"{text!r} is not an address; write host:port, :port or 0")


def whole_number(text: str) -> int:
    """A whole number of at least 0."""
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")


def port(text: str) -> int:
    """The number of a port; 0 takes a free one."""
    if text.isdecimal() and int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; write a number below 65536")


def time_limit(text: str) -> float:
    """A Go duration of at least 0, in seconds."""
    seconds = duration(text)
    if seconds >= 0:
        return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is negative; write 0s for no limit")


@dataclass(frozen=True)
class Flag:
    """One flag. ``aliases`` are old names of it; giving two names of one flag is an error."""

    name: str
    kind: Callable[[str], Any]
    default: str
    help: str
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def dest(self) -> str:
        """The attribute that argparse stores it under."""
        return self.name.replace("-", "_")


FLAGS: tuple[Flag, ...] = (
    Flag("watches-file", str, "./watches.yaml", "path of the watches file"),
    Flag("work-dir", str, "/tmp/ansible-operator", "directory for runs and their artifacts; it must be writable"),  # noqa: S108 - the Go operator's place
    Flag("inject-owner-ref", boolean, "true", "write owner references into objects that runs create"),
    Flag("ansible-verbosity", whole_number, "2", "number of v's for ansible-playbook, 0 to 7"),
    Flag("ansible-roles-path", str, "", "search path for roles; sets ANSIBLE_ROLES_PATH"),
    Flag("ansible-collections-path", str, "", "search path for collections; sets ANSIBLE_COLLECTIONS_PATH"),
    Flag("ansible-args", str, "", "further arguments for ansible-playbook"),
    Flag("ansible-log-events", str.lower, "tasks", "what is logged of a run: nothing, tasks or everything"),
    Flag("reconcile-period", duration, "10h", "time between two runs for an unchanged object; 0s: none"),
    Flag("max-concurrent-reconciles", whole_number, "0", "runs at once for each kind; 0: number of CPUs allowed"),
    Flag("cold", boolean, "false", "run every play as an ansible-runner process of its own: slow and plain"),
    Flag("max-concurrent-runs", whole_number, "0", "runs at once over all kinds; 0: as CPUs and memory allow"),
    Flag("run-timeout", time_limit, "10m", "longest time of one run; 0s: no limit"),
    Flag("metrics-bind-address", address, ":8443", "address of /metrics; 0: off", aliases=("metrics-addr",)),
    Flag("metrics-secure", boolean, "false", "serve /metrics over TLS, with a certificate made at start"),
    Flag(
        "metrics-require-rbac", boolean, "false", "let only those read /metrics whom RBAC lets; needs --metrics-secure"
    ),
    Flag("user-metrics-bind-address", address, "127.0.0.1:5050", "address where content reports metrics; 0: off"),
    Flag("health-probe-bind-address", address, ":6789", "address of /healthz and /readyz; 0: off"),
    Flag("proxy-port", port, "8888", "loopback port of the API proxy that runs talk to"),
    Flag(
        "proxy-allow-anonymous",
        boolean,
        "false",
        "plain HTTP on --proxy-port for whoever comes, with the operator's rights; runs get another port",
    ),
    Flag("leader-elect", boolean, "false", "let replicas elect one that works", aliases=("enable-leader-election",)),
    Flag("leader-election-id", str, "", "name of the lease; without it OPERATOR_NAME"),
    Flag("leader-election-namespace", str, "", "namespace of the lease; without it the pod's own"),
    Flag("leader-elect-resource-lock", str, "", "accepted, without effect; leases are used"),
    Flag("leader-elect-lease-duration", duration, "15s", "time after which a silent leader is replaced"),
    Flag("leader-elect-renew-deadline", duration, "10s", "time after which a leader that cannot renew gives up"),
    Flag("graceful-shutdown-timeout", duration, "30s", "time that runs get to end when the operator is stopped"),
    Flag("zap-devel", boolean, "false", "console logs at level debug"),
    Flag("zap-encoder", str, "", "json or console", choices=("", "json", "console")),
    Flag("zap-log-level", str, "info", "debug, info, error, or a number (above 0: debug)"),
    Flag("zap-stacktrace-level", str, "", "accepted, without effect"),
    Flag("zap-time-encoding", str, "", "accepted, without effect; times are RFC 3339"),
    Flag("enable-http2", boolean, "false", "accepted, without effect; the servers speak HTTP/1.1"),
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare every flag. Values stay None where a flag is not given; ``value_of`` fills in the default."""
    for flag in FLAGS:
        bare: dict[str, Any] = {"nargs": "?", "const": True} if flag.kind is boolean else {}
        for name in (flag.name, *flag.aliases):
            parser.add_argument(
                f"--{name}",
                dest=name.replace("-", "_"),
                type=flag.kind,
                choices=flag.choices or None,
                metavar="true|false" if flag.kind is boolean else "VALUE",
                help=f"{flag.help} (default {flag.default or 'empty'})" if name == flag.name else argparse.SUPPRESS,
                **bare,
            )


def normalise(arguments: Sequence[str]) -> list[str]:
    """The command, then every flag in one word with its value, then words that belong to none.

    argparse would let a bare boolean flag swallow the word behind it, refuse a value that begins with a hyphen, and
    refuse stray words between flags.
    """
    booleans = {f"--{name}" for flag in FLAGS if flag.kind is boolean for name in (flag.name, *flag.aliases)}
    others = {f"--{name}" for flag in FLAGS if flag.kind is not boolean for name in (flag.name, *flag.aliases)}
    given: list[str] = []
    words: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            words += [argument, *rest]
        elif argument in booleans:
            given.append(f"{argument}=true")
        elif argument in others:
            given += [f"{argument}={value}" for value in (next(rest, None),) if value is not None] or [argument]
        else:
            (given if argument.startswith("-") else words).append(argument)
    return [*words[:1], *given, *words[1:]]


def values_of(namespace: argparse.Namespace) -> dict[str, Any]:
    """The value of every flag by ``dest``. Raises ValueError where two names of one flag were given."""
    values: dict[str, Any] = {}
    for flag in FLAGS:
        given = [
            (name, value)
            for name in (flag.name, *flag.aliases)
            if (value := getattr(namespace, name.replace("-", "_"))) is not None
        ]
        if len(given) > 1:
            raise ValueError(f"{_names(name for name, _ in given)} are the same flag; give one of them")
        values[flag.dest] = given[0][1] if given else flag.kind(flag.default)
    return values


def _names(names: Iterable[str]) -> str:
    return " and ".join(f"--{name}" for name in names)
