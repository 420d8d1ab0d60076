{{/* Names and labels. */}}
{{- define "interlock.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "interlock.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "interlock.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "interlock.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "interlock.selector" -}}
app.kubernetes.io/name: {{ include "interlock.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "interlock.labels" -}}
{{ include "interlock.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: interlock
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The services: key of the values, ports, and whom each calls. All that follows from the call graph is made of this. */}}
{{- define "interlock.services" -}}
engine:
  key: engine
  port: 7431
  calls: [approval, state-store]
  redis: true
policy-enforcer:
  key: policyEnforcer
  port: 7432
  calls: [engine, approval, state-store]
  redis: true
state-store:
  key: stateStore
  port: 7434
  calls: []
  redis: true
approval:
  key: approval
  port: 7435
  calls: [engine]
  redis: true
gateway:
  key: gateway
  port: 7421
  calls: [engine, policy-enforcer, state-store, approval]
  redis: false
{{- end -}}

{{/* The settings of one service: the defaults, and what its own values change. */}}
{{- define "interlock.settings" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (index .root.Values .key | default dict | deepCopy) | toYaml -}}
{{- end -}}

{{- define "interlock.image" -}}
{{- $v := .root.Values -}}
{{- $registry := $v.global.imageRegistry | default .image.registry | default $v.image.registry -}}
{{- $repository := .image.repository | default (printf "%s/%s" $v.image.repository .name) -}}
{{- $name := ternary $repository (printf "%s/%s" $registry $repository) (empty $registry) -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (.image.tag | default $v.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "interlock.pullSecrets" -}}
{{- with .Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "interlock.serviceAccountName" -}}
{{- if .settings.serviceAccount.name -}}
{{- .settings.serviceAccount.name -}}
{{- else if .settings.serviceAccount.create -}}
{{- printf "%s-%s" (include "interlock.fullname" .root) .service -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{/* What Pod Security "restricted" asks for, and more. */}}
{{- define "interlock.podSecurity" -}}
{{- $ids := ternary (dict) (dict "runAsUser" 65532 "runAsGroup" 65532 "fsGroup" 65532) .root.Values.global.openshift -}}
{{- mergeOverwrite (dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault")) $ids (.settings.podSecurityContext | default dict) | toYaml -}}
{{- end -}}

{{- define "interlock.security" -}}
{{- mergeOverwrite (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL"))) (.settings.securityContext | default dict) | toYaml -}}
{{- end -}}

{{- define "interlock.spread" -}}
{{- if .settings.topologySpreadConstraints -}}
{{- toYaml .settings.topologySpreadConstraints -}}
{{- else -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "interlock.selector" $.root | nindent 6 }}
      app.kubernetes.io/component: {{ $.service }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Secrets. */}}
{{- define "interlock.tokensSecret" -}}
{{- .Values.auth.existingSecret | default (printf "%s-tokens" (include "interlock.fullname" .)) -}}
{{- end -}}

{{- define "interlock.tlsSecret" -}}
{{- if eq .root.Values.tls.source "existingSecrets" -}}
{{- index .root.Values.tls.existingSecrets .service -}}
{{- else -}}
{{- printf "%s-%s-tls" (include "interlock.fullname" .root) .service -}}
{{- end -}}
{{- end -}}

{{/* Addresses. */}}
{{- define "interlock.storeURL" -}}
{{- $r := .Values.redis -}}
{{- $scheme := ternary "rediss" "redis" $r.tls.enabled -}}
{{- if .Values.valkey.enabled -}}
{{- printf "redis://%s-valkey:6379/0" (include "interlock.fullname" .) -}}
{{- else if eq $r.topology "sentinel" -}}
{{- printf "%s+sentinel://%s/%s/%d" $scheme $r.address $r.sentinelMaster (int $r.database) -}}
{{- else -}}
{{- printf "%s://%s/%d" $scheme $r.address (int $r.database) -}}
{{- end -}}
{{- end -}}

{{- define "interlock.natsURL" -}}
{{- if .Values.nats.enabled -}}
{{- printf "nats://%s-nats:4222" (include "interlock.fullname" .) -}}
{{- else -}}
{{- .Values.nats.url -}}
{{- end -}}
{{- end -}}

{{- define "interlock.target" -}}
{{- $services := include "interlock.services" .root | fromYaml -}}
{{- printf "dns:///%s-%s:%d" (include "interlock.fullname" .root) .service (int (index $services .service).port) -}}
{{- end -}}

{{/* A value that may differ by service: "{{ .service }}" is engine, policy-enforcer and so on. */}}
{{- define "interlock.ofService" -}}
{{- tpl .text (dict "service" .service "Template" .root.Template) -}}
{{- end -}}

{{/* The flags of one service. */}}
{{- define "interlock.args" -}}
{{- $v := .root.Values -}}
{{- $service := .service -}}
{{- $spec := .spec -}}
- --grpc=:{{ $spec.port }}
- --admin=:9090
- --tokens=/etc/interlock/tokens/tokens.json
- --service-token-file=/etc/interlock/tokens/service
- --token-key=/etc/interlock/tokens/token.key
{{- if $v.auth.personKeySecret }}
- --person-key=/etc/interlock/person/person.key
{{- end }}
{{- with $v.auth.oidc }}
{{- if .issuer }}
- --oidc-issuer={{ .issuer }}
- --oidc-audience={{ .audience }}
- --oidc-role-claim={{ .roleClaim }}
- --oidc-name-claim={{ .nameClaim }}
- --oidc-namespaces={{ join "," .namespaces }}
{{- with .namespaceClaim }}
- --oidc-namespace-claim={{ . }}
{{- end }}
{{- range .roleMap }}
- --oidc-role-map={{ . }}
{{- end }}
{{- with .groupsClaim }}
- --oidc-groups-claim={{ . }}
{{- end }}
{{- range .attributes }}
- --oidc-attributes={{ . }}
{{- end }}
{{- if .caSecret }}
- --oidc-ca=/etc/interlock/oidc/ca.crt
{{- end }}
{{- if and .console.enabled (eq $service "gateway") }}
- --console-oidc
{{- with .console.client }}
- --console-oidc-client={{ . }}
{{- end }}
{{- if .console.existingSecret }}
- --console-oidc-secret-file=/etc/interlock/console/secret
{{- end }}
{{- range .console.scopes }}
- --console-oidc-scope={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq .service "gateway" }}
- --http=:7420
{{- end }}
{{- if not $v.tls.enabled }}
- --insecure-plaintext
{{- else }}
{{- if ne .service "gateway" }}
- --tls-cert=/etc/interlock/tls/tls.crt
- --tls-key=/etc/interlock/tls/tls.key
- --tls-client-ca=/etc/interlock/tls/ca.crt
{{- else if $v.gateway.plaintext }}
- --insecure-plaintext
{{- else }}
{{- $own := ternary "/etc/interlock/gateway-tls" "/etc/interlock/tls" (not (empty $v.gateway.tlsSecret)) }}
- --tls-cert={{ $own }}/tls.crt
- --tls-key={{ $own }}/tls.key
{{- end }}
{{- if $spec.calls }}
- --ca=/etc/interlock/tls/ca.crt
- --client-cert=/etc/interlock/tls/tls.crt
- --client-key=/etc/interlock/tls/tls.key
{{- end }}
{{- end }}
{{- range $spec.calls }}
- --{{ . | replace "policy-enforcer" "policy" | replace "state-store" "state" }}={{ include "interlock.target" (dict "root" $.root "service" .) }}
{{- end }}
{{- if $spec.redis }}
- --store={{ include "interlock.storeURL" .root }}
{{- if not $v.valkey.enabled }}
{{- with $v.redis.username }}
- --store-username={{ include "interlock.ofService" (dict "root" $.root "service" $service "text" .) }}
{{- end }}
{{- if $v.redis.existingSecret }}
- --store-password-file=/etc/interlock/redis/{{ include "interlock.ofService" (dict "root" $.root "service" $service "text" $v.redis.secretKey) }}
{{- end }}
{{- if and $v.redis.tls.enabled $v.redis.tls.existingSecret }}
- --store-ca=/etc/interlock/redis-tls/ca.crt
{{- if $v.redis.tls.clientCert }}
- --store-client-cert=/etc/interlock/redis-tls/tls.crt
- --store-client-key=/etc/interlock/redis-tls/tls.key
{{- end }}
{{- end }}
{{- if $v.redis.wait }}
- --redis-wait={{ int $v.redis.wait }}
{{- end }}
{{- if $v.redis.allowLossy }}
- --allow-lossy-store
{{- end }}
{{- end }}
{{- if $v.nats.streamReplicas }}
- --stream-replicas={{ int $v.nats.streamReplicas }}
{{- end }}
{{- end }}
- --nats-url={{ include "interlock.natsURL" .root }}
{{- if not $v.nats.enabled }}
{{- with $v.nats.username }}
- --nats-username={{ include "interlock.ofService" (dict "root" $.root "service" $service "text" .) }}
{{- end }}
{{- if $v.nats.existingSecret }}
- --nats-{{ ternary "creds" "password-file" (eq $v.nats.kind "creds") }}=/etc/interlock/nats/{{ include "interlock.ofService" (dict "root" $.root "service" $service "text" $v.nats.secretKey) }}
{{- end }}
{{- if $v.nats.tls.existingSecret }}
- --nats-ca=/etc/interlock/nats-tls/ca.crt
{{- if $v.nats.tls.clientCert }}
- --nats-client-cert=/etc/interlock/nats-tls/tls.crt
- --nats-client-key=/etc/interlock/nats-tls/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- if and $v.publicURL (has .service (list "approval" "gateway")) }}
- --public-url={{ $v.publicURL }}
{{- end }}
{{- if and (eq .service "gateway") $v.mcpServers }}
- --mcp-config=/etc/interlock/mcp/servers.json
{{- end }}
{{- include "interlock.rules" (dict "root" .root "services" (list $service)) }}
{{- range .settings.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The flags by which a deployment says what agents and people may do, of the services of one program. */}}
{{- define "interlock.rules" -}}
{{- $v := .root.Values -}}
{{- if and $v.sessions.required (has "engine" .services) }}
- --require-sessions
{{- end }}
{{- if has "policy-enforcer" .services }}
{{- range $v.decisions.logAttributes }}
- --log-attributes={{ . }}
{{- end }}
- --log-inputs={{ $v.decisions.logInputs }}
{{- if $v.breakGlass.fourEyes }}
- --breakglass-four-eyes
{{- end }}
{{- end }}
{{- if has "approval" .services }}
{{- if $v.approvals.webhookSecret }}
- --webhook-secret-file=/etc/interlock/webhook/secret
{{- end }}
{{- range $v.approvals.relays }}
- --relay={{ . }}
{{- end }}
{{- if $v.approvals.relays }}
- --relay-max-danger={{ $v.approvals.relayMaxDanger }}
{{- end }}
{{- end }}
{{- if has "gateway" .services }}
{{- if $v.receipts.existingSecret }}
- --receipt-key=/etc/interlock/receipt/receipt.key
{{- end }}
{{- with $v.gateway.authzen }}
{{- if .humanType }}
- --authzen-human-type={{ .humanType }}
{{- with .humanIssuer }}
- --authzen-human-issuer={{ . }}
{{- end }}
{{- with .groupsProperty }}
- --authzen-groups-property={{ . }}
{{- end }}
{{- range .attributes }}
- --authzen-attributes={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- with $v.gateway.extAuthz }}
{{- if .enabled }}
- --ext-authz
{{- range $name, $path := .servers }}
- --ext-authz-server={{ $name }}={{ $path }}
{{- end }}
{{- with .sessionHeader }}
- --ext-authz-session-header={{ . }}
{{- end }}
{{- with .runHeader }}
- --ext-authz-run-header={{ . }}
{{- end }}
{{- with .tokenHeader }}
- --ext-authz-token-header={{ . }}
{{- end }}
{{- with .forHeader }}
- --ext-authz-for-header={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Receivers of messages about approvals, whose addresses are secrets. */}}
{{- define "interlock.receivers" -}}
{{- with .Values.approvals.webhookSecret }}
- name: INTERLOCK_WEBHOOKS
  valueFrom: {secretKeyRef: {name: {{ . }}, key: urls}}
{{- end }}
{{- with .Values.approvals.notifySecret }}
- name: INTERLOCK_NOTIFY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: channels}}
{{- end }}
{{- end -}}

{{/* Secrets of these flags: name, Secret, as in interlock.mounts. */}}
{{- define "interlock.rulesMounts" -}}
{{- $v := .root.Values -}}
{{- if has "approval" .services }}
{{- with $v.approvals.webhookSecret }}
webhook: {{ . }}
{{- end }}
{{- with $v.approvals.notifySecret }}
notify: {{ . }}
{{- end }}
{{- end }}
{{- if and $v.receipts.existingSecret (has "gateway" .services) }}
receipt: {{ $v.receipts.existingSecret }}
{{- end }}
{{- end -}}

{{/* Secrets and settings of one service: name, Secret, mounted at /etc/interlock/NAME. */}}
{{- define "interlock.mounts" -}}
{{- $v := .root.Values -}}
tokens: {{ include "interlock.tokensSecret" .root }}
{{- with $v.auth.personKeySecret }}
person: {{ . }}
{{- end }}
{{- include "interlock.rulesMounts" (dict "root" .root "services" (list .service)) }}
{{- if $v.tls.enabled }}
tls: {{ include "interlock.tlsSecret" . }}
{{- end }}
{{- if and (eq .service "gateway") $v.tls.enabled $v.gateway.tlsSecret (not $v.gateway.plaintext) }}
gateway-tls: {{ $v.gateway.tlsSecret }}
{{- end }}
{{- if and .spec.redis (not $v.valkey.enabled) }}
{{- with $v.redis.existingSecret }}
redis: {{ . }}
{{- end }}
{{- if and $v.redis.tls.enabled $v.redis.tls.existingSecret }}
redis-tls: {{ $v.redis.tls.existingSecret }}
{{- end }}
{{- end }}
{{- if not $v.nats.enabled }}
{{- with $v.nats.existingSecret }}
nats: {{ . }}
{{- end }}
{{- with $v.nats.tls.existingSecret }}
nats-tls: {{ . }}
{{- end }}
{{- end }}
{{- if and $v.auth.oidc.issuer $v.auth.oidc.caSecret }}
oidc: {{ $v.auth.oidc.caSecret }}
{{- end }}
{{- if and (eq .service "gateway") $v.auth.oidc.issuer $v.auth.oidc.console.enabled $v.auth.oidc.console.existingSecret }}
console: {{ $v.auth.oidc.console.existingSecret }}
{{- end }}
{{- end -}}

{{/* Ports of Redis and NATS, from their addresses. */}}
{{- define "interlock.redisPorts" -}}
{{- $default := ternary "26379" "6379" (eq .Values.redis.topology "sentinel") -}}
{{- $ports := list -}}
{{- range splitList "," .Values.redis.address -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" (trim .) | trimPrefix ":" | default $default | int) -}}
{{- end -}}
{{- if eq .Values.redis.topology "sentinel" -}}
{{- $ports = append $ports 6379 -}}
{{- end -}}
{{- $ports | uniq | toYaml -}}
{{- end -}}

{{- define "interlock.natsPorts" -}}
{{- $ports := list -}}
{{- range splitList "," .Values.nats.url -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" (trim . | trimSuffix "/") | trimPrefix ":" | default "4222" | int) -}}
{{- end -}}
{{- $ports | uniq | toYaml -}}
{{- end -}}
