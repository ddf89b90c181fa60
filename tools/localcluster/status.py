"""What runs in a cluster directory, as text for a person."""

from __future__ import annotations

from pathlib import Path

from localcluster.access import token_file
from localcluster.api import Api
from localcluster.binaries import program_version
from localcluster.layout import Layout
from localcluster.state import ComponentState, Phase, State, read_state
from localcluster.teardown import is_live


def status_report(layout: Layout) -> tuple[bool, str]:
    """Whether the cluster is ready at this moment, and a description of what is there."""
    state = read_state(layout.state)
    if not is_live(layout):
        return False, f"no cluster is running in {layout.directory}" + _remains(state)
    if state is None:
        return False, f"a cluster is about to start in {layout.directory}"
    ready = state.phase is Phase.READY and _all_alive(state) and _answers(layout, state)
    lines = [f"{layout.directory}: {'ready' if ready else f'not ready ({state.phase})'}"]
    lines += [f"  kubeconfig  {layout.kubeconfig}", f"  server      {state.server or '-'}"]
    lines += [f"  owner       {_owner(state)}", f"  supervisor  pid {state.supervisor_pid}", ""]
    lines.append(f"  {'COMPONENT':<24} {'PID':>8} {'PORTS':<12} {'VERSION':<9} STATE")
    lines += [_component_line(component) for component in state.components]
    if state.message:
        lines += ["", state.message]
    return ready, "\n".join(lines)


def _remains(state: State | None) -> str:
    """A cluster that failed leaves its reason behind."""
    return f"; the last one was {state.phase}: {state.message}" if state is not None and state.message else ""


def _owner(state: State) -> str:
    return "none, runs in the background" if state.owner_pid is None else f"pid {state.owner_pid}"


def _component_line(component: ComponentState) -> str:
    version = ".".join(map(str, program_version(Path(component.program)))) or "?"
    alive = component.identity.alive()
    word = "running" if alive else f"ended ({component.exit_code}), see {component.log}"
    ports = ",".join(map(str, component.ports))
    return f"  {component.name:<24} {component.pid:>8} {ports:<12} {version:<9} {word}"


def _all_alive(state: State) -> bool:
    return all(component.identity.alive() for component in state.components)


def _answers(layout: Layout, state: State) -> bool:
    return Api(state.server, layout.ca_file, token_file(layout, "admin").read_text()).succeeds("/readyz")
