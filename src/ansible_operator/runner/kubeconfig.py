"""The kubeconfig of one run: the proxy's address, the file of its authority, the run's token."""

from __future__ import annotations

from typing import Any

from ansible_operator.runner.interface import Access


def kubeconfig(access: Access) -> dict[str, Any]:
    """The document. The authority is named by file: as data it would cost every client a temporary file."""
    name = "ansible-operator"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": access.url, "certificate-authority": str(access.authority_file)}}
        ],
        "users": [{"name": name, "user": {"token": access.token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": access.namespace}}],
        "current-context": name,
        "preferences": {},
    }
