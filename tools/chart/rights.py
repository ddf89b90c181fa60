"""Roles and bindings, for the three scopes: what is bound in the cluster, in one namespace, or made a Role."""

from __future__ import annotations

from collections.abc import Mapping

from chart.manifests import Key, Manifest
from chart.metadata import released
from chart.pages import Block, Doc, Inline

KINDS = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_PREFIX = "aitask-operator-"
_ROLE_KIND = Inline('{{ include "aitask-operator.roleKind" . }}')
_BINDING_KIND = Inline('{{ eq .Values.scope "cluster" | ternary "ClusterRoleBinding" "RoleBinding" }}')
_PEOPLE = ("-editor-role", "-viewer-role", "-approver-role")


def operator_rights(manifests: Mapping[Key, Manifest]) -> list[Doc]:
    """Those of the operator's account in config/default."""
    return [
        Doc(_scoped(one), _condition(name))
        for (kind, name), one in manifests.items()
        if kind in KINDS and not name.endswith(_PEOPLE)
    ]


def people_rights(manifests: Mapping[Key, Manifest]) -> list[Doc]:
    """Roles that nobody has until he is given them."""
    condition = "and .Values.rbac.create .Values.rbac.userRoles"
    return [Doc(_scoped(one), condition) for (_, name), one in manifests.items() if name.endswith(_PEOPLE)]


def cluster_rights(manifests: Mapping[Key, Manifest]) -> list[Doc]:
    """What no Role can give (config/components/cluster-rights)."""
    role, binding = (
        manifests[kind, f"{_PREFIX}cluster-{name}"]
        for kind, name in (("ClusterRole", "role"), ("ClusterRoleBinding", "rolebinding"))
    )
    return [_in_cluster(one, 'and .Values.rbac.create (ne .Values.scope "cluster")') for one in (role, binding)]


def metrics_rights(manifests: Mapping[Key, Manifest]) -> list[Doc]:
    """To ask the API server who reads metrics, and the role of those who may (config/components/metrics-rbac)."""
    condition = "and .Values.rbac.create .Values.metrics.enabled .Values.metrics.requireRBAC"
    return [_in_cluster(one, condition) for (kind, _), one in manifests.items() if kind in KINDS]


def _in_cluster(manifest: Manifest, condition: str) -> Doc:
    """Rights in the cluster for every scope. The scopes that may have several releases leave the choice of who makes
    them (rbac.clusterRights), and with scope namespaced each release has a binding named by its namespace."""
    found = released(manifest)
    if found["kind"] == "ClusterRole":
        return Doc(found, f'{condition} (or (eq .Values.scope "cluster") (eq .Values.rbac.clusterRights "create"))')
    name = found["metadata"]["name"].removeprefix(_PREFIX)
    own = '{{ if eq .Values.scope "namespaced" }}{{ .Release.Namespace }}-{{ end }}'
    found["metadata"]["name"] = Inline(f"{_PREFIX}{own}{name}")
    return Doc(found, f'{condition} (or (eq .Values.scope "cluster") (ne .Values.rbac.clusterRights "none"))')


def _condition(name: str) -> str:
    templates = name.startswith(f"{_PREFIX}templates-")
    return "and .Values.rbac.create .Values.rbac.templates" if templates else ".Values.rbac.create"


def _scoped(manifest: Manifest) -> Manifest:
    found = released(manifest)
    if found["kind"] == "ClusterRole":
        found["kind"] = _ROLE_KIND
        found["metadata"]["namespace"] = _namespace('eq .Values.scope "namespaced"', ".Release.Namespace")
    elif found["kind"] == "ClusterRoleBinding":
        found["kind"] = _BINDING_KIND
        found["roleRef"]["kind"] = _ROLE_KIND
        watched = 'include "aitask-operator.watched" .'
        found["metadata"]["namespace"] = _namespace('ne .Values.scope "cluster"', watched)
    return found


def _namespace(condition: str, name: str) -> Block:
    return Block(f"{{{{- if {condition} }}}}\nnamespace: {{{{ {name} }}}}\n{{{{- end }}}}")
