{{/* Resources of a worker: those of the entry, or what its class says that one worker has. */}}
{{- define "pleat.workerResources" -}}
{{- $class := .class -}}
{{- if .resources -}}
{{- toYaml .resources -}}
{{- else -}}
{{- $requests := dict -}}
{{- $limits := dict -}}
{{- with $class.cores }}{{ $_ := set $requests "cpu" (toString .) }}{{ end -}}
{{- with $class.memory -}}
{{- $memory := include "pleat.quantity" . -}}
{{- $_ := set $requests "memory" $memory }}{{ $_ := set $limits "memory" $memory -}}
{{- end -}}
{{- with $class.devices }}{{ $_ := set $limits $.deviceResource (toString .) }}{{ end -}}
{{- dict "requests" $requests "limits" $limits | toYaml -}}
{{- end -}}
{{- end -}}

{{/* The engines of a class that are runner processes, and so have a cache in the image of a worker. */}}
{{- define "pleat.runners" -}}
{{- without .class.engines "mini" "calvados" "analyst" "compare" "null" | toJson -}}
{{- end -}}

{{/* The template of a worker's pods. Takes a dict of root and worker (with the defaults). */}}
{{- define "pleat.workerPod" -}}
{{- $root := .root -}}
{{- $w := .worker -}}
metadata:
  labels:
    {{- include "pleat.labels" (dict "root" $root "component" "worker") | nindent 4 }}
    {{- include "pleat.labelsOfWorker" . | nindent 4 }}
  {{- $annotations := deepCopy $w.podAnnotations }}
  {{- if not $root.Values.keda.enabled }}
  {{- $_ := set $annotations "pleat/config" (include "pleat.checksum" $root) }}
  {{- end }}
  {{- with $annotations }}
  annotations: {{ toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "pleat.pod" $root | nindent 2 }}
  serviceAccountName: {{ include "pleat.serviceAccountName" $root }}
  restartPolicy: {{ ternary "Never" "Always" $root.Values.keda.enabled }}
  # A worker that ends gives its jobs back and stores checkpoints, for which it allows itself a minute.
  terminationGracePeriodSeconds: {{ $w.terminationGracePeriodSeconds }}
  {{- with $w.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $w.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- range $key := list "nodeSelector" "tolerations" "affinity" }}
  {{- with get $w $key }}
  {{ $key }}: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  containers:
    - name: worker
      {{- include "pleat.image" (dict "root" $root "image" $w.image) | nindent 6 }}
      args:
        - worker
        - --class={{ $w.class.name }}
        - --slots={{ $w.slots }}
        {{- if $root.Values.keda.enabled }}
        - --idle-exit={{ $w.idleExit }}
        {{- with $w.class.walltime }}
        - --until={{ . }}
        {{- end }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - {name: PLEAT_CONFIG, value: /etc/pleat/worker-{{ $w.class.name }}.yaml}
        # The image of a worker names its engine; the class decides.
        - {name: PLEAT_ENGINES, value: {{ join "," $w.class.engines | quote }}}
        {{- $env := ternary "pleat.callerEnv" "pleat.nodeEnv" (not (empty $w.tokenSecret.name)) }}
        {{- include $env (dict "root" $root "more" (list "PLEAT_CHAT_KEY" "PLEAT_NIM_KEY" "PLEAT_MSA_KEY"))
          | nindent 8 }}
        {{- with $w.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- include "pleat.container" $root | nindent 6 }}
      resources: {{ include "pleat.workerResources" $w | nindent 8 }}
      {{- if $root.Values.metrics.enabled }}
      ports: [{name: metrics, containerPort: {{ $root.Values.metrics.port }}}]
      # A worker answers while it loads a model; what it needs to start takes seconds.
      startupProbe: {httpGet: {path: /healthz, port: metrics}, periodSeconds: 2, failureThreshold: 60}
      livenessProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 20
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe: {httpGet: {path: /readyz, port: metrics}, periodSeconds: 10, timeoutSeconds: 5}
      {{- end }}
      volumeMounts:
        - {name: config, mountPath: /etc/pleat, readOnly: true}
        {{- if $w.tokenSecret.name }}
        - {name: token, mountPath: /etc/pleat-token, readOnly: true}
        {{- end }}
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        {{- range include "pleat.runners" $w | fromJsonArray }}
        - {name: data, mountPath: /opt/pleat/engines/{{ . }}/cache, subPath: cache-{{ . }}}
        {{- end }}
        {{- if $root.Values.weights.enabled }}
        - {name: weights, mountPath: /weights, readOnly: true}
        {{- end }}
        {{- if $w.sharedMemory }}
        - {name: shm, mountPath: /dev/shm}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "pleat.fullname" $root }}
        {{- if $w.tokenSecret.name }}
        items: [{key: worker-{{ $w.class.name }}.yaml, path: worker-{{ $w.class.name }}.yaml}]
        {{- end }}
    {{- with $w.tokenSecret }}
    {{- if .name }}
    # The pod waits until the Secret exists. The group of the pod may read the file.
    - name: token
      secret:
        secretName: {{ .name }}
        items: [{key: {{ default $w.class.name .key }}, path: token}]
        defaultMode: 0440
    {{- end }}
    {{- end }}
    {{- range $name := list "data" "tmp" }}
    - name: {{ $name }}
      emptyDir: {{ if $w.scratch }}{sizeLimit: {{ $w.scratch }}}{{ else }}{}{{ end }}
    {{- end }}
    {{- if $root.Values.weights.enabled }}
    - name: weights
      persistentVolumeClaim: {claimName: {{ include "pleat.claimName" $root }}, readOnly: true}
    {{- end }}
    {{- with $w.sharedMemory }}
    - name: shm
      emptyDir: {medium: Memory, sizeLimit: {{ . }}}
    {{- end }}
{{- end -}}

{{/* Changes when the settings or the chart's Secret change, so that Deployments start new pods. */}}
{{- define "pleat.checksum" -}}
{{- printf "%s%s" (include "pleat.configData" .) (.Values.secret.values | toJson) | sha256sum -}}
{{- end -}}

{{/* The files of settings and classes. */}}
{{- define "pleat.configData" -}}
{{- $own := deepCopy .Values.server.config -}}
{{- $_ := set $own "work" false -}}
{{- $_ := set $own "addr" (default (printf "0.0.0.0:%d" (int .Values.server.port)) $own.addr) -}}
server.yaml: |
  {{- include "pleat.settings" (dict "root" . "own" $own) | nindent 2 }}
classes.yaml: |
  classes:
    {{- range .Values.workers }}
    - {{ toYaml .class | nindent 6 | trim }}
    {{- else }} []
    {{- end }}
{{- range .Values.workers }}
{{- $w := include "pleat.worker" (dict "root" $ "worker" .) | fromJson }}
worker-{{ .class.name }}.yaml: |
  {{- if $w.tokenSecret.name }}
  {{- include "pleat.callerSettings" (dict "root" $ "worker" $w) | nindent 2 }}
  {{- else }}
  {{- include "pleat.settings" (dict "root" $ "own" $w.config) | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}
