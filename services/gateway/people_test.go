package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/persontoken"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/pkg/signature/signaturetest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/internal/bootstrap"
)

const (
	homeOrigin = "http://localhost:7420"
	homeWords  = "four plain words here"
	homeTokens = `{"tokens":[{"name":"worker","role":"agent","token":"worker-worker-worker"},{"name":"hooks","role":"runtime","token":"hooks-hooks-hooks-hooks"},
		{"name":"otto","role":"observer","token":"otto-otto-otto-otto"},{"name":"bot","role":"relay","token":"bot-bot-bot-bot-bot"}]}`
)

// home is a console in front of a real service of people, whose first person has a code.
type home struct {
	t    *testing.T
	g    *Gateway
	code string
}

func newHome(t *testing.T) *home {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	names, err := auth.ParseTokens([]byte(homeTokens))
	if err != nil {
		t.Fatal(err)
	}
	key, log := persontoken.NewKey(), slog.New(slog.DiscardHandler)
	chain := auth.Chain(names, persontoken.New(key, names))
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, Authenticator: chain, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	code := &bootstrap.Code{}
	h := &home{t: t, code: code.Generate(time.Now())}
	service, err := approval.New(approval.Config{Store: st, Logger: log, PersonKey: key, Names: names, Code: code, Address: func() string { return "http://127.0.0.1:7420" }})
	if err != nil {
		t.Fatal(err)
	}
	service.Register(server.GRPC())
	server.SetServing(true)
	local := server.Local(rpc.ClientConfig{})
	h.g = open(t, Config{Engine: local, Policy: local, State: local, Approval: local, Tokens: chain, Logger: log})
	return h
}

// pageView is what a page learns, and its cookie.
type pageView struct {
	Authenticated bool     `json:"authenticated"`
	Name          string   `json:"name"`
	Roles         []string `json:"roles"`
	CSRF          string   `json:"csrf"`
	Code          string   `json:"code"`
	Detail        string   `json:"detail"`
	cookie        string
}

// post sends what a page would, from an origin.
func (h *home) post(origin, path string, body any) (int, []byte, *http.Cookie) {
	h.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, homeOrigin+path, bytes.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", origin)
	w := httptest.NewRecorder()
	h.g.handler.ServeHTTP(w, r)
	var cookie *http.Cookie
	if given := w.Result().Cookies(); len(given) == 1 {
		cookie = given[0]
	}
	return w.Code, w.Body.Bytes(), cookie
}

func (h *home) enter(body any) (int, pageView) {
	h.t.Helper()
	status, text, cookie := h.post(homeOrigin, "/ui/session", body)
	var v pageView
	if err := json.Unmarshal(text, &v); err != nil {
		h.t.Fatalf("%s: %v", text, err)
	}
	if cookie != nil {
		v.cookie = cookie.Name + "=" + cookie.Value
	}
	return status, v
}

// call asks the API as a page of a session does.
func (h *home) call(v pageView, method, path string) int {
	h.t.Helper()
	return ask(h.g, method, homeOrigin+path, "", "Cookie", v.cookie, "X-Interlock-CSRF", v.CSRF, "Origin", homeOrigin).Code
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// challenge returns the id and the bytes of one.
func (h *home) challenge() (id string, bytes []byte) {
	h.t.Helper()
	status, body, _ := h.post(homeOrigin, "/ui/session/challenge", nil)
	var c struct {
		ID        string `json:"challenge_id"`
		Challenge string `json:"challenge"`
	}
	err := json.Unmarshal(body, &c)
	if err == nil {
		bytes, err = base64.RawURLEncoding.DecodeString(c.Challenge)
	}
	if err != nil || status != http.StatusOK {
		h.t.Fatalf("%d %s: %v", status, body, err)
	}
	return c.ID, bytes
}

type object map[string]any

func (h *home) registers(code, name string, p *signaturetest.Passkey) object {
	h.t.Helper()
	id, challenge := h.challenge()
	made := p.Register(challenge)
	return object{"register": object{
		"code": code, "person": name, "label": "console", "challenge_id": id,
		"client_data_json": text(made.ClientDataJSON), "attestation_object": text(made.AttestationObject),
	}}
}

func (h *home) signs(p *signaturetest.Passkey) object {
	h.t.Helper()
	id, challenge := h.challenge()
	made := p.Sign(challenge)
	return object{"passkey": object{
		"challenge_id": id, "credential_id": text(made.CredentialID), "authenticator_data": text(made.AuthenticatorData),
		"client_data_json": text(made.ClientDataJSON), "signature": text(made.Signature),
	}}
}

// A person registers a passkey by the code, once, logs out, and logs in by it (S23.11, S23.13).
func TestPeopleLogInToTheConsoleByPasskey(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	key := signaturetest.NewPasskey(t, "localhost", homeOrigin, signature.ES256)
	if status, v := h.enter(h.registers("AAAAA-AAAAA", "ann", key)); status != http.StatusUnauthorized || v.cookie != "" {
		t.Errorf("a wrong code: %d %+v", status, v)
	}
	if status, body, cookie := h.post("http://localhost:9999", "/ui/session", h.registers(h.code, "ann", key)); status != http.StatusForbidden || cookie != nil {
		t.Errorf("another origin: %d %s", status, body)
	}
	elsewhere := signaturetest.NewPasskey(t, "localhost", "http://localhost:9999", signature.ES256)
	if status, v := h.enter(h.registers(h.code, "ann", elsewhere)); status != http.StatusBadRequest || v.cookie != "" {
		t.Errorf("a passkey of another origin: %d %+v", status, v)
	}
	status, v := h.enter(h.registers(h.code, "ann", key))
	if status != http.StatusOK || v.Name != "ann" || strings.Join(v.Roles, " ") != "approver operator root" {
		t.Fatalf("%d %+v", status, v)
	}
	if status := h.call(v, http.MethodGet, "/ui/api/v1/approvals"); status != http.StatusOK {
		t.Errorf("the person reads approvals: %d", status)
	}
	if status, v := h.enter(h.registers(h.code, "eve", signaturetest.NewPasskey(t, "localhost", homeOrigin, signature.ES256))); status != http.StatusUnauthorized || v.cookie != "" {
		t.Errorf("the code a second time: %d %+v", status, v)
	}
	if status := h.call(v, http.MethodDelete, "/ui/session"); status != http.StatusOK {
		t.Errorf("log out: %d", status)
	}
	if status := h.call(v, http.MethodGet, "/ui/api/v1/approvals"); status != http.StatusUnauthorized {
		t.Errorf("after the log-out: %d", status)
	}
	proof := h.signs(key)
	if status, v = h.enter(proof); status != http.StatusOK || v.Name != "ann" {
		t.Errorf("by passkey: %d %+v", status, v)
	}
	if status := h.call(v, http.MethodGet, "/ui/api/v1/approvals"); status != http.StatusOK {
		t.Errorf("the person reads approvals: %d", status)
	}
	if status, v = h.enter(proof); status != http.StatusUnauthorized || v.cookie != "" {
		t.Errorf("the proof a second time: %d %+v", status, v)
	}
	if status, v = h.enter(h.signs(elsewhere)); status != http.StatusUnauthorized || v.cookie != "" {
		t.Errorf("a key that is not known: %d %+v", status, v)
	}
}

// A wrong passphrase says nothing of who there is, and counts for its name (S23.11).
func TestPeopleLogInToTheConsoleByPassphrase(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	register := object{"register": object{"code": h.code, "person": "ann", "passphrase": homeWords}}
	if status, v := h.enter(register); status != http.StatusOK || v.Name != "ann" {
		t.Fatalf("%d %+v", status, v)
	}
	if status, v := h.enter(object{"person": "ann", "passphrase": homeWords}); status != http.StatusOK || v.Name != "ann" {
		t.Fatalf("%d %+v", status, v)
	}
	_, wrong := h.enter(object{"person": "ann", "passphrase": "five plain words are wrong"})
	_, unknown := h.enter(object{"person": "bob", "passphrase": homeWords})
	if wrong.Code != "UNAUTHENTICATED" || wrong.Detail != unknown.Detail || wrong.Code != unknown.Code {
		t.Errorf("a wrong passphrase is told %+v, and an unknown name %+v", wrong, unknown)
	}
	var status int
	for range 30 {
		if status, wrong = h.enter(object{"person": "ann", "passphrase": "five plain words are wrong"}); status != http.StatusUnauthorized {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("many wrong passphrases: %d %+v", status, wrong)
	}
}
