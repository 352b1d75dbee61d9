{{/* What could not work, in words, before anything is created. */}}
{{- define "portcullis.check" -}}
{{- if eq (toString .Values.enabled) "false" -}}
{{- fail "`enabled: false` is for the `condition` of a chart that includes this one, and does nothing by itself: leave it out, or uninstall the release" -}}
{{- end -}}
{{- $name := include "portcullis.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "the name %q cannot be that of a Service: letters, digits and hyphens are allowed, beginning with a letter; set the value `fullnameOverride`" $name) -}}
{{- end -}}
{{- if not .Values.controller.image.repository -}}
{{- fail "controller.image.repository is required: it is the name of the image" -}}
{{- end -}}
{{- if and .Values.rbac.create (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.name is required with `serviceAccount.create: false`: the permissions of the controller would go to the account `default`, which every pod of the namespace has; name an account, or set `rbac.create: false`" -}}
{{- end -}}
{{- with .Values.controller.horizontalPodAutoscaler -}}
{{- if not .maxReplicas -}}
{{- fail "controller.horizontalPodAutoscaler.maxReplicas is required" -}}
{{- end -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- fail (printf "controller.horizontalPodAutoscaler.minReplicas is %d, more than maxReplicas, which is %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- with .Values.controller.podDisruptionBudget -}}
{{- if and (hasKey . "minAvailable") (hasKey . "maxUnavailable") -}}
{{- fail "controller.podDisruptionBudget has both `minAvailable` and `maxUnavailable`; keep one" -}}
{{- end -}}
{{- end -}}
{{- end -}}
