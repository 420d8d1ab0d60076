package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/signature/signaturetest"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// rest asks the API with a token, and reads the answer.
func (h *home) rest(method, path, token string, body, into any) int {
	h.t.Helper()
	var text []byte
	var headers []string
	if token != "" {
		headers = append(headers, "Authorization", "Bearer "+token)
	}
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			h.t.Fatal(err)
		}
		headers = append(headers, "Content-Type", "application/json")
	}
	rec := ask(h.g, method, homeOrigin+path, string(text), headers...)
	if into != nil && rec.Code < 300 {
		if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
			h.t.Fatalf("%s %s: %d %s: %v", method, path, rec.Code, rec.Body, err)
		}
	}
	return rec.Code
}

func roleToken(t *testing.T, l jsonview.Login, role auth.Role) string {
	t.Helper()
	for _, given := range l.Tokens {
		if given.Role == string(role) {
			return given.Token
		}
	}
	t.Fatalf("%s has no token of the role %s", l.Person, role)
	return ""
}

// bySSH logs a person in as a program does.
func (h *home) bySSH(key *signaturetest.SSH) (l jsonview.Login, status int) {
	h.t.Helper()
	var c jsonview.Challenge
	if status := h.rest("POST", "/v1/login", "", nil, &c); status != http.StatusOK {
		h.t.Fatalf("a challenge: %d", status)
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Challenge)
	if err != nil {
		h.t.Fatal(err)
	}
	answer := object{"challenge_id": c.ChallengeID, "ssh": object{"public_key": key.Public(), "signature": string(key.Sign("interlock-login", text))}}
	status = h.rest("POST", "/v1/login/answer", "", answer, &l)
	if again := h.rest("POST", "/v1/login/answer", "", answer, nil); again != http.StatusUnauthorized {
		h.t.Errorf("the answer a second time: %d", again)
	}
	return l, status
}

// People are kept and log in over REST, as S23.11 and S23.12 say (S24.1, S24.2).
func TestPeopleOverREST(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var first jsonview.Login
	register := object{"code": h.code, "person": "ann", "key": object{"passphrase": homeWords}}
	if status := h.rest("POST", "/v1/login/register", "", register, &first); status != http.StatusOK || first.Person != "ann" || first.Presence != "passphrase" {
		t.Fatalf("%d %+v", status, first)
	}
	operator := roleToken(t, first, auth.Operator)
	var bob jsonview.RegisteredPerson
	spec := object{"name": "bob", "roles": []string{"approver"}, "identities": []string{"slack:T01/U02"}}
	if status := h.rest("POST", "/v1/people", operator, spec, &bob); status != http.StatusCreated || bob.Name != "bob" || len(bob.Keys) != 0 {
		t.Fatalf("%d %+v", status, bob)
	}
	var code jsonview.Invitation
	if status := h.rest("POST", "/v1/people/bob/invitation", operator, nil, &code); status != http.StatusCreated || code.Person != "bob" {
		t.Fatalf("%d %+v", status, code)
	}
	touched, plain := signaturetest.NewSSH(t, "sk-ssh-ed25519@openssh.com"), signaturetest.NewSSH(t, "ssh-ed25519")
	var second jsonview.Login
	invited := object{"code": code.Code, "key": object{"ssh_public_key": touched.Public(), "label": "blue"}}
	if status := h.rest("POST", "/v1/login/register", "", invited, &second); status != http.StatusOK || second.Person != "bob" {
		t.Fatalf("%d %+v", status, second)
	}
	if status := h.rest("POST", "/v1/login/register", "", invited, nil); status != http.StatusUnauthorized {
		t.Errorf("the code a second time: %d", status)
	}
	l, status := h.bySSH(touched)
	if status != http.StatusOK || l.Person != "bob" || l.Presence != "touch" || !l.ExpiresAt.Before(l.EndsAt) {
		t.Fatalf("by SSH: %d %+v", status, l)
	}
	if _, status := h.bySSH(plain); status != http.StatusUnauthorized {
		t.Errorf("by a key of no person: %d", status)
	}
	var renewed jsonview.Login
	if status := h.rest("POST", "/v1/login/renew", roleToken(t, l, auth.Approver), object{}, &renewed); status != http.StatusOK || renewed.Person != "bob" {
		t.Errorf("renewed: %d %+v", status, renewed)
	}
	// A person adds and removes keys of their own; an operator vouches for an SSH key, and sets no passphrase.
	own := roleToken(t, renewed, auth.Approver)
	if status := h.rest("POST", "/v1/people/bob/keys", own, object{"ssh_public_key": plain.Public()}, &bob); status != http.StatusCreated || len(bob.Keys) != 2 {
		t.Fatalf("%d %+v", status, bob)
	}
	if status := h.rest("DELETE", "/v1/people/bob/keys/"+strings.ReplaceAll(bob.Keys[1].KeyID, "/", "%2F"), own, nil, &bob); status != http.StatusOK || len(bob.Keys) != 1 {
		t.Errorf("%d %+v", status, bob)
	}
	if status := h.rest("POST", "/v1/people/bob/keys", operator, object{"passphrase": homeWords}, nil); status != http.StatusForbidden {
		t.Errorf("an operator sets the passphrase of another: %d", status)
	}
	if status := h.rest("PUT", "/v1/people/bob", own, object{"name": "bob", "roles": []string{"operator"}}, nil); status != http.StatusForbidden {
		t.Errorf("an approver makes himself an operator: %d", status)
	}
	if status := h.rest("DELETE", "/v1/people/ann", roleToken(t, first, auth.Root), nil, nil); status != http.StatusConflict {
		t.Errorf("the last operator: %d", status)
	}
	if status := h.rest("DELETE", "/v1/people/bob", operator, nil, nil); status != http.StatusNoContent {
		t.Errorf("%d", status)
	}
	if status := h.rest("POST", "/v1/login/renew", own, object{}, nil); status != http.StatusUnauthorized {
		t.Errorf("a person who is gone renews: %d", status)
	}
}

// Agents, their runtimes, observers and relays read and change no person, and mint no log-in (S24.1).
func TestWhoMayNotKeepPeople(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var first jsonview.Login
	h.rest("POST", "/v1/login/register", "", object{"code": h.code, "person": "ann", "key": object{"passphrase": homeWords}}, &first)
	key := signaturetest.NewSSH(t, "ssh-ed25519").Public()
	routes := []struct {
		method, path string
		body         any
	}{
		{"POST", "/v1/people", object{"name": "eve", "roles": []string{"operator"}}},
		{"GET", "/v1/people", nil},
		{"GET", "/v1/people/ann", nil},
		{"PUT", "/v1/people/ann", object{"name": "ann", "roles": []string{"observer"}}},
		{"DELETE", "/v1/people/ann", nil},
		{"POST", "/v1/people/ann/invitation", nil},
		{"POST", "/v1/people/ann/keys", object{"ssh_public_key": key}},
		{"DELETE", "/v1/people/ann/keys/passphrase", nil},
		{"POST", "/v1/login/renew", object{}},
	}
	// A role of people renews a log-in of its own, which a token of a file has not.
	refusedOtherwise := map[string]int{"otto-otto-otto-otto/v1/login/renew": http.StatusConflict}
	for _, token := range []string{"worker-worker-worker", "hooks-hooks-hooks-hooks", "otto-otto-otto-otto", "bot-bot-bot-bot-bot", ""} {
		for _, r := range routes {
			if status := h.rest(r.method, r.path, token, r.body, nil); status != http.StatusForbidden && status != refusedOtherwise[token+r.path] && (token != "" || status != http.StatusUnauthorized) {
				t.Errorf("%s %s with %q: %d", r.method, r.path, token, status)
			}
		}
	}
	var ann jsonview.RegisteredPerson
	if status := h.rest("GET", "/v1/people/ann", roleToken(t, first, auth.Operator), nil, &ann); status != http.StatusOK || ann.Version != 1 || fmt.Sprint(ann.Roles) != "[approver operator root]" {
		t.Errorf("%d %+v", status, ann)
	}
}
