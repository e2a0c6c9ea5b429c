{{/* What the objects are called: memcached-operator in a release of that name, as in config/. Their names add up to 35 more letters, of 63. */}}
{{- define "memcached-operator.fullname" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "memcached" $name) -}}
{{- $name = printf "%s-memcached" $name -}}
{{- end -}}
{{- .Values.fullnameOverride | default $name | trunc 28 | trimSuffix "-" -}}
{{- end -}}

{{- define "memcached-operator.account" -}}
{{ include "memcached-operator.fullname" . }}-controller-manager
{{- end -}}

{{- define "memcached-operator.labels" -}}
app.kubernetes.io/name: memcached-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Of the operator's pods. The operator knows itself by them, so nobody may change them. */}}
{{- define "memcached-operator.selector" -}}
app.kubernetes.io/name: memcached-operator
app.kubernetes.io/component: controller-manager
{{- end -}}

{{- define "memcached-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default (printf "v%s" $.Chart.AppVersion) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "memcached-operator.args" -}}
{{- with .Values.watchNamespaces }}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- if not .Values.webhooks.enabled }}
- --enable-webhooks=false
{{- else if eq .Values.webhooks.certificates "cert-manager" }}
- --webhook-cert-dir=/certificate
{{- end }}
{{- if not .Values.metrics.enabled }}
- --metrics-bind-address=0
{{- end }}
{{- with .Values.defaultImages.memcached }}
- --default-image={{ . }}
{{- end }}
{{- with .Values.defaultImages.exporter }}
- --default-exporter-image={{ . }}
{{- end }}
{{- if ne .Values.logLevel "info" }}
- --log-level={{ .Values.logLevel }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Rules of a role, from the list that is made from the code: (list $ "cluster" …). */}}
{{- define "memcached-operator.rules" -}}
{{- $root := first . -}}
{{- $all := $root.Files.Get "files/permissions.yaml" | fromYaml -}}
{{- $rules := list -}}
{{- range rest . -}}
{{- $part := get $all . -}}
{{- $rules = concat $rules $part.always -}}
{{- if $root.Values.webhooks.enabled -}}
{{- $rules = concat $rules $part.webhooks -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}
