package personread

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/people"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

const issuer = "https://id.example.com"

// tokens is an issuer whose tokens are the names of their principals.
type tokens map[string]auth.Principal

// Authenticate implements auth.Authenticator.
func (t tokens) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	p, ok := t[token]
	if !ok {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return p.Rooted(), nil
}

func signedIn(role auth.Role, subject string, namespaces ...string) auth.Principal {
	p := auth.Principal{
		Name: subject + "@example.com", Role: role, Kind: auth.OIDC, Presence: auth.ByIssuer,
		Human: &auth.Human{Name: subject + "@example.com", Issuer: issuer, Subject: subject, Source: auth.Issuer},
	}
	if len(namespaces) > 0 {
		p.Namespaces = auth.NamespacesOf(namespaces...)
	}
	return p
}

// A caller who logs in at an issuer is the person who is registered with that identity, and has the rights that both
// give (S24.4).
func TestBind(t *testing.T) {
	t.Parallel()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	foreign := signedIn(auth.Approver, "8f")
	foreign.Human = &auth.Human{Name: "x", Issuer: "https://other.example.com", Subject: "8f"}
	agent := signedIn(auth.Agent, "8f")
	agent.Presence, agent.Human = "", nil
	forAnn := signedIn(auth.Agent, "8f") // an agent that acts for her
	forAnn.Presence = ""
	relay := auth.Principal{Name: "bot", Role: auth.Relay, Kind: auth.Static}
	r := New(st)
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r.now = func() time.Time { return clock }
	of := r.Bind(tokens{
		"ann": signedIn(auth.Approver, "8f"), "ann as operator": signedIn(auth.Operator, "8f"), "ann as root": signedIn(auth.Root, "8f"),
		"ann in ops": signedIn(auth.Approver, "8f", "ops", "default"), "ann in lab": signedIn(auth.Approver, "8f", "lab"),
		"bob": signedIn(auth.Operator, "b0"), "foreign": foreign, "agent": agent, "for ann": forAnn, "bot": relay,
	})
	if p, err := of.Authenticate(t.Context(), "ann"); err != nil || p.Person != "" {
		t.Errorf("before she is registered: %+v, %v", p, err)
	}
	book := &people.Book{}
	for _, s := range []people.Spec{
		{Name: "ann", Roles: []auth.Role{auth.Approver}, Namespaces: []string{"default", "prod"}, Identities: []string{"oidc:" + issuer + "/8f"}},
		{Name: "bot", Roles: []auth.Role{auth.Approver}, Identities: []string{"slack:T/8f"}},
	} {
		if _, err := book.Create(s, clock); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(book)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: Key, Expect: store.Absent, Data: data}}}); err != nil {
		t.Fatal(err)
	}
	if p, _ := of.Authenticate(t.Context(), "ann"); p.Person != "" {
		t.Error("a reading counts for less than a second")
	}
	clock = clock.Add(fresh)
	for _, c := range []struct {
		token, person string
		namespaces    auth.Namespaces
		refused       bool
	}{
		{token: "ann", person: "ann", namespaces: "default prod"},
		{token: "ann in ops", person: "ann", namespaces: "default"},
		{token: "ann in lab", refused: true},
		{token: "ann as operator", refused: true},
		{token: "ann as root", refused: true},
		{token: "bob"},
		{token: "foreign"},
		{token: "agent"},
		{token: "for ann"},
		{token: "bot"},
		{token: "unknown", refused: true},
	} {
		p, err := of.Authenticate(t.Context(), c.token)
		if p.Person != c.person || p.Namespaces != c.namespaces || (err != nil) != c.refused || err != nil && !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: %+v, %v", c.token, p, err)
		}
	}
	_ = st.Close()
	clock = clock.Add(fresh)
	if p, err := of.Authenticate(t.Context(), "ann"); err == nil || errors.Is(err, auth.ErrUnauthenticated) || p.Name != "" {
		t.Errorf("without the store: %+v, %v", p, err)
	}
	if p, err := of.Authenticate(t.Context(), "bot"); err != nil || p.Name != "bot" {
		t.Errorf("a caller from no issuer, without the store: %+v, %v", p, err)
	}
	if r.Bind(nil) != nil {
		t.Error("nothing to bind is bound")
	}
}
