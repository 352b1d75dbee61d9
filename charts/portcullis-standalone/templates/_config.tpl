{{/*
The section `config` of the file, which is read at the start: what the user wrote, and what follows
from values.
*/}}
{{- define "portcullis-standalone.settings" -}}
{{- $settings := deepCopy (default dict (default dict .Values.config).config) -}}
{{- if not (has .Values.mode (list "readonly" "database")) -}}
{{- fail (printf "mode is %q; it must be \"readonly\" or \"database\"" (toString .Values.mode)) -}}
{{- end -}}
{{- range $place, $section := dict "config" (default dict .Values.config) "config.config" $settings -}}
{{- if hasKey $section "storage" -}}
{{- fail (printf "%s.storage must not be set: the chart derives it from the value `mode`, \"readonly\" or \"database\"" $place) -}}
{{- end -}}
{{- if hasKey $section "database" -}}
{{- fail (printf "%s.database must not be set: the chart sets it; set the values `mode: database` and `database.postgres.url`" $place) -}}
{{- end -}}
{{- end -}}
{{- $settings = set $settings "storage" (dict "mode" .Values.mode) -}}
{{- if eq .Values.mode "database" -}}
{{- $url := .Values.database.postgres.url -}}
{{- if not $url -}}
{{- fail "database.postgres.url is required with `mode: database`; set it to postgres://user:password@host:5432/name" -}}
{{- end -}}
{{- if not (regexMatch "^(postgres(ql)?://|\\$)" $url) -}}
{{- fail "database.postgres.url must begin with postgres:// or postgresql://" -}}
{{- end -}}
{{- $settings = set $settings "database" (dict "url" $url) -}}
{{- end -}}
{{- if and .Values.session.secretName (not (hasKey $settings "session")) -}}
{{- $settings = set $settings "session" (dict "key" "${SESSION_KEY}") -}}
{{- end -}}
{{- /* YAML reads `off` without quotes as false. */ -}}
{{- range $key := list "adminAddr" "statsAddr" "readinessAddr" -}}
{{- if eq (toString (get $settings $key)) "false" }}{{ $settings = set $settings $key "off" }}{{ end -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* The whole file. What is outside of `config` is the user's, or a greeting where there is nothing. */}}
{{- define "portcullis-standalone.config" -}}
{{- $file := omit (default dict .Values.config) "config" -}}
{{- if not $file -}}
{{- $file = .Files.Get "files/greeting.yaml" | fromYaml -}}
{{- end -}}
{{- toYaml (set (deepCopy $file) "config" (include "portcullis-standalone.settings" . | fromYaml)) -}}
{{- end -}}

{{/*
The same as the text of the file, which ends with one line feed. Where empty lines at its end are part
of a value, a comment comes after them: a manifest would not keep their number.
*/}}
{{- define "portcullis-standalone.file" -}}
{{- $text := print (include "portcullis-standalone.config" .) "\n" -}}
{{- $text }}{{ if hasSuffix "\n\n" $text }}{{ "# end\n" }}{{ end }}
{{- end -}}

{{/*
Changes when pods must be restarted for their configuration: with what is read at the start only.
modelCatalog takes effect while the proxy runs.
*/}}
{{- define "portcullis-standalone.checksum" -}}
{{- omit (include "portcullis-standalone.settings" . | fromYaml) "modelCatalog" | toJson | sha256sum -}}
{{- end -}}

{{/* The port of an address of the settings: (list $ "readinessAddr" 15021). */}}
{{- define "portcullis-standalone.port" -}}
{{- $address := get (default dict (default dict (first .).Values.config).config) (index . 1) | toString -}}
{{- regexFind "[0-9]+$" $address | default (last .) -}}
{{- end -}}

{{/*
How long a pod may take to stop: until no more traffic is sent to it, and then as long as its
connections may go on.
*/}}
{{- define "portcullis-standalone.gracePeriod" -}}
{{- $settings := default dict (default dict .Values.config).config -}}
{{- $least := include "portcullis-standalone.seconds" (get $settings "connectionMinTerminationDeadline") | int -}}
{{- $most := include "portcullis-standalone.seconds" (get $settings "connectionTerminationDeadline" | default "5s") | int -}}
{{- max 30 (add $least $most 15) -}}
{{- end -}}

{{/* A duration such as 1m30s in whole seconds, rounded up. */}}
{{- define "portcullis-standalone.seconds" -}}
{{- $units := dict "h" 3600000 "m" 60000 "s" 1000 "ms" 1 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?(h|ms|m|s)" (toString .) -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) (get $units $unit)) -}}
{{- end -}}
{{- ceil (divf $sum 1000) | int -}}
{{- end -}}
