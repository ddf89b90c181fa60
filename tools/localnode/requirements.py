"""What a node needs of the machine, and the words for where it is missing."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

PLUGINS = Path("/usr/lib/cni")
"""Where Debian puts the network plugins."""

_PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "buildah": "buildah",
    "busybox": "busybox-static",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
}
PACKAGES = tuple(sorted({*_PROGRAMS.values(), "containernetworking-plugins"}))
"""Of Debian and Ubuntu."""


def why_not() -> str | None:
    """Why there can be no node here, with the cure; None where there can."""
    if sys.platform != "linux":
        return "a real node needs Linux"
    if os.geteuid() != 0:
        return "a real node needs root: namespaces, mounts and cgroups are made"
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    absent += [str(PLUGINS / name) for name in ("bridge", "host-local") if not (PLUGINS / name).exists()]
    if absent:
        return f"{', '.join(absent)} not found; apt-get install --no-install-recommends {' '.join(PACKAGES)}"
    return None
