{{/* The name of all objects: that of the release. */}}
{{- define "portcullis-standalone.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "portcullis-standalone.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* What selects pods. A Deployment's selector cannot change, so nothing of a user's goes in here. */}}
{{- define "portcullis-standalone.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: proxy
{{- end -}}

{{/* Labels of an object: (list $ further…). Further ones win over the chart's, but not over those that select. */}}
{{- define "portcullis-standalone.labels" -}}
{{- $root := first . -}}
{{- $labels := dict
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "app.kubernetes.io/part-of" "portcullis" -}}
{{- $labels = mergeOverwrite $labels (deepCopy (default dict $root.Values.commonLabels)) -}}
{{- range rest . }}{{ $labels = mergeOverwrite $labels (deepCopy (default dict .)) }}{{ end -}}
{{- $labels = mergeOverwrite $labels (include "portcullis-standalone.selectorLabels" $root | fromYaml) -}}
{{- toYaml $labels -}}
{{- end -}}

{{- define "portcullis-standalone.podLabels" -}}
{{- $labels := mergeOverwrite (deepCopy (default dict .Values.podLabels)) (include "portcullis-standalone.selectorLabels" . | fromYaml) -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* Empty where the pod uses the default account of its namespace. */}}
{{- define "portcullis-standalone.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "portcullis-standalone.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "portcullis-standalone.image" -}}
{{- $tag := .Values.image.tag | toString | default .Chart.AppVersion -}}
{{- with .Values.image.registry }}{{ . | trimSuffix "/" }}/{{ end }}{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}

{{/* The security context of pods, with the runtime's seccomp profile unless another is asked for. */}}
{{- define "portcullis-standalone.podSecurityContext" -}}
{{- toYaml (mergeOverwrite (dict "seccompProfile" (dict "type" "RuntimeDefault")) (deepCopy (default dict .Values.podSecurityContext))) -}}
{{- end -}}
