package token

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
)

// apiServer keeps Secrets as one of Kubernetes does, for one service account.
type apiServer struct {
	secrets map[string]map[string]string
	account string
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var secret struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		StringData map[string]string `json:"stringData"`
	}
	err := json.UnmarshalRead(r.Body, &secret)
	_, known := a.secrets[secret.Metadata.Name]
	switch {
	case r.Header.Get("Authorization") != "Bearer account-token":
		http.Error(w, "who are you", http.StatusUnauthorized)
	case r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/team/secrets":
		http.Error(w, "forbidden", http.StatusForbidden)
	case err != nil || secret.Kind != "Secret" || secret.Metadata.Labels["app"] != "x":
		http.Error(w, "bad", http.StatusBadRequest)
	case known:
		http.Error(w, "exists", http.StatusConflict)
	default:
		a.secrets[secret.Metadata.Name] = secret.StringData
		w.WriteHeader(http.StatusCreated)
	}
}

func startAPI(t *testing.T) (*apiServer, func(string) string) {
	t.Helper()
	a := &apiServer{secrets: map[string]map[string]string{}, account: t.TempDir()}
	server := httptest.NewTLSServer(a)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, content := range map[string]string{"token": "account-token\n", "namespace": "team", "ca.crt": string(ca)} {
		if err := os.WriteFile(filepath.Join(a.account, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(at.Host)
	if err != nil {
		t.Fatal(err)
	}
	return a, func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}[name]
	}
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	a, env := startAPI(t)
	api, err := inCluster(a.account, env)
	if err != nil {
		t.Fatal(err)
	}
	c := &bootstrapCommand{Secret: "tokens", Label: map[string]string{"app": "x"}}
	if created, err := c.create(t.Context(), api); !created || err != nil {
		t.Fatalf("%v, %v", created, err)
	}
	made := a.secrets["tokens"]
	tokens, err := auth.ParseTokens([]byte(made["tokens.json"]))
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range auth.Roles() {
		who, err := tokens.Authenticate(t.Context(), made[string(role)])
		if err != nil || who.Name != string(role) || who.Role != role || !who.MayCallIn("team") || strings.Contains(made["tokens.json"], made[string(role)]) {
			t.Errorf("the token of %s is that of %+v, %v", role, who, err)
		}
	}
	if len(made) != len(auth.Roles())+3 {
		t.Errorf("the Secret has %d keys", len(made))
	}
	files := t.TempDir()
	for name := range made {
		if err := os.WriteFile(filepath.Join(files, name), []byte(made[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sessiontoken.LoadKey(filepath.Join(files, "token.key")); err != nil {
		t.Error(err)
	}
	token, err := auth.ReadPassword(filepath.Join(files, "service"))
	if who, unknown := tokens.Authenticate(t.Context(), token); who.Role != auth.Service || err != nil || unknown != nil {
		t.Errorf("services are %+v, %v, %v", who, err, unknown)
	}

	// A second time has no effect.
	if created, err := c.create(t.Context(), api); created || err != nil {
		t.Errorf("again: %v, %v", created, err)
	}
	if diff := cmp.Diff(made, a.secrets["tokens"]); diff != "" {
		t.Error(diff)
	}
	api.namespace = "other"
	c.Secret = "more"
	if _, err := c.create(t.Context(), api); err == nil || !strings.Contains(err.Error(), "403: forbidden") {
		t.Errorf("where it may not: %v", err)
	}
}

func TestBootstrapIsForPods(t *testing.T) {
	t.Parallel()
	a, env := startAPI(t)
	if _, err := inCluster(a.account, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "token add") {
		t.Errorf("outside of a cluster: %v", err)
	}
	if _, err := inCluster(t.TempDir(), env); err == nil || !strings.Contains(err.Error(), "automountServiceAccountToken") {
		t.Errorf("without an account: %v", err)
	}
}
