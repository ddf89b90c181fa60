"""The Deployment: config/manager, with what values may change of it."""

from __future__ import annotations

from typing import Any

from chart.manifests import Manifest
from chart.metadata import ACCOUNT_NAME, labels, literal, optional, released
from chart.pages import Block, Inline, dump

_SEVERAL = "gt (int .Values.replicas) 1"
_METRICS_ADDRESS = "--metrics-bind-address="
_VALUE_OF_POD = ("nodeSelector", "tolerations", "affinity")


def deployment(manifest: Manifest, available: Manifest, secured: Manifest) -> Manifest:
    """``manifest``: that of config/default. ``available``, ``secured``: with the components high-availability and
    metrics-rbac, whose differences are rendered from two replicas on, and where readers of metrics need rights."""
    found = released(manifest)
    spec = found["spec"]
    spec["replicas"] = Inline("{{ .Values.replicas }}")
    spec["strategy"] = _if(_SEVERAL, literal("strategy", available["spec"]["strategy"]))
    template = spec["template"]
    own = template["metadata"]
    own["labels"] = labels("aitask-operator.podLabels", own["labels"], ".Values.podLabels")
    own["annotations"] = Block(_with_more("annotations", own["annotations"], ".Values.podAnnotations"))
    _pod(template["spec"], available["spec"]["template"]["spec"])
    [container], [with_tls] = template["spec"]["containers"], secured["spec"]["template"]["spec"]["containers"]
    _container(container, [one for one in with_tls["args"] if one not in container["args"]])
    return found


def _pod(pod: dict[str, Any], available: dict[str, Any]) -> None:
    pod["serviceAccountName"] = ACCOUNT_NAME
    pod["imagePullSecrets"] = optional("imagePullSecrets", ".Values.image.pullSecrets")
    for name in _VALUE_OF_POD:
        pod[name] = optional(name, f".Values.{name}")
    pod["priorityClassName"] = Block(
        "{{- with .Values.priorityClassName }}\npriorityClassName: {{ . }}\n{{- end }}"
    )  # fmt: skip
    field = "topologySpreadConstraints"
    pod[field] = Block(
        f"{{{{- if .Values.{field} }}}}\n{field}:\n  {{{{- toYaml .Values.{field} | nindent @2 }}}}\n"
        f"{{{{- else if {_SEVERAL} }}}}\n{literal(field, available[field])}\n{{{{- end }}}}"
    )
    [work] = pod["volumes"]
    work["emptyDir"]["sizeLimit"] = Inline("{{ .Values.workVolumeSize }}")


def _container(container: dict[str, Any], for_tls: list[str]) -> None:
    container["image"] = Inline('{{ include "aitask-operator.image" . | quote }}')
    container["imagePullPolicy"] = Block(
        "{{- with .Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}"
    )  # fmt: skip
    container["args"] = [_argument(one) for one in container["args"]]
    secured = "and .Values.metrics.enabled .Values.metrics.requireRBAC"
    container["args"] += [_if(secured, "\n".join(f"- {one}" for one in for_tls)), _items(".Values.extraArgs")]
    container["env"] = [_variable(one) for one in container["env"]] + [_items(".Values.extraEnv")]
    container["ports"] = [_port(one) for one in container["ports"]]
    for probe in ("liveness", "readiness"):
        how = literal("httpGet", container[f"{probe}Probe"]["httpGet"]).splitlines()
        lines = "\n".join(f"  {line}" for line in how)
        container[f"{probe}Probe"] = Block(
            f"{probe}Probe:\n{lines}\n  {{{{- toYaml .Values.probes.{probe} | nindent @2 }}}}"
        )
    container["resources"] = optional("resources", ".Values.resources")


def _argument(text: str) -> str:
    if text.startswith(_METRICS_ADDRESS):
        return Inline(
            _METRICS_ADDRESS + "{{ if .Values.metrics.enabled }}:{{ .Values.metrics.port }}{{ else }}0{{ end }}"
        )
    return text


def _variable(entry: dict[str, Any]) -> dict[str, Any] | Block:
    if entry["name"] != "WATCH_NAMESPACE":
        return entry
    return Block(
        '- name: WATCH_NAMESPACE\n{{- if eq .Values.scope "namespaced" }}\n'
        "  valueFrom:\n    fieldRef:\n      fieldPath: metadata.namespace\n"
        "{{- else }}\n  value: {{ .Values.watchNamespace | quote }}\n{{- end }}"
    )


def _port(entry: dict[str, Any]) -> dict[str, Any] | Block:
    if entry["name"] != "metrics":
        return entry
    lines = dump([dict(entry, containerPort="PORT")]).rstrip("\n")
    return _if(".Values.metrics.enabled", lines.replace("PORT", "{{ .Values.metrics.port }}"))


def _items(value: str) -> Block:
    return Block(f"{{{{- with {value} }}}}\n{{{{- toYaml . | nindent @0 }}}}\n{{{{- end }}}}")


def _if(condition: str, lines: str) -> Block:
    return Block(f"{{{{- if {condition} }}}}\n{lines}\n{{{{- end }}}}")


def _with_more(field: str, own: dict[str, str], value: str) -> str:
    more = f"  {{{{- with {value} }}}}\n  {{{{- toYaml . | nindent @2 }}}}\n  {{{{- end }}}}"
    return f"{literal(field, own)}\n{more}"
