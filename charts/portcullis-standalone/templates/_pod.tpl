{{/*
The template of the proxy's pods: (list $ name), with the name of the ConfigMap that they mount. All
that it depends on but that name is what restarts pods.
*/}}
{{- define "portcullis-standalone.podTemplate" -}}
{{- $name := last . -}}
{{- with first . -}}
metadata:
  labels:
    {{- include "portcullis-standalone.podLabels" . | nindent 4 }}
  annotations:
    {{- include "portcullis-standalone.podAnnotations" . | nindent 4 }}
spec:
  {{- with include "portcullis-standalone.serviceAccountName" . }}
  serviceAccountName: {{ . | quote }}
  {{- end }}
  terminationGracePeriodSeconds: {{ include "portcullis-standalone.gracePeriod" . }}
  {{- include "portcullis-standalone.podPlace" . | nindent 2 }}
  containers:
    - name: portcullis
      args: [run, --file, /config/config.yaml]
      {{- include "portcullis-standalone.container" . | nindent 6 }}
      ports:
        - name: readiness
          containerPort: {{ include "portcullis-standalone.port" (list . "readinessAddr" 15021) }}
        {{- if .Values.monitoring.enabled }}
        - name: metrics
          containerPort: {{ include "portcullis-standalone.port" (list . "statsAddr" 15020) }}
        {{- end }}
      startupProbe:
        httpGet: {path: /healthz/ready, port: readiness}
        periodSeconds: 1
        failureThreshold: 60
      readinessProbe:
        httpGet: {path: /healthz/ready, port: readiness}
        periodSeconds: 5
        failureThreshold: 2
      livenessProbe:
        httpGet: {path: /healthz/live, port: readiness}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      lifecycle:
        preStop:
          # Requests still come until every node has heard that the pod goes.
          sleep: {seconds: 5}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "portcullis-standalone.volumes" (list . $name) | nindent 4 }}
{{- end -}}
{{- end -}}

{{/* What all pods with the proxy's image have in common: where they run, and as whom. */}}
{{- define "portcullis-standalone.podPlace" -}}
automountServiceAccountToken: false
securityContext:
  {{- include "portcullis-standalone.podSecurityContext" . | nindent 2 }}
{{- range $field := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "dnsConfig" }}
{{- with get $.Values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The proxy's container, but for what it is asked to do. */}}
{{- define "portcullis-standalone.container" -}}
image: {{ include "portcullis-standalone.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
{{- with include "portcullis-standalone.environment" . }}
env:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
volumeMounts:
  # As a directory: a single file would never be updated.
  - name: config
    mountPath: /config
    readOnly: true
  - name: tmp
    mountPath: /tmp
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Its volumes: (list $ name), with the name of the ConfigMap. */}}
{{- define "portcullis-standalone.volumes" -}}
- name: config
  configMap:
    name: {{ last . | quote }}
- name: tmp
  emptyDir: {}
{{- with (first .).Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "portcullis-standalone.podLabels" -}}
{{- $labels := mergeOverwrite (deepCopy (default dict .Values.podLabels)) (include "portcullis-standalone.selectorLabels" . | fromYaml) -}}
{{- toYaml $labels -}}
{{- end -}}

{{/* Those of Prometheus follow the address of the metrics, unless the user has said otherwise. */}}
{{- define "portcullis-standalone.podAnnotations" -}}
{{- $annotations := deepCopy (default dict .Values.podAnnotations) -}}
{{- if include "portcullis-standalone.isUnreachable" (get (include "portcullis-standalone.settings" . | fromYaml) "statsAddr") -}}
{{- $annotations = omit $annotations "prometheus.io/path" "prometheus.io/port" "prometheus.io/scrape" -}}
{{- else if eq (toString (get $annotations "prometheus.io/port")) "15020" -}}
{{- $annotations = set $annotations "prometheus.io/port" (include "portcullis-standalone.port" (list . "statsAddr" 15020)) -}}
{{- end -}}
{{- toYaml (set $annotations "checksum/config" (include "portcullis-standalone.checksum" .)) -}}
{{- end -}}

{{/* The security context of pods, with the runtime's seccomp profile unless another is asked for. */}}
{{- define "portcullis-standalone.podSecurityContext" -}}
{{- toYaml (mergeOverwrite (dict "seccompProfile" (dict "type" "RuntimeDefault")) (deepCopy (default dict .Values.podSecurityContext))) -}}
{{- end -}}

{{/* The variables of the proxy: of the chart's, those that the user does not set. No name may come twice. */}}
{{- define "portcullis-standalone.environment" -}}
{{- $own := list -}}
{{- $resources := default dict .Values.resources -}}
{{- $requests := default dict $resources.requests -}}
{{- /* With a CPU limit, the process sees how far it may go. */ -}}
{{- if and $requests.cpu (not (default dict $resources.limits).cpu) -}}
{{- $own = append $own (dict "name" "PORTCULLIS_CPU_REQUEST" "valueFrom" (dict "resourceFieldRef" (dict "resource" "requests.cpu" "divisor" "1m"))) -}}
{{- end -}}
{{- if $requests.memory -}}
{{- $own = append $own (dict "name" "PORTCULLIS_MEMORY_REQUEST" "valueFrom" (dict "resourceFieldRef" (dict "resource" "requests.memory" "divisor" "1"))) -}}
{{- end -}}
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
