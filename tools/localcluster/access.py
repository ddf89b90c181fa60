"""Credentials: static tokens, kubeconfig files, tokens of ServiceAccounts.

Every kubeconfig names the certificate authority and the token by file, never by content: clients are cheaper that way,
and a token can be renewed under a running client. All files are readable by their owner only.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import yaml

from localcluster.api import Api
from localcluster.errors import ApiError, ClusterError
from localcluster.layout import Layout, write_private
from localcluster.spec import REAL_NODE

# Name of the token file's owner -> user and group. The components of the control plane are also put in system:masters:
# they start while the API server is still writing the RBAC rules that they would need, and give up rather than wait.
_USERS = {
    "admin": ("localcluster-admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", "system:masters"),
    "kube-scheduler": ("system:kube-scheduler", "system:masters"),
    "kwok": ("system:kwok", "system:masters"),
    # Of a real node, with the rights of one.
    "kubelet": (f"system:node:{REAL_NODE}", "system:nodes"),
    "kube-proxy": ("system:kube-proxy", ""),
}


def token_table(layout: Layout) -> Path:
    return layout.config / "tokens.csv"


def token_file(layout: Layout, user: str) -> Path:
    return layout.admin_token if user == "admin" else layout.config / f"{user}.token"


def create_tokens(layout: Layout) -> None:
    """New random tokens, in the table that the API server reads and one file each for the clients."""
    lines = []
    for key, (user, group) in _USERS.items():
        token = secrets.token_urlsafe(32)
        write_private(token_file(layout, key), token)
        lines.append(f'{token},{user},{user},"{group}"')
    write_private(token_table(layout), "\n".join(lines) + "\n")


def write_kubeconfigs(layout: Layout, server: str) -> None:
    for user in _USERS:
        path = layout.kubeconfig if user == "admin" else layout.component_kubeconfig(user)
        write_kubeconfig(path, server, layout.ca_file, token_file(layout, user), user)


def write_kubeconfig(
    path: Path, server: str, ca_file: Path, token: Path, user: str, namespace: str | None = None
) -> None:
    context: dict[str, str] = {"cluster": "localcluster", "user": user}
    if namespace is not None:
        context["namespace"] = namespace
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "localcluster", "cluster": {"server": server, "certificate-authority": str(ca_file)}}],
        "users": [{"name": user, "user": {"tokenFile": str(token)}}],
        "contexts": [{"name": "localcluster", "context": context}],
        "current-context": "localcluster",
    }
    write_private(path, yaml.safe_dump(config, sort_keys=False))


def service_account_token_file(kubeconfig: Path) -> Path:
    return kubeconfig.with_name(kubeconfig.name + ".token")


def write_service_account_token(api: Api, namespace: str, name: str, kubeconfig: Path, expiration: int) -> Path:
    """Ask the API server for a token and put it into the file that the kubeconfig names."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": expiration},
    }
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    try:
        answer = api.request("POST", path, body)
    except ApiError as error:
        if error.status == 404:
            raise ClusterError(f"there is no ServiceAccount {name} in namespace {namespace}") from error
        raise
    target = service_account_token_file(kubeconfig)
    write_private(target, answer["status"]["token"])
    return target
