{{/*
The name of the ConfigMap that pods of this template mount. It changes with the template, so that a
pod of an earlier one, whenever it starts, finds the file that it can read. What takes effect in
running pods does not change it.
*/}}
{{- define "portcullis-standalone.configName" -}}
{{- $hash := include "portcullis-standalone.podTemplate" (list . "") | sha256sum | trunc 10 -}}
{{- include "portcullis-standalone.partName" (list (include "portcullis-standalone.fullname" .) (printf "config-%s" $hash)) -}}
{{- end -}}

{{/*
The ConfigMaps of earlier templates, as a list of {name, data}, the latest first: the one that runs
now, and those that its Deployment remembers. Helm deletes what a new revision does not have, so
they are part of it as long as Kubernetes keeps their ReplicaSets, up to some size. Nothing is known without a
cluster, as with `helm template`.
*/}}
{{- define "portcullis-standalone.earlierConfigs" -}}
{{- $namespace := include "portcullis-standalone.namespace" . -}}
{{- $running := lookup "apps/v1" "Deployment" $namespace (include "portcullis-standalone.fullname" .) | default dict -}}
{{- $names := list -}}
{{- range dig "spec" "template" "spec" "volumes" list $running -}}
{{- if eq .name "config" }}{{ $names = append $names (dig "configMap" "name" "" .) }}{{ end -}}
{{- end -}}
{{- $names = concat $names (dig "metadata" "annotations" "portcullis.dev/earlier-configurations" "" $running | splitList ",") -}}
{{- /* A rollout under way needs the latest, whatever is kept for rollbacks. */ -}}
{{- $most := include "portcullis.scalar" .Values.revisionHistoryLimit | default "10" | int | max 1 -}}
{{- /* Helm keeps a revision in a Secret, whose size has an end. */ -}}
{{- $room := 262144 -}}
{{- $earlier := list -}}
{{- range without ($names | compact | uniq) (include "portcullis-standalone.configName" .) -}}
{{- $map := lookup "v1" "ConfigMap" $namespace . -}}
{{- if and $map (lt (len $earlier) $most) -}}
{{- $room = sub $room (len (toJson $map.data)) -}}
{{- if or (empty $earlier) (gt $room 0) -}}
{{- $earlier = append $earlier (dict "name" . "data" $map.data) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $earlier -}}
{{- end -}}
