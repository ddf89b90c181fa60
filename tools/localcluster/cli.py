"""The command line. Arguments to calls, errors to one line and an exit code; nothing is decided here.

Exit codes: 0 done (for `status`: ready), 1 it failed (for `status`: not ready), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from localcluster import binaries, build, pins
from localcluster.cluster import Cluster
from localcluster.errors import ClusterError
from localcluster.layout import DEFAULT_DIRECTORY, Layout, cache_directory
from localcluster.state import Phase, read_state
from localcluster.status import status_report
from localcluster.teardown import end_cluster, is_live

_DESCRIPTION = """\
A local Kubernetes cluster of real processes: etcd, kube-apiserver, kube-controller-manager,
kube-scheduler, and kwok, which makes a node and pods look alive. No container engine is
needed. Everything listens on 127.0.0.1.
"""

_EPILOG = f"""\
examples:
  python -m localcluster up                  start it; the last line is the path of its kubeconfig
  export KUBECONFIG=$(python -m localcluster up)
  python -m localcluster sa-kubeconfig default robot /tmp/robot.kubeconfig
  python -m localcluster down                end it and remove its files

environment:
  AITASK_TOOLS_CACHE         where built programs are kept
                             (now: {cache_directory()})
  KUBEBUILDER_ASSETS         a folder whose etcd, kube-apiserver and kubectl are preferred,
                             where their versions fit
  LOCALCLUSTER_START_SECONDS how long a start may take (120)

exit status:
  0    done; of status: ready
  1    it failed, the last line says why; of status: not ready
  2    wrong usage
  130  interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        return command(options)
    except ClusterError as error:
        return _fault(str(error))
    except BrokenPipeError:
        return 1  # whoever read our output has enough
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        return _fault(f"{error.strerror or error}{place}")
    except KeyboardInterrupt:
        print("localcluster: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m localcluster",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    place = argparse.ArgumentParser(add_help=False)
    place.add_argument(
        "--directory",
        type=Path,
        default=DEFAULT_DIRECTORY,
        metavar="DIR",
        help="the cluster's files (default: .cluster in the repository)",
    )

    up = _command(commands, "up", "start a cluster in the background, or say that it runs", place)
    up.add_argument("--no-kwok", action="store_true", help="no node, no scheduler: pods stay pending")
    up.add_argument("--no-audit", action="store_true", help="write no audit log")
    up.add_argument("--keep", action="store_true", help="leave logs, audit log and data when it ends")
    up.set_defaults(run=_up)

    down = _command(commands, "down", "end the cluster, also a broken one", place)
    down.add_argument("--keep", action="store_true", help="leave logs, audit log and data")
    down.set_defaults(run=_down)

    status = _command(commands, "status", "components, pids, ports, versions; exit 0 iff ready", place)
    status.set_defaults(run=_status)

    builder = _command(commands, "build", "build the pinned programs into the cache and print their paths")
    names = f"some of: {', '.join(pins.PINS)} (default: those of a cluster)"
    builder.add_argument("names", nargs="*", metavar="NAME", help=names)
    builder.set_defaults(run=_build)

    kubectl = _command(commands, "kubectl-path", "print a kubectl that fits, built if PATH has none")
    kubectl.set_defaults(run=_kubectl_path)

    account = _command(commands, "sa-kubeconfig", "write a kubeconfig for a ServiceAccount", place)
    account.add_argument("namespace", metavar="NAMESPACE")
    account.add_argument("name", metavar="NAME")
    account.add_argument("path", type=Path, metavar="FILE", help="the kubeconfig; its token goes to FILE.token")
    account.add_argument("--expiration-seconds", type=int, default=3600, metavar="N", help="at least 600 (3600)")
    account.set_defaults(run=_service_account)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    *parents: argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    return commands.add_parser(name, parents=parents, help=text, description=f"{text[0].upper()}{text[1:]}.")


def _up(options: argparse.Namespace) -> int:
    layout = Layout(options.directory.resolve())
    if is_live(layout) and (failure := _failure(layout)):
        _say(f"the cluster in {layout.directory} had failed, starting anew: {failure}")
        end_cluster(layout, keep=False)
    if is_live(layout):
        cluster = Cluster.attach(layout.directory)  # NotRunningError tells how it is, when it is not ready
        _say(f"a cluster is already running in {layout.directory}")
    else:
        cluster = Cluster.start_in_background(
            layout.directory, kwok=not options.no_kwok, audit=not options.no_audit, keep=options.keep, progress=_say
        )
    print(cluster.kubeconfig)
    return 0


def _down(options: argparse.Namespace) -> int:
    layout = Layout(options.directory.resolve())
    was_live = is_live(layout)
    keep = options.keep or _kept(layout)
    ended = end_cluster(layout, keep=keep)
    if was_live or ended:
        _say(f"ended the cluster in {layout.directory}" + ("; its files are kept" if keep else ""))
    else:
        _say(f"no cluster was running in {layout.directory}")
    return 0


def _failure(layout: Layout) -> str:
    state = read_state(layout.state)
    return state.message if state is not None and state.phase is Phase.FAILED else ""


def _kept(layout: Layout) -> bool:
    state = read_state(layout.state)
    return state is not None and state.keep


def _status(options: argparse.Namespace) -> int:
    ready, text = status_report(Layout(options.directory.resolve()))
    print(text)
    return 0 if ready else 1


def _build(options: argparse.Namespace) -> int:
    names = options.names or list(pins.CLUSTER)
    if unknown := [name for name in names if name not in pins.PINS]:
        _fault(f"not pinned here: {', '.join(unknown)}; there are {', '.join(pins.PINS)}")
        return 2
    for name in names:
        print(build.ensure_built(name, _say), flush=True)
    return 0


def _kubectl_path(options: argparse.Namespace) -> int:
    print(binaries.resolve(["kubectl"], _say)["kubectl"])
    return 0


def _service_account(options: argparse.Namespace) -> int:
    cluster = Cluster.attach(options.directory)
    path = cluster.service_account_kubeconfig(
        options.namespace, options.name, options.path, expiration_seconds=options.expiration_seconds
    )
    print(path)
    return 0


def _say(text: str) -> None:
    """Progress goes to standard error, so that standard output is only the answer."""
    print(text, file=sys.stderr, flush=True)


def _fault(text: str) -> int:
    print(f"localcluster: {text}", file=sys.stderr)
    return 1
