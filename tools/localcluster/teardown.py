"""End a cluster and remove its files, in whatever state it is: running, half started, killed, its state file lost.

Only processes that are provably the cluster's are touched: by pid and start time from the state file, or by the mark
in their environment. Nothing is ever ended by name.
"""

from __future__ import annotations

import os

from localcluster.errors import ClusterError
from localcluster.layout import Layout
from localcluster.locks import is_locked, try_lock
from localcluster.processes import Identity, end, marked
from localcluster.state import State, read_state

# The supervisor itself takes less than a second: it soon kills what does not end.
_SUPERVISOR_GRACE_SECONDS = 10.0


def end_processes(layout: Layout) -> int:
    """Returns how many processes had to be ended. Safe to call when there are none."""
    state = read_state(layout.state)
    known = {*(state.identities() if state else ()), *marked(layout.directory)}
    alive = [identity for identity in known if identity.alive()]
    supervisors = [identity for identity in alive if _is_supervisor(identity, state)]
    left = end(supervisors, grace=_SUPERVISOR_GRACE_SECONDS)
    # Normally the supervisor has ended these by now.
    left += end({*known, *marked(layout.directory)} - set(supervisors), grace=1.0)
    if left:
        pids = ", ".join(str(identity.pid) for identity in left)
        raise ClusterError(f"processes of {layout.directory} that cannot be ended (of another user?): {pids}")
    return len(alive)


def _is_supervisor(identity: Identity, state: State | None) -> bool:
    """With the state file lost nobody is known to be one: the supervisor then just ends with all the rest."""
    return state is not None and identity == state.supervisor


def end_cluster(layout: Layout, *, keep: bool) -> int:
    """End the processes; unless `keep`, remove what the tool made in the directory. Returns the number ended."""
    ended = end_processes(layout)
    if keep or not layout.directory.is_dir():
        return ended
    descriptor = try_lock(layout.lock)
    if descriptor is None:
        raise ClusterError(f"{layout.directory} was taken by a new cluster meanwhile: its files are left alone")
    try:
        layout.remove_all()
        layout.remove_lock()
    finally:
        os.close(descriptor)
    return ended


def is_live(layout: Layout) -> bool:
    """Whether a supervisor is there, ready or not: the kernel's word, not that of a file."""
    return is_locked(layout.lock)
