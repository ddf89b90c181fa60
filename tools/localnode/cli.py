"""The command line. Exit codes: 0 done (for `status`: ready), 1 it failed (for `status`: not ready), 2 wrong usage."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from localcluster import ClusterError
from localcluster.spec import REAL_NODE
from localnode import daemons
from localnode.errors import NodeError
from localnode.layout import Layout
from localnode.node import Node, end


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        return command(options)
    except (NodeError, ClusterError, OSError) as error:
        print(f"localnode: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m localnode", description=sys.modules["localnode"].__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("up", _up, "start it in the background; the last line is the path of its kubeconfig"),
        ("status", _status, "what runs; exit status 0 iff the node is ready"),
        ("down", _down, "end it, also a broken one, and remove all of it"),
        ("load", _load, "bring the image of an archive to it"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        if name == "load":
            command.add_argument("archive", type=Path, help="an OCI or docker archive")
    return parser


def _up(_options: argparse.Namespace) -> int:
    print(Node.start(background=True, progress=_say).cluster.kubeconfig)
    return 0


def _status(_options: argparse.Namespace) -> int:
    node = Node.attach()
    state = daemons.read_state(Layout().state)
    alive = {name: identity.alive() for name, identity in (state.processes if state else {}).items()}
    for name, is_alive in alive.items():
        print(f"{name:<12} {'running' if is_alive else 'ended'}")
    command = [str(node.cluster.kubectl), "--kubeconfig", str(node.cluster.kubeconfig), "wait", "node", REAL_NODE]
    ready = subprocess.run([*command, "--for=condition=Ready", "--timeout=1s"], check=False).returncode == 0
    return 0 if ready and all(alive.values()) else 1


def _down(_options: argparse.Namespace) -> int:
    end(Layout())
    return 0


def _load(options: argparse.Namespace) -> int:
    Node.attach().load(options.archive)
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
