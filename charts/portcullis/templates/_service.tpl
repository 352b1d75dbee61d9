{{/*
The spec of a Service from its values: (dict "values" … "ports" … "selector" …). What is empty is
left out; what is null by default is written whenever it is set, be it to false or 0, or as text.
*/}}
{{- define "portcullis.serviceSpec" -}}
{{- $values := .values -}}
{{- $spec := dict "ports" .ports "selector" .selector -}}
{{- range $key := list "type" "clusterIP" "clusterIPs" "externalIPs" "externalName" "externalTrafficPolicy" "internalTrafficPolicy" "ipFamilies" "ipFamilyPolicy" "loadBalancerClass" "loadBalancerIP" "loadBalancerSourceRanges" "publishNotReadyAddresses" "sessionAffinity" "sessionAffinityConfig" "trafficDistribution" -}}
{{- with get $values $key }}{{ $_ := set $spec $key . }}{{ end -}}
{{- end -}}
{{- range $key := list "allocateLoadBalancerNodePorts" "healthCheckNodePort" -}}
{{- with include "portcullis.scalar" (index $values $key) }}{{ $_ := set $spec $key (printf "[%s]" . | fromYamlArray | first) }}{{ end -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end -}}

{{/* The ports of a Service: TCP, and to the port of the same number, unless they say otherwise. */}}
{{- define "portcullis.servicePorts" -}}
{{- $ports := list -}}
{{- range . -}}
{{- $ports = append $ports (mergeOverwrite (dict "protocol" "TCP" "targetPort" .port) (deepCopy .)) -}}
{{- end -}}
{{- toYaml $ports -}}
{{- end -}}
