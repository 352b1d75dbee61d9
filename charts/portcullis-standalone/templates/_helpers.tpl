{{/*
The name of all objects: that of the release. A chart that includes this one under several names
(`alias`) gets objects of their own for each.
*/}}
{{- define "portcullis-standalone.fullname" -}}
{{- $name := eq .Chart.Name "portcullis-standalone" | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- default $name .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of a part, (list name part): the first is cut where both are too long, so that parts differ. */}}
{{- define "portcullis-standalone.partName" -}}
{{- $part := last . | trunc 61 | trimSuffix "-" -}}
{{- printf "%s-%s" (first . | trunc (int (sub 62 (len $part))) | trimSuffix "-") $part -}}
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

{{/* Empty where the pod uses the default account of its namespace. */}}
{{- define "portcullis-standalone.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "portcullis-standalone.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "portcullis-standalone.image" -}}
{{- $tag := include "portcullis.scalar" .Values.image.tag | default .Chart.AppVersion -}}
{{- with .Values.image.registry }}{{ . | trimSuffix "/" }}/{{ end }}{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
