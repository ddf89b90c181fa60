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

_EXIT_STATUS = """\
exit status:
  0  it ended as it was asked to
  1  it cannot start or go on; the last line says why, with the cure
  2  wrong usage
"""

_EXAMPLES = """\
examples:
  ansible-operator run --watches-file ./watches.yaml --zap-encoder console
  ansible-operator replay /tmp/ansible-operator/runner/GROUP/VERSION/KIND/NAMESPACE/NAME -vvv
  ansible-operator run --help            all flags, and the variables that count

"""

_RUN = """\
Watch objects and run the content that watches.yaml binds to them: a role, a playbook or a
chart for each object, when it is made, edited or deleted, when somebody changes what it
owns, and again after a while.

Values are read as in Go: durations are 1h30m or 500ms, addresses host:port or :port, and a
flag of true or false is set by its bare name.
"""

_ENVIRONMENT = """\
environment:
  KUBECONFIG                  the cluster, outside of a pod
  WATCH_NAMESPACE             namespaces to watch, separated by commas; empty: all
  OPERATOR_NAME               name of the lease, where --leader-election-id gives none
  MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>
                              runs at once for one kind, instead of the flag
  ANSIBLE_VERBOSITY_<KIND>_<GROUP>
                              number of v's for one kind, instead of the flag
  ANSIBLE_ROLES_PATH, ANSIBLE_COLLECTIONS_PATH
                              search paths; the flags of these names go before them
  ANSIBLE_GATHERING           explicit: no facts unless a play says so, a second less a run
  ANSIBLE_INVENTORY           an inventory in place of localhost alone
  ANSIBLE_DEBUG_LOGS          true: the whole output of each run goes to the log
  Every variable reaches the runs. <KIND> and <GROUP> are in capitals, with _ for each dot:
  SHOP_STORES_EXAMPLE_COM.

files:
  <work-dir>/runner/<group>/<version>/<Kind>/<namespace>/<name>
                              what the last runs for an object were given, and printed;
                              ansible-operator replay reads it

"""


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
        prog="ansible-operator",
        description="Runs Ansible content as a Kubernetes operator.",
        epilog=_EXAMPLES + _EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        usage="ansible-operator run [flags]",
        help="watch objects and run the content that watches.yaml binds to them",
        description=_RUN,
        epilog=_ENVIRONMENT + _EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    flags.add_flags(run)
    run.add_argument("ignored", nargs="*", help=argparse.SUPPRESS)  # the Go operator tolerates stray words
    again = commands.add_parser(
        "replay",
        help="run once more what an object's directory remembers, with your own credentials",
        description="Run once more what an object's directory remembers, with the credentials of your kubeconfig.",
        epilog="The exit status is that of ansible-playbook; 1 where the directory remembers no run.",
    )
    again.add_argument("directory", type=Path, help="<work-dir>/runner/<group>/<version>/<Kind>/<namespace>/<name>")
    again.add_argument("-v", dest="verbosity", action="count", help="as for ansible-playbook; default: as in that run")
    commands.add_parser("version", help="print the version", description="Print the version, of Python too.")
    return parser
