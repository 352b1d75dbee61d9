{{/* What could not work, in words, before anything is created. */}}
{{- define "portcullis-standalone.check" -}}
{{- if eq (toString .Values.enabled) "false" -}}
{{- fail "`enabled: false` is for the `condition` of a chart that includes this one, and does nothing by itself: leave it out, or uninstall the release" -}}
{{- end -}}
{{- $name := include "portcullis-standalone.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "the name %q cannot be that of a Service: letters, digits and hyphens are allowed, beginning with a letter; set the value `fullnameOverride`" $name) -}}
{{- end -}}
{{- if not .Values.image.repository -}}
{{- fail "image.repository is required: it is the name of the image" -}}
{{- end -}}
{{- if and .Values.oidc.enabled (not .Values.oidc.cookieSecretName) -}}
{{- fail "oidc.cookieSecretName is required with `oidc.enabled: true`; make one with: kubectl create secret generic oidc-cookie --from-literal=OIDC_COOKIE_SECRET=$(openssl rand -hex 32)" -}}
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
{{- fail (printf "autoscaling.minReplicas is %d, more than autoscaling.maxReplicas, which is %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Probes and Prometheus come from outside of the pod. */}}
{{- define "portcullis-standalone.checkAddresses" -}}
{{- $settings := include "portcullis-standalone.settings" . | fromYaml -}}
{{- if include "portcullis-standalone.isUnreachable" (get $settings "readinessAddr") -}}
{{- fail (printf "config.config.readinessAddr is %q: the kubelet could not reach it, and no pod would become ready; leave it out, or use [::]:15021" $settings.readinessAddr) -}}
{{- end -}}
{{- if and .Values.monitoring.enabled (include "portcullis-standalone.isUnreachable" (get $settings "statsAddr")) -}}
{{- fail (printf "config.config.statsAddr is %q: Prometheus could not reach it; leave it out, or set `monitoring.enabled: false`" $settings.statsAddr) -}}
{{- end -}}
{{- end -}}

{{/* "true" for an address that only the pod itself can reach, or nobody. */}}
{{- define "portcullis-standalone.isUnreachable" -}}
{{- if regexMatch "^(off$|unix:|localhost:|127\\.|\\[::1\\]:)" (toString (default "" .)) }}true{{ end -}}
{{- end -}}

{{- define "portcullis-standalone.checkServices" -}}
{{- with .Values.gateway.service -}}
{{- if and .enabled (not .ports) (ne (toString .type) "ExternalName") -}}
{{- fail "gateway.service.ports is empty: list at least one, such as {name: http, port: 80, targetPort: 4000}, or set `gateway.service.enabled: false`" -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- range $index, $entry := .Values.gateway.extraServices -}}
{{- if not $entry.name -}}
{{- fail (printf "gateway.extraServices[%d] has no `name`; it is appended to the name of the release" $index) -}}
{{- end -}}
{{- if has $entry.name $names -}}
{{- fail (printf "gateway.extraServices has two services called %q" $entry.name) -}}
{{- end -}}
{{- $names = append $names $entry.name -}}
{{- if not $entry.ports -}}
{{- fail (printf "gateway.extraServices[%d] (%s) has no `ports`; list at least one, such as {name: http, port: 80, targetPort: 4000}" $index $entry.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
