{{- define "leafid.name" -}}
{{- .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "leafid.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "leafid.selectorLabels" -}}
app.kubernetes.io/name: {{ include "leafid.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "leafid.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{ include "leafid.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "leafid.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "leafid.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* What cannot work is refused here, and not by pods that restart. */ -}}
{{- define "leafid.check" -}}
{{- if not (has .Values.kind (list "StatefulSet" "Deployment")) -}}
{{- fail (printf "kind is %s: it has to be StatefulSet or Deployment" .Values.kind) -}}
{{- end -}}
{{- if not .Values.store -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- fail "several replicas need a store: set store to the URL of a database, or replicas to 1" -}}
{{- end -}}
{{- if eq .Values.kind "Deployment" -}}
{{- fail "a Deployment has no disk for the embedded store, and would issue ids again after each restart: set store, or kind to StatefulSet" -}}
{{- end -}}
{{- end -}}
{{- if not (or .Values.access.existingSecret .Values.tls.clientCa .Values.insecure) -}}
{{- fail "who may call? Set access.existingSecret, tls.clientCa, or insecure to serve all callers" -}}
{{- end -}}
{{- if and .Values.tls.clientCa (not .Values.tls.existingSecret) -}}
{{- fail "tls.clientCa is a key of tls.existingSecret, which is not set" -}}
{{- end -}}
{{- end -}}

{{- define "leafid.env" -}}
- name: LEAFID_HTTP
  value: "0.0.0.0:8080"
- name: LEAFID_RESP
  value: "0.0.0.0:6380"
- name: LEAFID_GRPC
  value: "0.0.0.0:50051"
- name: LEAFID_DATA_DIR
  value: /data
- name: LEAFID_LOG_FORMAT
  value: json
- name: LEAFID_SHUTDOWN_DELAY
  value: {{ .Values.shutdownDelay | quote }}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
# Where the other pods ask for this one's clock.
- name: LEAFID_WORKER_ADDRESS
  value: "$(POD_IP):8080"
{{- if .Values.store }}
- name: LEAFID_STORE
  value: {{ .Values.store | quote }}
{{- end }}
{{- if .Values.storePassword.existingSecret }}
- name: LEAFID_STORE_PASSWORD_FILE
  value: /run/secrets/leafid/store/password
{{- end }}
{{- if .Values.access.existingSecret }}
- name: LEAFID_ACCESS_FILE
  value: /run/secrets/leafid/access/access.toml
{{- end }}
{{- if .Values.insecure }}
- name: LEAFID_INSECURE
  value: "true"
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: LEAFID_TLS_CERT
  value: /run/secrets/leafid/tls/tls.crt
- name: LEAFID_TLS_KEY
  value: /run/secrets/leafid/tls/tls.key
{{- if .Values.tls.clientCa }}
- name: LEAFID_TLS_CLIENT_CA
  value: /run/secrets/leafid/tls/{{ .Values.tls.clientCa }}
{{- end }}
{{- end }}
{{- range $key, $value := .Values.settings }}
- name: LEAFID_{{ $key | upper | replace "-" "_" }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{- define "leafid.podTemplate" -}}
metadata:
  labels:
    {{- include "leafid.selectorLabels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "leafid.serviceAccountName" . }}
  automountServiceAccountToken: false
  # They would set variables that look like settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: leafid
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        {{- include "leafid.env" . | nindent 8 }}
      ports:
        - {name: http, containerPort: 8080}
        - {name: resp, containerPort: 6380}
        - {name: grpc, containerPort: 50051}
      {{- $scheme := ternary "HTTPS" "HTTP" (ne .Values.tls.existingSecret "") }}
      {{- if .Values.tls.clientCa }}
      # The kubelet has no client certificate, so only whether the port is open can be seen.
      startupProbe:
        tcpSocket: {port: http}
        periodSeconds: 2
        failureThreshold: 30
      readinessProbe:
        tcpSocket: {port: http}
        periodSeconds: 2
      {{- else }}
      # A server waits for its store for as long as it takes, and is alive meanwhile.
      livenessProbe:
        httpGet: {path: /livez, port: http, scheme: {{ $scheme }}}
        periodSeconds: 10
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
        periodSeconds: 2
        failureThreshold: 2
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: data, mountPath: /data}
        {{- if .Values.storePassword.existingSecret }}
        - {name: store-password, mountPath: /run/secrets/leafid/store, readOnly: true}
        {{- end }}
        {{- if .Values.access.existingSecret }}
        - {name: access, mountPath: /run/secrets/leafid/access, readOnly: true}
        {{- end }}
        {{- if .Values.tls.existingSecret }}
        - {name: tls, mountPath: /run/secrets/leafid/tls, readOnly: true}
        {{- end }}
  volumes:
    {{- if eq .Values.kind "Deployment" }}
    - {name: data, emptyDir: {}}
    {{- end }}
    {{- with .Values.storePassword }}
    {{- if .existingSecret }}
    - name: store-password
      secret:
        secretName: {{ .existingSecret }}
        defaultMode: 0440
        items: [{key: {{ .key | quote }}, path: password}]
    {{- end }}
    {{- end }}
    {{- with .Values.access }}
    {{- if .existingSecret }}
    - name: access
      secret:
        secretName: {{ .existingSecret }}
        defaultMode: 0440
        items: [{key: {{ .key | quote }}, path: access.toml}]
    {{- end }}
    {{- end }}
    {{- if .Values.tls.existingSecret }}
    - name: tls
      secret: {secretName: {{ .Values.tls.existingSecret }}, defaultMode: 0440}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
