{{/* What could not work, in words, before anything is created. */}}
{{- define "portcullis.check" -}}
{{- if eq (toString .Values.enabled) "false" -}}
{{- fail "`enabled: false` only works as the `condition` of a parent chart: remove it, or uninstall the release" -}}
{{- end -}}
{{- $name := include "portcullis.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "%q is not a valid Service name: use letters, digits and hyphens, beginning with a letter; set `fullnameOverride`" $name) -}}
{{- end -}}
{{- if not .Values.controller.image.repository -}}
{{- fail "controller.image.repository is required: set it to the name of the image" -}}
{{- end -}}
{{- if and .Values.rbac.create (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.name is required with `serviceAccount.create: false`: the account `default`, which every pod in the namespace uses, would get the permissions of the controller; specify an account, or set `rbac.create: false`" -}}
{{- end -}}
{{- with .Values.watchNamespaces -}}
{{- $watched := . -}}
{{- range $.Values.rbac.gatewayNamespaces -}}
{{- if not (has . $watched) -}}
{{- fail (printf "rbac.gatewayNamespaces contains %q, which is not in watchNamespaces: the controller would not see its Gateways" .) -}}
{{- end -}}
{{- end -}}
{{- range $class, $reference := $.Values.gatewayClassParametersRefs -}}
{{- $namespace := get (default dict $reference) "namespace" -}}
{{- if and $namespace (not (has $namespace $watched)) -}}
{{- fail (printf "gatewayClassParametersRefs.%s.namespace is %q, which is not in watchNamespaces: the controller would not see its ProxyParameters" $class $namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.controller.horizontalPodAutoscaler -}}
{{- if not .maxReplicas -}}
{{- fail "controller.horizontalPodAutoscaler.maxReplicas is required" -}}
{{- end -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- fail (printf "controller.horizontalPodAutoscaler.minReplicas (%d) must not exceed maxReplicas (%d)" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- with .Values.controller.podDisruptionBudget -}}
{{- if and (hasKey . "minAvailable") (hasKey . "maxUnavailable") -}}
{{- fail "controller.podDisruptionBudget must not set both `minAvailable` and `maxUnavailable`" -}}
{{- end -}}
{{- end -}}
{{- end -}}
