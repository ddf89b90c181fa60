"""Which object of config/ goes into which template, and on which condition; none may be left over."""

from __future__ import annotations

from collections.abc import Iterable

from chart.deployment import deployment
from chart.manifests import ACCOUNT, Key, Manifest, added, default
from chart.metadata import optional, released
from chart.pages import Block, Doc, Inline, dump, page
from chart.rights import KINDS, cluster_rights, metrics_rights, operator_rights, people_rights

_METRICS = ".Values.metrics.enabled"
_BY_VALUES = {"Deployment", "Service", "ServiceAccount", "ConfigMap", "CustomResourceDefinition", *KINDS}
_GUARD = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
_NOT_OURS = {"Namespace"}
"""Helm keeps its records there, so it must outlive the release: `helm install --create-namespace` makes it."""


def templates() -> dict[str, str]:
    """The text of each template by the name of its file."""
    base = default()
    if unknown := {key for key in base if key[0] not in _BY_VALUES | _GUARD | _NOT_OURS}:
        raise LookupError(
            f"config/default has objects that no template holds: {sorted(unknown)}; see tools/chart/parts.py"
        )
    return {
        "crds.yaml": page(
            *(Doc(_definition(one), ".Values.crds.install") for one in _of(base, "CustomResourceDefinition"))
        ),
        "guard.yaml": page(*(Doc(released(one), ".Values.guard.install") for one in _of(base, *sorted(_GUARD)))),
        "service-account.yaml": page(
            *(Doc(_account(one), ".Values.serviceAccount.create") for one in _of(base, "ServiceAccount"))
        ),
        "rbac.yaml": page(*operator_rights(base)),
        "rbac-people.yaml": page(*people_rights(base)),
        "rbac-cluster.yaml": page(*cluster_rights(added("single-namespace"))),
        "rbac-metrics.yaml": page(*metrics_rights(added("metrics-rbac"))),
        "config.yaml": page(
            Doc(_config(base["ConfigMap", "aitask-operator-config"])), Doc(released(base["ConfigMap", "aitask-ledger"]))
        ),
        "deployment.yaml": page(Doc(_deployment(base))),
        "metrics.yaml": page(*_metrics(base)),
        "network-policy.yaml": page(_network_policy()),
        "disruption-budget.yaml": page(_budget()),
    }


def _of(manifests: dict[Key, Manifest], *kinds: str) -> Iterable[Manifest]:
    return [one for (kind, _), one in manifests.items() if kind in kinds]


def _definition(manifest: Manifest) -> Manifest:
    """Not in crds/, which Helm neither upgrades nor rolls back."""
    found = released(manifest)
    keep = "annotations:\n  helm.sh/resource-policy: keep"
    found["metadata"]["annotations"] = Block(f"{{{{- if .Values.crds.keep }}}}\n{keep}\n{{{{- end }}}}")
    return found


def _account(manifest: Manifest) -> Manifest:
    found = released(manifest)
    found["metadata"]["name"] = Inline('{{ include "aitask-operator.serviceAccountName" . }}')
    found["metadata"]["annotations"] = optional("annotations", ".Values.serviceAccount.annotations")
    return found


def _config(manifest: Manifest) -> Manifest:
    found = released(manifest)
    text = 'config.yaml: |\n  {{- include "aitask-operator.config" . | nindent @2 }}'
    found["data"] = {"config.yaml": Block(text)}
    return found


def _deployment(base: dict[Key, Manifest]) -> Manifest:
    key = ("Deployment", ACCOUNT)
    return deployment(base[key], added("high-availability")[key], added("metrics-rbac")[key])


def _metrics(base: dict[Key, Manifest]) -> list[Doc]:
    [service] = map(released, _of(base, "Service"))
    service["spec"]["ports"][0]["port"] = Inline("{{ .Values.metrics.port }}")
    plain, secured = added("prometheus"), added("production")
    key = ("ServiceMonitor", "aitask-operator")
    monitor = released(plain[key], ".Values.metrics.serviceMonitor.labels")
    [endpoint], [over_tls] = monitor["spec"]["endpoints"], secured[key]["spec"]["endpoints"]
    secure = dump({name: over_tls[name] for name in over_tls.keys() - endpoint.keys()})
    endpoint["tlsConfig"] = Block(f"{{{{- if .Values.metrics.requireRBAC }}}}\n{secure}{{{{- end }}}}")
    interval = ".Values.metrics.serviceMonitor.interval"
    endpoint["interval"] = Block(f"{{{{- with {interval} }}}}\ninterval: {{{{ . }}}}\n{{{{- end }}}}")
    rules = released(plain["PrometheusRule", "aitask-operator"], ".Values.metrics.rules.labels")
    return [
        Doc(service, _METRICS),
        Doc(monitor, f"and {_METRICS} .Values.metrics.serviceMonitor.enabled"),
        Doc(rules, f"and {_METRICS} .Values.metrics.rules.enabled"),
    ]


def _network_policy() -> Doc:
    manifest = released(added("network-policy")["NetworkPolicy", ACCOUNT])
    [rule] = manifest["spec"]["ingress"]
    del rule["from"]
    rule["zz"] = optional(
        "from", ".Values.networkPolicy.from"
    )  # behind the ports: an item begins with what is always there
    return Doc(manifest, ".Values.networkPolicy.enabled")


def _budget() -> Doc:
    manifest = released(added("high-availability")["PodDisruptionBudget", ACCOUNT])
    manifest["spec"]["maxUnavailable"] = Inline("{{ .Values.podDisruptionBudget.maxUnavailable }}")
    return Doc(manifest, "and .Values.podDisruptionBudget.enabled (gt (int .Values.replicas) 1)")
