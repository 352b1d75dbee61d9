{{/*
The settings of the controller, as variables. What is empty is left out, so that the controller's own
default holds.
*/}}
{{- define "portcullis.environment" -}}
{{- $controller := .Values.controller -}}
{{- if not (has $controller.xds.mode (list "plaintext" "tls" "either")) -}}
{{- fail (printf "controller.xds.mode is %q; it must be \"plaintext\", \"tls\" or \"either\"" (toString $controller.xds.mode)) -}}
{{- end -}}
{{- range $class, $reference := .Values.gatewayClassParametersRefs -}}
{{- range $field := list "name" "namespace" -}}
{{- if not (get (default dict $reference) $field) -}}
{{- fail (printf "gatewayClassParametersRefs.%s.%s is required; specify the ProxyParameters of the class with `name` and `namespace`" $class $field) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $ports := $controller.service.ports -}}
{{- range $name, $path := dict "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" "POD_UID" "metadata.uid" }}
{{- if not (hasKey (default dict $controller.extraEnv) $name) }}
- name: {{ $name }}
  valueFrom: {fieldRef: {fieldPath: {{ $path }}}}
{{- end }}
{{- end }}
{{- $settings := dict
  "PORTCULLIS_LOG_LEVEL" $controller.logLevel
  "PORTCULLIS_XDS_MODE" $controller.xds.mode
  "PORTCULLIS_XDS_SERVICE_NAME" (include "portcullis.fullname" .)
  "PORTCULLIS_XDS_PORT" $ports.agwGrpc
  "PORTCULLIS_HEALTH_PORT" $ports.health
  "PORTCULLIS_METRICS_PORT" $ports.metrics
  "PORTCULLIS_CONTROLLER_NAME" .Values.controllerName
  "PORTCULLIS_GATEWAY_CLASS_NAME" .Values.gatewayClassName
  "PORTCULLIS_GATEWAY_CLASS_PARAMETERS_REFS" (empty .Values.gatewayClassParametersRefs | ternary "" (toJson .Values.gatewayClassParametersRefs))
  "PORTCULLIS_DISCOVERY_NAMESPACE_SELECTORS" (empty .Values.discoveryNamespaceSelectors | ternary "" (toJson .Values.discoveryNamespaceSelectors))
  "PORTCULLIS_WATCH_NAMESPACES" (empty .Values.watchNamespaces | ternary "" (uniq (default list .Values.watchNamespaces) | toJson))
  "PORTCULLIS_GATEWAY_NAMESPACES" (empty .Values.rbac.gatewayNamespaces | ternary "" (uniq (default list .Values.rbac.gatewayNamespaces) | toJson))
  "PORTCULLIS_MODELS_ENABLED" .Values.agentgatewayModels.enabled
  "PORTCULLIS_INFERENCE_EXTENSION_ENABLED" .Values.inferenceExtension.enabled
  "PORTCULLIS_XBACKEND_ENABLED" .Values.xBackend.enabled
  "PORTCULLIS_ISTIO_AUTO_ENABLED" .Values.istio.autoEnabled
  "PORTCULLIS_ISTIO_CA_ADDRESS" .Values.istio.caAddress
  "PORTCULLIS_ISTIO_CLUSTER_ID" .Values.istio.clusterId
  "PORTCULLIS_ISTIO_NAMESPACE" .Values.istio.namespace
  "PORTCULLIS_ISTIO_NETWORK" .Values.istio.network
  "PORTCULLIS_ISTIO_REVISION" .Values.istio.revision
  "PORTCULLIS_PROXY_IMAGE_REGISTRY" (default .Values.image.registry .Values.proxy.image.registry | default "" | trimSuffix "/")
  "PORTCULLIS_PROXY_IMAGE_REPOSITORY" .Values.proxy.image.repository
  "PORTCULLIS_PROXY_IMAGE_TAG" (include "portcullis.scalar" .Values.proxy.image.tag | default (include "portcullis.scalar" .Values.image.tag))
-}}
{{- range $name, $value := $settings }}
{{- /* A variable of the user's own takes the place of the chart's: no name may come twice. */}}
{{- if and $value (not (hasKey (default dict $controller.extraEnv) $name)) }}
- name: {{ $name }}
  value: {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := $controller.extraEnv }}
- name: {{ $name }}
  {{- if kindIs "map" $value }}
  {{- if and (hasKey $value "valueFrom") (hasKey $value "value") }}
  {{- fail (printf "controller.extraEnv.%s must not set both `value` and `valueFrom`" $name) }}
  {{- else if hasKey $value "valueFrom" }}
  valueFrom:
    {{- toYaml $value.valueFrom | nindent 4 }}
  {{- else if hasKey $value "value" }}
  value: {{ include "portcullis.scalar" $value.value | quote }}
  {{- else }}
  {{- fail (printf "controller.extraEnv.%s requires `value` or `valueFrom`; set a scalar, or `valueFrom` with its source" $name) }}
  {{- end }}
  {{- else }}
  value: {{ include "portcullis.scalar" $value | quote }}
  {{- end }}
{{- end }}
{{- end -}}
