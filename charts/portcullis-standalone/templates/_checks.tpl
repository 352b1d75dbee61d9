{{/* What could not work, in words, before anything is created. */}}
{{- define "portcullis-standalone.check" -}}
{{- if eq (toString .Values.enabled) "false" -}}
{{- fail "`enabled: false` only works as the `condition` of a parent chart: remove it, or uninstall the release" -}}
{{- end -}}
{{- $name := include "portcullis-standalone.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "%q is not a valid Service name: use letters, digits and hyphens, beginning with a letter; set `fullnameOverride`" $name) -}}
{{- end -}}
{{- if not .Values.image.repository -}}
{{- fail "image.repository is required: set it to the name of the image" -}}
{{- end -}}
{{- if and .Values.oidc.enabled (not .Values.oidc.cookieSecretName) -}}
{{- fail "oidc.cookieSecretName is required with `oidc.enabled: true`; create one with: kubectl create secret generic oidc-cookie --from-literal=OIDC_COOKIE_SECRET=$(openssl rand -hex 32)" -}}
{{- end -}}
{{- include "portcullis-standalone.checkAddresses" . -}}
{{- include "portcullis-standalone.checkServices" . -}}
{{- with .Values.podDisruptionBudget -}}
{{- if and .enabled (has (toString .maxUnavailable) (list "" "0" "<nil>")) (has (toString .minAvailable) (list "" "<nil>")) -}}
{{- fail "podDisruptionBudget.minAvailable or podDisruptionBudget.maxUnavailable is required with `podDisruptionBudget.enabled: true`" -}}
{{- end -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if .enabled -}}
{{- if not .maxReplicas -}}
{{- fail "autoscaling.maxReplicas is required with `autoscaling.enabled: true`" -}}
{{- end -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- fail (printf "autoscaling.minReplicas (%d) must not exceed autoscaling.maxReplicas (%d)" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Probes and Prometheus come from outside of the pod. */}}
{{- define "portcullis-standalone.checkAddresses" -}}
{{- $settings := include "portcullis-standalone.settings" . | fromYaml -}}
{{- if include "portcullis-standalone.isUnreachable" (get $settings "readinessAddr") -}}
{{- fail (printf "config.config.readinessAddr is %q, which the kubelet cannot reach, so no pod would become ready; remove it, or use [::]:15021" $settings.readinessAddr) -}}
{{- end -}}
{{- if and .Values.monitoring.enabled (include "portcullis-standalone.isUnreachable" (get $settings "statsAddr")) -}}
{{- fail (printf "config.config.statsAddr is %q, which Prometheus cannot reach; remove it, or set `monitoring.enabled: false`" $settings.statsAddr) -}}
{{- end -}}
{{- end -}}

{{/* "true" for an address that only the pod itself can reach, or nobody. */}}
{{- define "portcullis-standalone.isUnreachable" -}}
{{- if regexMatch "^(off$|unix:|localhost:|127\\.|\\[::1\\]:)" (toString (default "" .)) }}true{{ end -}}
{{- end -}}

{{- define "portcullis-standalone.checkServices" -}}
{{- with .Values.gateway.service -}}
{{- if and .enabled (not .ports) (ne (toString .type) "ExternalName") -}}
{{- fail "gateway.service.ports is empty: add at least one port, such as {name: http, port: 80, targetPort: 4000}, or set `gateway.service.enabled: false`" -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- range $index, $entry := .Values.gateway.extraServices -}}
{{- if not $entry.name -}}
{{- fail (printf "gateway.extraServices[%d] requires `name`, which is appended to the name of the release" $index) -}}
{{- end -}}
{{- if has $entry.name $names -}}
{{- fail (printf "gateway.extraServices: duplicate name %q" $entry.name) -}}
{{- end -}}
{{- $names = append $names $entry.name -}}
{{- if not $entry.ports -}}
{{- fail (printf "gateway.extraServices[%d] (%s) requires `ports`: add at least one port, such as {name: http, port: 80, targetPort: 4000}" $index $entry.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
