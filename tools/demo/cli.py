"""The command line of the demo: `python -m demo`, which `make demo` calls.

Exit status: 0 the story was told to its end, 1 it was not, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from demo.errors import DemoError
from demo.install import install, uninstall
from demo.operator import ROOT, Operator
from demo.story import TITLES, Story
from demo.target import Target, current_cluster, own_cluster
from demo.view import View

_DESCRIPTION = """\
Shows the operator at its main job on a real API server: a task is evaluated, breaches its
threshold, and its Deployment is scaled; a second task restarts another. On the way out it
removes what it made. make demo calls it.
"""

_EPILOG = """\
examples:
  python -m demo                     on a cluster of its own, which ends with it
  python -m demo --keep              leaves cluster and operator up, and says how to look around
  python -m demo --current           on the cluster of your kubeconfig, after asking

environment, as make passes it on:
  KEEP=1, CLUSTER=current, YES=1     the same as --keep, --current, --yes

exit status:
  0    the story was told to its end
  1    it was not; the last line says why
  2    wrong usage
  130  interrupted
"""

CLUSTER = "a cluster"
INSTALL = "CRD, RBAC and admission guard"
OPERATOR = "the operator, with its ServiceAccount's token"


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    options = _parser().parse_args(arguments)
    view = View([CLUSTER, INSTALL, OPERATOR, *TITLES])
    started = time.monotonic()
    try:
        show(options, view)
    except DemoError as error:
        view.console.print(f"\nThe demo failed: {error}", style="bold red", markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        view.console.print("\ninterrupted; everything that was started is ended")
        return 130
    view.console.print(f"\nAll {len(view.steps)} steps seen in {time.monotonic() - started:.0f} s.")
    return 0


def show(options: argparse.Namespace, view: View) -> None:
    """Get a cluster, start the operator, tell the story, and leave nothing behind unless asked to."""
    directory: Path = options.directory
    target = current_cluster(directory, sure=options.yes) if options.current else None
    operator: Operator | None = None
    try:
        with view.shown():
            with view.step(CLUSTER) as step:
                target = target or own_cluster(directory, keep=options.keep, progress=view.progress)
                step.detail = target.name
            with view.step(INSTALL):
                install(target.kubectl)
            with view.step(OPERATOR) as step:
                operator = Operator(target, keep=options.keep)
                _start(operator, options.patience)
                step.detail = "ready"
            story = Story(target.kubectl, operator, view, options.patience)
            story.tell()
    except BaseException:
        _clean(target, operator)
        raise
    acts = (f"  {act}" for act in story.acts)
    view.console.print("\nWhat the operator did:", *acts, sep="\n", markup=False, soft_wrap=True)
    if options.keep:
        operator.leave()
        _explain(target, operator, view)
    else:
        _clean(target, operator)


def _start(operator: Operator, patience: float) -> None:
    operator.start()
    deadline = time.monotonic() + patience
    while not operator.is_ready():
        if time.monotonic() > deadline:
            raise DemoError(
                f"the operator is not ready after {patience:.0f} s; the end of its log:\n{operator.log_tail()}"
            )
        time.sleep(0.2)  # how often to look


def _clean(target: Target | None, operator: Operator | None) -> None:
    """End what was started; on the user's cluster also remove what was made."""
    if operator is not None:
        operator.stop()
    if target is None:
        return
    if target.own is None:
        with suppress(DemoError):
            uninstall(target.kubectl)
    target.end()


def _explain(target: Target, operator: Operator, view: View) -> None:
    kubeconfig = f"export KUBECONFIG={os.path.relpath(target.kubectl.kubeconfig)}" if target.kubectl.kubeconfig else ""
    found = shutil.which("kubectl")
    lines = [
        "",
        "Cluster and operator go on (the operator's token is refreshed). Look around:",
        kubeconfig,
        "" if found else f"export PATH=$PATH:{Path(target.kubectl.program).parent}    # no kubectl is on your PATH",
        "kubectl get at -n aiops-demo -w",
        "kubectl describe at worker-restart -n aiops-demo",
        f"tail -f {os.path.relpath(operator.log)}",
        "End it with: make cluster-down"
        if target.own
        else f"End it with: kill $(jq .keeper {operator.directory}/pids.json)",
    ]
    view.console.print(*(line for line in lines if line or line == lines[0]), sep="\n", markup=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    env = os.environ
    parser = argparse.ArgumentParser(
        prog="python -m demo",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--keep", action="store_true", default=env.get("KEEP", "") not in ("", "0"), help="leave it all up"
    )
    parser.add_argument(
        "--current",
        action="store_true",
        default=_wants_current(env.get("CLUSTER", "")),
        help="use the cluster of the current kubeconfig instead of one of its own",
    )
    parser.add_argument("--yes", action="store_true", default=env.get("YES", "") not in ("", "0"), help="do not ask")
    parser.add_argument("--directory", type=Path, default=ROOT / ".cluster", help="folder of the cluster's files")
    parser.add_argument("--patience", type=float, default=240.0, help="seconds that a step may take (default 240)")
    return parser


def _wants_current(text: str) -> bool:
    if text not in ("", "own", "current"):
        print(f"CLUSTER={text} is not known; write CLUSTER=current, or leave it out", file=sys.stderr)
        sys.exit(2)
    return text == "current"
