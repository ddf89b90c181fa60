"""The ``ansible-operator`` command line (contract 4.1)."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from ansible_operator import __version__, app
from ansible_operator.config import flags
from ansible_operator.config.settings import build_settings
from ansible_operator.config.watches import load_watches
from ansible_operator.model.errors import OperatorError
from ansible_operator.replay import replay
from ansible_operator.telemetry import logs


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 after a clean stop, 1 where the operator cannot start or go on, 2 for a wrong command line."""
    parser = _parser()
    options = parser.parse_args(flags.normalise(sys.argv[1:] if arguments is None else arguments))
    if options.command == "version":
        print(f"ansible-operator version: {__version__!r}, python version: {platform.python_version()!r}")
        return 0
    command = _replay if options.command == "replay" else _run
    try:
        return command(options)
    except (OperatorError, ValueError) as error:
        print(f"ansible-operator: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    settings, complaints = build_settings(flags.values_of(options), os.environ)
    logs.configure(settings.log_level, settings.log_format)
    log = logs.get_logger("cli")
    for complaint in complaints:
        log.warning("setting ignored", problem=complaint)
    watches = load_watches(settings.watches_file, settings.environment, Path.cwd())
    if not watches:
        log.warning("nothing is watched: the watches file names no kind", file=str(settings.watches_file))
    for watch in watches:
        if not watch.mark_unsafe:
            log.warning("values of objects are templated by Ansible; set markUnsafe: true", gvk=str(watch.gvk))
    asyncio.run(app.run(settings, watches))
    return 0


def _replay(options: argparse.Namespace) -> int:
    return asyncio.run(replay(options.directory.absolute(), os.environ, options.verbosity))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ansible-operator", description="Runs Ansible content as a Kubernetes operator."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        usage="ansible-operator run [flags]",
        help="watch objects and run the content that watches.yaml binds to them",
        description="Watch objects and run the content that watches.yaml binds to them. Durations are Go's: 1h30m.",
        epilog=(
            "environment: KUBECONFIG, WATCH_NAMESPACE (comma list; empty: all), ANSIBLE_ROLES_PATH, "
            "ANSIBLE_COLLECTIONS_PATH, MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>, ANSIBLE_VERBOSITY_<KIND>_<GROUP>, "
            "ANSIBLE_GATHERING, ANSIBLE_INVENTORY, ANSIBLE_DEBUG_LOGS; every ANSIBLE_ variable reaches the runs"
        ),
        allow_abbrev=False,
    )
    flags.add_flags(run)
    run.add_argument("ignored", nargs="*", help=argparse.SUPPRESS)  # the Go operator tolerates stray words
    again = commands.add_parser(
        "replay",
        help="run once more what an object's directory remembers, with your own credentials",
        description="Run once more what an object's directory remembers, with the credentials of your kubeconfig.",
    )
    again.add_argument("directory", type=Path, help="<work-dir>/runner/<group>/<version>/<Kind>/<namespace>/<name>")
    again.add_argument("-v", dest="verbosity", action="count", help="as for ansible-playbook; default: as in that run")
    commands.add_parser("version", help="print the version")
    return parser
