// Package chart tests helm/interlock without a cluster: everything that it renders is decoded
// strictly, judged by Pod Security, and compared with the architecture.
package chart

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

const chartDir = "../../helm/interlock"

func load(t *testing.T) *chartv2.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns the manifests of the chart with the values of a YAML text, by the name of
// the template.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	c := load(t)
	all, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: "il", Namespace: "ns", Revision: 1, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// matrix is the values files that must work.
func matrix(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values: %v", err)
	}
	values := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		values[strings.TrimSuffix(filepath.Base(file), ".yaml")] = string(data)
	}
	return values
}

func TestLint(t *testing.T) {
	t.Parallel()
	for name, text := range matrix(t) {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(chartDir, values, "ns").Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

// volatile is what differs from render to render: keys and certificates.
var volatile = regexp.MustCompile(`(?m)^(\s+(?:tls\.(?:crt|key)|ca\.crt): ).*$`)

// What users get by default is in testdata/golden: a change of the chart is a change there.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"trial", "production", "all-in-one", "definitions"} {
		manifests, err := render(t, matrix(t)[name])
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		names := []string{}
		for template := range manifests {
			names = append(names, template)
		}
		slices.Sort(names)
		for _, template := range names {
			if body := strings.TrimSpace(manifests[template]); body != "" {
				if strings.HasSuffix(template, "NOTES.txt") {
					body = "# " + strings.ReplaceAll(body, "\n", "\n# ")
				}
				text.WriteString("---\n# " + strings.TrimPrefix(template, "interlock/templates/") + "\n" + volatile.ReplaceAllString(body, "${1}(random)") + "\n")
			}
		}
		file := filepath.Join("testdata", "golden", name+".txt")
		if *update {
			if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := text.String(); got != string(want) {
			t.Errorf("%s: the chart renders something else than %s; run go test ./... -update in tools/chart, and read the difference:\n%s",
				name, file, firstDifference(string(want), got))
		}
	}
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "-" + a[i] + "\n+" + b[i]
		}
	}
	return "one is longer"
}

// Values that cannot work are refused, by the schema or in words.
func TestBadValues(t *testing.T) {
	t.Parallel()
	trial := "valkey: {enabled: true}\nnats: {enabled: true}\n"
	for name, tt := range map[string]struct{ values, says string }{
		"nothing":                {"{}", "redis.address is missing"},
		"no NATS":                {"redis: {address: 'r:6379'}", "nats.url is missing"},
		"two stores":             {"valkey: {enabled: true}\nredis: {address: 'r:6379'}\nnats: {enabled: true}", "give one of them"},
		"unknown key":            {trial + "engin: {replicas: 3}", "engin"},
		"unknown key below":      {trial + "engine: {replica: 3}", "replica"},
		"text for a number":      {trial + "engine: {replicas: three}", "replicas"},
		"negative replicas":      {trial + "engine: {replicas: -1}", "replicas"},
		"mode":                   {trial + "mode: cluster", "mode"},
		"inline password":        {"redis: {address: 'user:secret@r:6379'}\nnats: {enabled: true}", "must not contain a password"},
		"password of NATS":       {"valkey: {enabled: true}\nnats: {url: 'nats://a:b@n:4222'}", "must not contain a password"},
		"sentinel":               {"redis: {address: 's:26379', topology: sentinel}\nnats: {enabled: true}", "sentinelMaster"},
		"cluster":                {"redis: {address: 's:6379', topology: cluster}\nnats: {enabled: true}", "topology"},
		"nobody may call":        {trial + "auth: {bootstrap: false}", "nobody could call"},
		"console, no issuer":     {trial + "auth: {oidc: {console: {enabled: true}}}", "auth.oidc.console.enabled"},
		"OIDC, no audience":      {trial + "auth: {oidc: {issuer: 'https://id.example.com'}}", "auth.oidc.audience"},
		"OIDC without TLS":       {trial + "auth: {oidc: {issuer: 'http://id.example.com', audience: a}}", "issuer"},
		"no issuer":              {trial + "tls: {source: certManager}", "issuerRef is missing"},
		"no certificates":        {trial + "tls: {source: existingSecrets, existingSecrets: {engine: e}}", "tls.existingSecrets.gateway is missing"},
		"two certificates":       {trial + "gateway: {tlsSecret: a, plaintext: true}", "give one of them"},
		"all in one, a store":    {"mode: allInOne\nvalkey: {enabled: true}", "has its own store"},
		"all in one, replicas":   {"mode: allInOne\nallInOne: {replicas: 2}", "replica"},
		"autoscaling":            {trial + "engine: {autoscaling: {enabled: true, minReplicas: 9}}", "greater than maxReplicas"},
		"ingress, no host":       {trial + "gateway: {ingress: {enabled: true}}", "gateway.ingress.hosts"},
		"route, no gateway":      {trial + "gateway: {httpRoute: {enabled: true}}", "parentRefs"},
		"log level":              {trial + "logLevel: verbose", "logLevel"},
		"user of NATS":           {"valkey: {enabled: true}\nnats: {url: 'nats://n:4222', username: a}", "nats.username needs"},
		"password of nobody":     {"valkey: {enabled: true}\nnats: {url: 'nats://n:4222', existingSecret: s}", "nats.username is missing"},
		"claims, no issuer":      {trial + "auth: {oidc: {namespaceClaim: teams}}", "auth.oidc.issuer is missing"},
		"namespace":              {trial + "auth: {oidc: {issuer: 'https://id.example.com', audience: a, namespaces: [Shop]}}", "namespaces"},
		"no namespaces":          {trial + "auth: {oidc: {issuer: 'https://id.example.com', audience: a, namespaces: []}}", "namespaces"},
		"all in one, OIDC":       {"mode: allInOne\nauth: {oidc: {issuer: 'https://id.example.com', audience: a}}", "mode=distributed"},
		"all in one, people":     {"mode: allInOne\nauth: {personKeySecret: p}", "mode=distributed"},
		"grants, no key":         {trial + "breakGlass: {fourEyes: true}", "receipts.existingSecret"},
		"relay, no slash":        {trial + "approvals: {relays: ['slackbot=slack:T01']}", "relays"},
		"relay, no danger":       {trial + "approvals: {relayMaxDanger: ''}", "relayMaxDanger"},
		"attributes in one":      {trial + "decisions: {logAttributes: ['team,grade']}", "logAttributes"},
		"many attributes":        {trial + "decisions: {logAttributes: [a, b, c, d, e, f, g, h, i]}", "logAttributes"},
		"humans of no type":      {trial + "gateway: {authzen: {attributes: [team]}}", "gateway.authzen.humanType"},
		"ext_authz is off":       {trial + "gateway: {extAuthz: {forHeader: x-interlock-for}}", "gateway.extAuthz.enabled"},
		"path of ext_authz":      {trial + "gateway: {extAuthz: {enabled: true, servers: {pay: pay}}}", "servers"},
		"definitions, no token":  {trial + "definitions: {configMap: c}", "definitions.tokenSecret"},
		"definitions, elsewhere": {trial + "definitions: {configMap: c, tokenSecret: t}\ngateway: {tlsSecret: a}", "publicURL is missing"},
		"digest":                 {trial + "engine: {image: {digest: latest}}", "digest"},
	} {
		if _, err := render(t, tt.values); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: no %q in: %v", name, tt.says, err)
		}
	}
}

// No secret is in the values: they end in releases that many can read.
func TestNoSecretInValues(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?mi)^\s*(password|token|secret):`).FindString(string(data)); found != "" {
		t.Errorf("values.yaml has %q: name a Secret instead", strings.TrimSpace(found))
	}
}
