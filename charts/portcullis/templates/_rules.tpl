{{/* What the controller reads in namespaces, and the status of what it read. */}}
{{- define "portcullis.namespacedRules" }}
  # By name where a watch may be late: nothing of somebody else is written over.
  - apiGroups: [""]
    resources: [services, configmaps, secrets, serviceaccounts]
    verbs: [get, list, watch]
  - apiGroups: [discovery.k8s.io]
    resources: [endpointslices]
    verbs: [list, watch]
  - apiGroups: [apps]
    resources: [deployments, daemonsets]
    verbs: [get, list, watch]
  - apiGroups: [autoscaling]
    resources: [horizontalpodautoscalers]
    verbs: [get, list, watch]
  - apiGroups: [policy]
    resources: [poddisruptionbudgets]
    verbs: [get, list, watch]
  - apiGroups: [gateway.networking.k8s.io]
    resources: [gateways, httproutes, grpcroutes, tlsroutes, tcproutes, backendtlspolicies, listenersets, referencegrants]
    verbs: [list, watch]
  - apiGroups: [gateway.networking.k8s.io]
    resources: [gateways/status, httproutes/status, grpcroutes/status, tlsroutes/status, tcproutes/status, backendtlspolicies/status, listenersets/status]
    verbs: [patch]
  - apiGroups: [portcullis.dev]
    resources: [proxypolicies, proxybackends, proxyparameters]
    verbs: [list, watch]
  - apiGroups: [portcullis.dev]
    resources: [proxypolicies/status, proxybackends/status, proxyparameters/status]
    verbs: [patch]
  {{- if .Values.agentgatewayModels.enabled }}
  - apiGroups: [portcullis.dev]
    resources: [proxymodels]
    verbs: [list, watch]
  - apiGroups: [portcullis.dev]
    resources: [proxymodels/status]
    verbs: [patch]
  {{- end }}
  # What people should hear of is said where the object is.
  - apiGroups: [events.k8s.io]
    resources: [events]
    verbs: [create]
  {{- if .Values.inferenceExtension.enabled }}
  - apiGroups: [inference.networking.k8s.io]
    resources: [inferencepools]
    verbs: [list, watch]
  - apiGroups: [inference.networking.k8s.io]
    resources: [inferencepools/status]
    verbs: [patch]
  # Pools select their pods by labels.
  - apiGroups: [""]
    resources: [pods]
    verbs: [list, watch]
  {{- end }}
  {{- if .Values.xBackend.enabled }}
  - apiGroups: [gateway.networking.x-k8s.io]
    resources: [xbackends]
    verbs: [list, watch]
  - apiGroups: [gateway.networking.x-k8s.io]
    resources: [xbackends/status]
    verbs: [patch]
  {{- end }}
  {{- if .Values.istio.enabled }}
  - apiGroups: [networking.istio.io]
    resources: [serviceentries, workloadentries]
    verbs: [list, watch]
  {{- end }}
{{- end }}

{{/* What the controller writes where gateways are: the proxies and what belongs to them. */}}
{{- define "portcullis.deployerRules" }}
  - apiGroups: [""]
    resources: [configmaps, secrets, serviceaccounts, services]
    verbs: [create, delete, patch]
  - apiGroups: [apps]
    resources: [deployments, daemonsets]
    verbs: [create, delete, patch]
  - apiGroups: [autoscaling]
    resources: [horizontalpodautoscalers]
    verbs: [create, delete, patch]
  - apiGroups: [policy]
    resources: [poddisruptionbudgets]
    verbs: [create, delete, patch]
{{- end }}
