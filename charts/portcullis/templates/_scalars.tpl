{{/*
A scalar as it was written, and nothing for null: numbers come as floats, and 20260101 must not become
2.0260101e+07.
*/}}
{{- define "portcullis.scalar" -}}
{{- if kindIs "invalid" . -}}
{{- else if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end -}}
{{- end -}}
