{{/* The name of all objects: that of the release. */}}
{{- define "portcullis-standalone.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
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
{{- $tag := include "portcullis.scalar" .Values.image.tag | default .Chart.AppVersion -}}
{{- with .Values.image.registry }}{{ . | trimSuffix "/" }}/{{ end }}{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}

{{/* The security context of pods, with the runtime's seccomp profile unless another is asked for. */}}
{{- define "portcullis-standalone.podSecurityContext" -}}
{{- toYaml (mergeOverwrite (dict "seccompProfile" (dict "type" "RuntimeDefault")) (deepCopy (default dict .Values.podSecurityContext))) -}}
{{- end -}}

{{/* The variables of the proxy: of the chart's, those that the user does not set. No name may come twice. */}}
{{- define "portcullis-standalone.environment" -}}
{{- $own := list -}}
{{- if .Values.oidc.enabled -}}
{{- $own = append $own (dict "name" "OIDC_COOKIE_SECRET" "valueFrom" (dict "secretKeyRef" (dict "name" .Values.oidc.cookieSecretName "key" "OIDC_COOKIE_SECRET"))) -}}
{{- end -}}
{{- with .Values.session.secretName -}}
{{- $own = append $own (dict "name" "SESSION_KEY" "valueFrom" (dict "secretKeyRef" (dict "name" . "key" "key"))) -}}
{{- end -}}
{{- $names := list -}}
{{- $further := list -}}
{{- range .Values.extraEnv -}}
{{- $names = append $names .name -}}
{{- $further = append $further (hasKey . "value" | ternary (mergeOverwrite (deepCopy .) (dict "value" (include "portcullis.scalar" .value))) .) -}}
{{- end -}}
{{- $all := list -}}
{{- range $own }}{{ if not (has .name $names) }}{{ $all = append $all . }}{{ end }}{{ end -}}
{{- with concat $all $further }}{{ toYaml . }}{{ end -}}
{{- end -}}
