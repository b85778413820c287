{{/* Names leave room for the class and for what controllers add: a label has at most 63 characters. */}}
{{- define "pleat.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 30 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 30 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Takes a dict of root and component. */}}
{{- define "pleat.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "pleat.labels" -}}
{{ include "pleat.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Takes a dict of root and image. */}}
{{- define "pleat.image" -}}
{{- $tag := coalesce .image.tag .root.Values.image.tag .root.Chart.AppVersion -}}
image: {{ printf "%s:%s" (coalesce .image.repository .root.Values.image.repository) $tag | quote }}
imagePullPolicy: {{ coalesce .image.pullPolicy .root.Values.image.pullPolicy }}
{{- end -}}

{{- define "pleat.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "pleat.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "pleat.secretName" -}}
{{- default (include "pleat.fullname" .) .Values.secret.existingSecret -}}
{{- end -}}

{{- define "pleat.claimName" -}}
{{- default (printf "%s-weights" (include "pleat.fullname" .)) .Values.weights.existingClaim -}}
{{- end -}}

{{/*
What every pod has. No process calls the API of Kubernetes. Variables of services would be read as settings: a service
pleat-x sets PLEAT_X_PORT.
*/}}
{{- define "pleat.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "pleat.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* A dict of secret (its name), required and optional (names of variables). */}}
{{- define "pleat.secretEnv" -}}
{{- range .required }}
- name: {{ . }}
  valueFrom: {secretKeyRef: {name: {{ $.secret }}, key: {{ . }}}}
{{- end }}
{{- range .optional }}
- name: {{ . }}
  valueFrom: {secretKeyRef: {name: {{ $.secret }}, key: {{ . }}, optional: true}}
{{- end }}
{{- end -}}

{{/* The secrets that a server and a worker need. Takes a dict of root and more, a list of further variables. */}}
{{- define "pleat.nodeEnv" -}}
{{- $required := list "PLEAT_DATABASE" "PLEAT_SECRET_KEY" -}}
{{- $optional := concat (list "PLEAT_DATABASE_DIRECT" "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY") .more -}}
{{- if .root.Values.metrics.token }}{{ $required = append $required "PLEAT_METRICS_TOKEN" }}{{ end -}}
{{- include "pleat.secretEnv" (dict "secret" (include "pleat.secretName" .root) "required" $required
  "optional" $optional) }}
- {name: PLEAT_DATA, value: /data}
- {name: PLEAT_CLASSES, value: /etc/pleat/classes.yaml}
{{- end -}}

{{/* The secrets of a worker that calls a server: it has neither the database, nor the bucket, nor the secret key. */}}
{{- define "pleat.callerEnv" -}}
{{- $required := ternary (list "PLEAT_METRICS_TOKEN") list .root.Values.metrics.token -}}
{{- include "pleat.secretEnv" (dict "secret" (include "pleat.secretName" .root) "required" $required
  "optional" .more) }}
- {name: PLEAT_DATA, value: /data}
{{- end -}}

{{/*
Settings of a worker that calls a server, as a file. Takes a dict of root and worker. Inside of the cluster it calls the
Service, over http; `server` in the settings of the worker is another address.
*/}}
{{- define "pleat.callerSettings" -}}
{{- $fixed := dict "token-file" "/etc/pleat-token/token" -}}
{{- if .root.Values.metrics.enabled -}}
{{- $_ := set $fixed "metrics-listen" (printf "0.0.0.0:%d" (int .root.Values.metrics.port)) -}}
{{- end -}}
{{- $settings := merge $fixed (deepCopy .worker.config) (omit .root.Values.config "blobs") -}}
{{- if not $settings.server -}}
{{- $_ := set $settings "server" (include "pleat.serverURL" .root) -}}
{{- $_ := set $settings "server-plaintext" true -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* The address of the server inside of the cluster. */}}
{{- define "pleat.serverURL" -}}
{{- printf "http://%s.%s.svc:%d" (include "pleat.fullname" .) .Release.Namespace (int .Values.service.port) -}}
{{- end -}}

{{/* The names of the classes whose workers call a server, and of the others. Answers JSON: {"server": [], "database": []}. */}}
{{- define "pleat.classesByReach" -}}
{{- $out := dict "server" list "database" list -}}
{{- range .Values.workers -}}
{{- $w := include "pleat.worker" (dict "root" $ "worker" .) | fromJson -}}
{{- $reach := ternary "server" "database" (not (empty $w.tokenSecret.name)) -}}
{{- $_ := set $out $reach (append (get $out $reach) .class.name) -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/* Settings of a process as a file. Takes a dict of root and own. Only the hook of the chart migrates. */}}
{{- define "pleat.settings" -}}
{{- $fixed := dict "migrate" false -}}
{{- if .root.Values.metrics.enabled -}}
{{- $_ := set $fixed "metrics-listen" (printf "0.0.0.0:%d" (int .root.Values.metrics.port)) -}}
{{- end -}}
{{- merge $fixed (deepCopy .own) (deepCopy .root.Values.config) | toYaml -}}
{{- end -}}

{{/* An entry of workers with the defaults. Takes a dict of root and worker; answers JSON. */}}
{{- define "pleat.worker" -}}
{{- mergeOverwrite (deepCopy .root.Values.workerDefaults) (deepCopy .worker) | toJson -}}
{{- end -}}

{{/* A size of Pleat (8GiB) as one of Kubernetes (8Gi). */}}
{{- define "pleat.quantity" -}}
{{- . | replace " " "" | trimSuffix "B" | replace "KB" "k" | replace "K" "k" | replace "ki" "Ki" -}}
{{- end -}}

{{- define "pleat.labelsOfWorker" -}}
pleat/class: {{ .worker.class.name }}
pleat/reaches: {{ ternary "server" "database" (not (empty .worker.tokenSecret.name)) }}
{{- if .root.Values.metrics.enabled }}
pleat/metrics: "yes"
{{- end }}
{{- with .worker.queueName }}
kueue.x-k8s.io/queue-name: {{ . }}
{{- end }}
{{- end -}}
