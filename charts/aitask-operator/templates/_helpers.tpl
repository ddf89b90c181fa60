{{/* Labels of every object. */}}
{{- define "aitask-operator.labels" -}}
{{ include "aitask-operator.podLabels" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Labels of pods: none that changes with the chart alone, since that would restart them. */}}
{{- define "aitask-operator.podLabels" -}}
app.kubernetes.io/name: aitask-operator
app.kubernetes.io/part-of: aitask-operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "aitask-operator.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "aitask-operator.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default "aitask-operator-controller-manager" }}
{{- end }}

{{/* The one namespace that is watched, for the scopes that have one. */}}
{{- define "aitask-operator.watched" -}}
{{ eq .Values.scope "namespaced" | ternary .Release.Namespace .Values.watchNamespace }}
{{- end }}

{{/* What stands at the head of cluster-wide roles where they are those of one namespace. */}}
{{- define "aitask-operator.roleKind" -}}
{{ eq .Values.scope "namespaced" | ternary "Role" "ClusterRole" }}
{{- end }}

{{/* Fields that are null are left out: the operator's own defaults hold. Its own namespace, which is left out by default, is the
only one with scope namespaced. */}}
{{- define "aitask-operator.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if and (eq .Values.scope "namespaced") (kindIs "invalid" $config.excludedNamespaces) -}}
{{- $_ := set $config "excludedNamespaces" list -}}
{{- end -}}
{{- range $part := list $config $config.limits -}}
{{- range $name := keys $part | sortAlpha -}}
{{- if kindIs "invalid" (get $part $name) -}}{{- $_ := unset $part $name -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}
