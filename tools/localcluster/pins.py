"""What is pinned, and where it is written down: the go.mod files beside this package.

The only reader of those files. Knows module and package names; builds nothing and starts nothing.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

TOOLS_DIR = Path(__file__).resolve().parent.parent

# Stripped and path-free, so that the same inputs give the same program wherever they are built.
BUILD_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")
# One setting for all: with another one Go compiles the whole tree anew (minutes). Off needs no C compiler.
BUILD_ENVIRONMENT = {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": ""}


@dataclass(frozen=True)
class Pin:
    """One program: the folder under tools/ whose go.mod pins it, the module that has it, and its package there."""

    name: str
    folder: str
    module: str
    package: str
    tags: tuple[str, ...] = ()
    """Build tags, where it cannot be built without: what would need C libraries is left out by them."""

    @property
    def directory(self) -> Path:
        return TOOLS_DIR / self.folder

    @property
    def version(self) -> str:
        """The pinned version with its leading v, for example v1.37.2."""
        return required_version((self.directory / "go.mod").read_text(), self.module)

    @property
    def ldflags(self) -> str:
        if self.folder == "helm":  # which calls itself v3.22 otherwise, whatever the patch
            return f"-s -w -X {self.module}/internal/version.version={self.version}"
        if self.folder != "kube":
            return "-s -w"
        # Without these a Kubernetes program built outside its own repository calls itself v0.0.0-master.
        major, minor, _ = self.version.removeprefix("v").split(".", 2)
        values = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
        return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{key}={val}" for key, val in values.items())])

    @property
    def flags(self) -> list[str]:
        """What `go build` is given, but for the output."""
        tags = [f"-tags={','.join(self.tags)}"] if self.tags else []
        return [*BUILD_FLAGS, *tags, "-ldflags", self.ldflags]

    def digest(self, platform: str) -> str:
        """Names the folder of the built program: it changes with everything that changes the program."""
        parts = [(self.directory / name).read_bytes() for name in ("go.mod", "go.sum")]
        settings = [*BUILD_FLAGS, *self.tags, self.ldflags, platform]
        settings += [f"{k}={v}" for k, v in sorted(BUILD_ENVIRONMENT.items())]
        return hashlib.sha256(b"\0".join([*parts, *(text.encode() for text in settings)])).hexdigest()[:20]


def _kubernetes(name: str) -> Pin:
    return Pin(name, "kube", "k8s.io/kubernetes", f"k8s.io/kubernetes/cmd/{name}")


def _framework(name: str, folder: str, module: str, *tags: str, under: str = "cmd") -> Pin:
    return Pin(name, folder, f"{_FRAMEWORK}/{module}", f"{_FRAMEWORK}/{module}/{under}/{name}", tags)


_FRAMEWORK = "github.com/operator-framework"
# Signatures of images checked in Go, and no disks of images: opm only reads catalogs here.
_WITHOUT_C = ("containers_image_openpgp", "exclude_graphdriver_btrfs", "exclude_graphdriver_devicemapper")

PINS = {
    pin.name: pin
    for pin in (
        Pin("etcd", "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kube-scheduler"),
        _kubernetes("kubectl"),
        _kubernetes("kubelet"),
        _kubernetes("kube-proxy"),
        Pin("kwok", "kwok", "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok"),
        Pin("helm", "helm", "helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm"),
        Pin("kind", "kind", "sigs.k8s.io/kind", "sigs.k8s.io/kind"),
        _framework("opm", "opm", "operator-registry", *_WITHOUT_C),
        _framework("operator-verify", "operator-verify", "api"),
        _framework("olm", "olm", "operator-lifecycle-manager"),
        _framework("catalog", "olm", "operator-lifecycle-manager"),
        _framework("cpb", "olm", "operator-lifecycle-manager", under="util"),
    )
}

BUNDLE_CHECKS = ("opm", "operator-verify")
"""What judges a bundle and a catalog."""

LIFECYCLE_MANAGER = ("olm", "catalog")
"""The two operators of OLM. They are served a catalog by opm."""

UNPACKING = ("cpb", "opm")
"""What OLM unpacks a bundle image with, in pods: the one copies the files, the other makes a ConfigMap of them."""

NODE = ("kubelet", "kube-proxy")
"""What a real node runs."""

_BY_NAME = {"helm", "kind", *NODE, *BUNDLE_CHECKS, *LIFECYCLE_MANAGER, *UNPACKING}
CLUSTER = tuple(name for name in PINS if name not in _BY_NAME)
"""The programs of a cluster. The others are built for those alone who ask for them by name."""


def kubernetes_version() -> str:
    return PINS["kube-apiserver"].version


def required_version(go_mod: str, module: str) -> str:
    """The version that a go.mod requires of `module`."""
    found = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise LookupError(f"go.mod requires no {module}")
    return found.group(1)


def go_version() -> tuple[int, ...]:
    """The oldest Go that builds all of them: the highest `go` line of the go.mod files."""
    lines = (re.search(r"^go (\S+)", (pin.directory / "go.mod").read_text(), re.MULTILINE) for pin in PINS.values())
    return max(parse_version(line.group(1)) for line in lines if line)


def parse_version(text: str) -> tuple[int, ...]:
    """(1, 37, 2) for v1.37.2, go1.37.2 or 1.37.2-rc.1; empty when there is no version in the text."""
    found = re.search(r"(\d+(?:\.\d+)+)", text)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()
