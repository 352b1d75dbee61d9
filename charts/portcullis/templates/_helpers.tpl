{{/* The name of all objects: that of the release, which gets the chart's unless it has it already. */}}
{{- define "portcullis.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of an object that belongs to no namespace: another release must not have the same. */}}
{{- define "portcullis.clusterName" -}}
{{- printf "%s-%s" (include "portcullis.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* What selects pods. A Deployment's selector cannot change, so nothing of a user's goes in here. */}}
{{- define "portcullis.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: controller
{{- end -}}

{{/* Labels of an object: (list $ further…). Further ones win over the chart's, but not over those that select. */}}
{{- define "portcullis.labels" -}}
{{- $root := first . -}}
{{- $labels := dict
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "app.kubernetes.io/part-of" "portcullis" -}}
{{- $labels = mergeOverwrite $labels (deepCopy (default dict $root.Values.commonLabels)) -}}
{{- range rest . }}{{ $labels = mergeOverwrite $labels (deepCopy (default dict .)) }}{{ end -}}
{{- $labels = mergeOverwrite $labels (include "portcullis.selectorLabels" $root | fromYaml) -}}
{{- toYaml $labels -}}
{{- end -}}

{{- define "portcullis.podLabels" -}}
{{- toYaml (mergeOverwrite (deepCopy (default dict .Values.podLabels)) (include "portcullis.selectorLabels" . | fromYaml)) -}}
{{- end -}}

{{- define "portcullis.podAnnotations" -}}
{{- $found := dict "prometheus.io/path" "/metrics" "prometheus.io/port" (toString .Values.controller.service.ports.metrics) -}}
{{- toYaml (mergeOverwrite $found (deepCopy (default dict .Values.podAnnotations))) -}}
{{- end -}}

{{- define "portcullis.podSecurityContext" -}}
{{- toYaml (mergeOverwrite (dict "seccompProfile" (dict "type" "RuntimeDefault")) (deepCopy (default dict .Values.podSecurityContext))) -}}
{{- end -}}

{{- define "portcullis.securityContext" -}}
{{- if .Values.securityContext -}}
{{- toYaml .Values.securityContext -}}
{{- else -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
runAsNonRoot: true
{{- end -}}
{{- end -}}

{{- define "portcullis.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "portcullis.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "portcullis.image" -}}
{{- $own := .Values.controller.image -}}
{{- $registry := default .Values.image.registry $own.registry -}}
{{- $tag := include "portcullis.scalar" $own.tag | default (include "portcullis.scalar" .Values.image.tag) | default .Chart.AppVersion -}}
{{- with $registry }}{{ . | trimSuffix "/" }}/{{ end }}{{ $own.repository }}:{{ $tag }}
{{- end -}}

{{- define "portcullis.imagePullPolicy" -}}
{{- default .Values.image.pullPolicy .Values.controller.image.pullPolicy -}}
{{- end -}}
