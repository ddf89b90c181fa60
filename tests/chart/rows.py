"""What each value of the chart changes: rows of a table, and a fault for each kind of bad value.

A row is a setting, an object of what Helm renders (kind and name), and a part of it: where it stands, and what stands
there with the setting but not without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MANAGER = "aitask-operator-controller-manager"
DEPLOYMENT = ("Deployment", MANAGER)
CONFIG = ("ConfigMap", "aitask-operator-config")
POD = "spec.template.spec"
CONTAINER = f"{POD}.containers.0"
ABSENT = object()
"""In place of what should stand there: nothing does. Of a path that is empty: the object is not rendered."""
MONITOR, RULES = ("ServiceMonitor", "aitask-operator"), ("PrometheusRule", "aitask-operator")
POLICY, BUDGET = ("NetworkPolicy", MANAGER), ("PodDisruptionBudget", MANAGER)
SERVICE = ("Service", f"{MANAGER}-metrics-service")
ACCOUNT = ("ServiceAccount", MANAGER)
CRD = ("CustomResourceDefinition", "aitasks.aiops.example.com")
KEEP = {"helm.sh/resource-policy": "keep"}
DIGEST = "sha256:" + "a" * 64
MODEL = {"url": "http://ollama.models.svc:11434/v1", "model": "qwen3:8b", "allowedNamespaces": ["shop"]}
PROVIDER = {"url": "https://prometheus.example.com:9090", "secretRef": {"key": "token"}, "allowedNamespaces": ["shop"]}
SPREAD = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
WATCHED = {"scope": "single-namespace", "watchNamespace": "shop"}
MONITORED = {"metrics.serviceMonitor.enabled": True}


@dataclass(frozen=True)
class Row:
    """The value at ``path``, and others that it needs (``beside``); with these alone it is rendered to compare."""

    path: str
    value: Any
    where: tuple[str, str]
    field: str
    found: Any
    beside: tuple[tuple[str, Any], ...] = ()


def row(path: str, value: Any, where: tuple[str, str], field: str, found: Any, **beside: Any) -> Row:
    named = {name.replace("__", "."): one for name, one in beside.items()}
    return Row(path, value, where, field, found, tuple(named.items()))


ROWS = (
    row("image.repository", "r.example.com/x", DEPLOYMENT, f"{CONTAINER}.image", "r.example.com/x:0.2.0"),
    row("image.tag", "2.0", DEPLOYMENT, f"{CONTAINER}.image", "example.com/aitask-operator:2.0"),
    row("image.digest", DIGEST, DEPLOYMENT, f"{CONTAINER}.image", f"example.com/aitask-operator@{DIGEST}"),
    row("image.pullPolicy", "Always", DEPLOYMENT, f"{CONTAINER}.imagePullPolicy", "Always"),
    row("image.pullSecrets", [{"name": "registry"}], DEPLOYMENT, f"{POD}.imagePullSecrets", [{"name": "registry"}]),
    row("replicas", 3, DEPLOYMENT, "spec.replicas", 3),
    row("replicas", 2, DEPLOYMENT, f"{POD}.topologySpreadConstraints.0.topologyKey", "kubernetes.io/hostname"),
    row("scope", "namespaced", ("Role", "aitask-operator-manager-role"), "metadata.namespace", "release-ns"),
    row("scope", "namespaced", DEPLOYMENT, f"{CONTAINER}.env.0.valueFrom.fieldRef.fieldPath", "metadata.namespace"),
    row("watchNamespace", "shop", DEPLOYMENT, f"{CONTAINER}.env.0.value", "shop", scope="single-namespace"),
    row("crds.install", False, CRD, "", ABSENT),
    row("crds.keep", False, CRD, "metadata.annotations", ABSENT),
    row("guard.install", False, ("ValidatingAdmissionPolicy", "aitask-guard.aiops.example.com"), "", ABSENT),
    row("rbac.create", False, ("ClusterRole", "aitask-operator-manager-role"), "", ABSENT),
    row("rbac.clusterRights", "bind", ("ClusterRole", "aitask-operator-cluster-role"), "", ABSENT, scope="namespaced"),
    row(
        "rbac.clusterRights",
        "none",
        ("ClusterRoleBinding", "aitask-operator-release-ns-cluster-rolebinding"),
        "",
        ABSENT,
        scope="namespaced",
    ),
    row(
        "rbac.clusterRights",
        "bind",
        ("ClusterRole", "aitask-operator-metrics-auth-role"),
        "",
        ABSENT,
        scope="namespaced",
        metrics__requireRBAC=True,
    ),
    row(
        "rbac.clusterRights",
        "none",
        ("ClusterRoleBinding", "aitask-operator-release-ns-metrics-auth-rolebinding"),
        "",
        ABSENT,
        scope="namespaced",
        metrics__requireRBAC=True,
    ),
    row("rbac.templates", False, ("ClusterRoleBinding", "aitask-operator-templates-rolebinding"), "", ABSENT),
    row("rbac.userRoles", False, ("ClusterRole", "aitask-operator-aitask-approver-role"), "", ABSENT),
    row("serviceAccount.create", False, ACCOUNT, "", ABSENT),
    row("serviceAccount.name", "robot", DEPLOYMENT, f"{POD}.serviceAccountName", "robot"),
    row(
        "serviceAccount.name",
        "robot",
        ("ClusterRoleBinding", "aitask-operator-manager-rolebinding"),
        "subjects.0.name",
        "robot",
    ),
    row(
        "serviceAccount.annotations",
        {"a.example.com/b": "c"},
        ACCOUNT,
        "metadata.annotations",
        {"a.example.com/b": "c"},
    ),
    row("config.mode", "Off", CONFIG, "config.mode", "Off"),
    row("config.excludedNamespaces", ["bank"], CONFIG, "config.excludedNamespaces", ["bank"]),
    row("config.allowedNamespaces", {"team": "shop"}, CONFIG, "config.allowedNamespaces", {"team": "shop"}),
    row("config.limits.maxConcurrentActions", 7, CONFIG, "config.limits.maxConcurrentActions", 7),
    row("config.limits.maxActionsPerHour", 70, CONFIG, "config.limits.maxActionsPerHour", 70),
    row("config.limits.maxActionsPerNamespacePerHour", 5, CONFIG, "config.limits.maxActionsPerNamespacePerHour", 5),
    row("config.storm.percent", 50, CONFIG, "config.storm.percent", 50),
    row("config.storm.minTasks", 9, CONFIG, "config.storm.minTasks", 9),
    row("config.storm.cooldownSeconds", 60, CONFIG, "config.storm.cooldownSeconds", 60),
    row("config.requireGuard", False, CONFIG, "config.requireGuard", False),
    row("config.providers.prometheus", {"default": PROVIDER}, CONFIG, "config.providers.prometheus.default", PROVIDER),
    row("config.providers.llm", {"default": MODEL}, CONFIG, "config.providers.llm.default", MODEL),
    row("config.providers.webhook", {"on-call": PROVIDER}, CONFIG, "config.providers.webhook.on-call", PROVIDER),
    row("resources", {"limits": {"memory": "2Gi"}}, DEPLOYMENT, f"{CONTAINER}.resources.limits.memory", "2Gi"),
    row("probes.liveness", {"periodSeconds": 9}, DEPLOYMENT, f"{CONTAINER}.livenessProbe.periodSeconds", 9),
    row("probes.readiness", {"timeoutSeconds": 9}, DEPLOYMENT, f"{CONTAINER}.readinessProbe.timeoutSeconds", 9),
    row("metrics.enabled", False, SERVICE, "", ABSENT),
    row("metrics.enabled", False, DEPLOYMENT, f"{CONTAINER}.args.3", "--metrics-bind-address=0"),
    row("metrics.enabled", False, DEPLOYMENT, f"{CONTAINER}.ports.1", ABSENT),
    row("metrics.port", 9000, DEPLOYMENT, f"{CONTAINER}.args.3", "--metrics-bind-address=:9000"),
    row("metrics.port", 9000, DEPLOYMENT, f"{CONTAINER}.ports.1.containerPort", 9000),
    row("metrics.port", 9000, SERVICE, "spec.ports.0.port", 9000),
    row("metrics.requireRBAC", True, DEPLOYMENT, f"{CONTAINER}.args.4", "--metrics-secure"),
    row(
        "metrics.requireRBAC",
        True,
        MONITOR,
        "spec.endpoints.0.scheme",
        "https",
        metrics__serviceMonitor__enabled=True,
    ),
    row("metrics.serviceMonitor.enabled", True, MONITOR, "spec.endpoints.0.port", "metrics"),
    row(
        "metrics.serviceMonitor.interval",
        "30s",
        MONITOR,
        "spec.endpoints.0.interval",
        "30s",
        metrics__serviceMonitor__enabled=True,
    ),
    row(
        "metrics.serviceMonitor.labels",
        {"release": "p"},
        MONITOR,
        "metadata.labels.release",
        "p",
        metrics__serviceMonitor__enabled=True,
    ),
    row("metrics.rules.enabled", True, RULES, "spec.groups.0.name", "aitask-operator"),
    row(
        "metrics.rules.labels",
        {"release": "p"},
        RULES,
        "metadata.labels.release",
        "p",
        metrics__rules__enabled=True,
    ),
    row("networkPolicy.enabled", True, POLICY, "spec.policyTypes", ["Ingress"]),
    row("networkPolicy.from", [], POLICY, "spec.ingress.0.from", ABSENT, networkPolicy__enabled=True),
    row("podDisruptionBudget.enabled", False, BUDGET, "", ABSENT, replicas=2),
    row("podDisruptionBudget.maxUnavailable", 2, BUDGET, "spec.maxUnavailable", 2, replicas=3),
    row("extraArgs", ["--zap-log-level=debug"], DEPLOYMENT, f"{CONTAINER}.args.4", "--zap-log-level=debug"),
    row("extraEnv", [{"name": "A", "value": "1"}], DEPLOYMENT, f"{CONTAINER}.env.3", {"name": "A", "value": "1"}),
    row("podAnnotations", {"a": "b"}, DEPLOYMENT, "spec.template.metadata.annotations.a", "b"),
    row("podLabels", {"a": "b"}, DEPLOYMENT, "spec.template.metadata.labels.a", "b"),
    row("nodeSelector", {"disk": "fast"}, DEPLOYMENT, f"{POD}.nodeSelector", {"disk": "fast"}),
    row("tolerations", [{"operator": "Exists"}], DEPLOYMENT, f"{POD}.tolerations", [{"operator": "Exists"}]),
    row("affinity", AFFINITY, DEPLOYMENT, f"{POD}.affinity", AFFINITY),
    row("topologySpreadConstraints", [SPREAD], DEPLOYMENT, f"{POD}.topologySpreadConstraints", [SPREAD], replicas=2),
    row(
        "priorityClassName",
        "system-cluster-critical",
        DEPLOYMENT,
        f"{POD}.priorityClassName",
        "system-cluster-critical",
    ),
    row("workVolumeSize", "2Gi", DEPLOYMENT, f"{POD}.volumes.0.emptyDir.sizeLimit", "2Gi"),
)

BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"imgae": {}}, "imgae"),
    ({"image.tga": "1"}, "tga"),
    ({"image.repository": "UPPER/case"}, "repository"),
    ({"image.tag": "a b"}, "tag"),
    ({"image.digest": "sha256:12"}, "digest"),
    ({"image.pullPolicy": "always"}, "pullPolicy"),
    ({"image.pullSecrets": ["registry"]}, "pullSecrets"),
    ({"replicas": "two"}, "replicas"),
    ({"replicas": -1}, "replicas"),
    ({"scope": "everything"}, "scope"),
    ({"scope": "single-namespace"}, "watchNamespace"),
    ({"watchNamespace": "shop"}, "watchNamespace"),
    ({**WATCHED, "watchNamespace": "shop,bank"}, "watchNamespace"),
    ({"crds.keep": "yes"}, "keep"),
    ({"guard.install": 1}, "install"),
    ({"rbac.clusterRights": True}, "clusterRights"),
    ({"serviceAccount.annotations": {"a": 1}}, "annotations"),
    ({"config.mode": "active"}, "mode"),
    ({"config.excludedNamespaces": "kube-*"}, "excludedNamespaces"),
    ({"config.excludedNamespaces": ["kube_*"]}, "excludedNamespaces"),
    ({"config.allowedNamespaces": {"example.com/aitask": True}}, "allowedNamespaces"),
    ({"config.limits.maxConcurrentActions": 0}, "maxConcurrentActions"),
    ({"config.limits.maxActionsPerNamespacePerHour": 1001}, "maxActionsPerNamespacePerHour"),
    ({"config.storm.percent": 101}, "percent"),
    ({"config.storm.cooldownSeconds": 1.5}, "cooldownSeconds"),
    ({"config.providers.prometheus": {"default": {"secretRef": {"key": "a"}}}}, "url"),
    ({"config.providers.prometheus": {"default": {"url": "ftp://host"}}}, "url"),
    ({"config.providers.webhook": {"a": {"url": "https://me:secret@host/"}}}, "url"),
    ({"config.providers.webhook": {"a": {"url": "https://host/", "token": "x"}}}, "token"),
    ({"config.providers.llm": {"default": {"url": "https://host/v1"}}}, "model"),
    ({"config.providers.llm": {"default": {"url": "https://host/v1", "model": "two words"}}}, "model"),
    ({"config.providers.webhook": {"a": {"url": "https://host/", "model": "x"}}}, "model"),
    ({"config.providers.slack": {}}, "slack"),
    ({"config.providers.webhook": {"On Call": {"url": "https://host/"}}}, "On Call"),
    ({"resources": {"limits": {"cpu": "half"}}}, "cpu"),
    ({"probes.liveness": {"httpGet": {}}}, "httpGet"),
    ({"metrics.port": 443}, "port"),
    ({"metrics.port": 6789}, "port"),
    ({"metrics.enabled": False, "metrics.serviceMonitor.enabled": True}, "serviceMonitor"),
    ({"metrics.serviceMonitor.interval": "often"}, "interval"),
    ({"metrics.serviceMonitor.labels": {"helm.sh/chart": "x"}}, "labels"),
    ({"networkPolicy.from": [{}]}, "from"),
    ({"podDisruptionBudget.maxUnavailable": 0}, "maxUnavailable"),
    ({"extraArgs": ["zap-log-level=debug"]}, "extraArgs"),
    ({"extraEnv": [{"name": "WATCH_NAMESPACE", "value": "shop"}]}, "extraEnv"),
    ({"extraEnv": [{"name": "A", "value": 1}]}, "value"),
    ({"podLabels": {"control-plane": "mine"}}, "podLabels"),
    ({"tolerations": [{"effect": "NoSchedul"}]}, "effect"),
    ({"affinity": {"node": {}}}, "node"),
    ({"topologySpreadConstraints": [{}]}, "topologySpreadConstraints"),
    ({"workVolumeSize": "much"}, "workVolumeSize"),
)
"""Settings that are refused, and the word that the message must have in it."""


def nested(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings by path, as a document of values."""
    found: dict[str, Any] = {}
    for path, value in settings.items():
        *parents, last = path.split(".")
        place = found
        for name in parents:
            place = place.setdefault(name, {})
        place[last] = value
    return found
