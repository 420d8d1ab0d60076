package personread

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/people"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// S25.25: an operator counts by the registers as they are now.
func TestStanding(t *testing.T) {
	t.Parallel()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	person := func(name string, role auth.Role, namespaces ...string) *people.Person {
		return &people.Person{Spec: people.Spec{Name: name, Roles: []auth.Role{role}, Namespaces: namespaces}}
	}
	data, err := json.Marshal(people.Book{People: map[string]*people.Person{
		"ann": person("ann", auth.Operator, "shop"), "bob": person("bob", auth.Approver, "shop"), "rita": person("rita", auth.Root, "default"),
	}})
	if err == nil {
		_, err = st.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: Key, Expect: store.Absent, Data: data}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	file := auth.File{Pepper: strings.Repeat("p", 16)}
	for name, e := range map[string]auth.Entry{
		"lead": {Role: auth.Operator, Namespaces: []string{"shop"}}, "worker": {Role: auth.Agent, Namespaces: []string{"shop"}},
		"old": {Role: auth.Operator, Namespaces: []string{"shop"}, Expires: time.Now().Add(-time.Hour)}, "chief": {Role: auth.Root},
	} {
		e.Name = name
		file.AddHash(e, auth.Mint())
	}
	text, err := file.Encode()
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.ParseTokens(text)
	if err != nil {
		t.Fatal(err)
	}
	static := func(name string) auth.Principal { return auth.Principal{Name: name, Kind: auth.Static} }
	known := func(name string) auth.Principal { return auth.Principal{Name: name, Kind: auth.OfPerson, Person: name} }
	for name, tc := range map[string]struct {
		was       auth.Principal
		namespace string
		why       string
	}{
		"a token":                      {static("lead"), "shop", ""},
		"of root":                      {static("chief"), "shop", ""},
		"of another namespace":         {static("lead"), "bank", "no token"},
		"of another role":              {static("worker"), "shop", "no token"},
		"that has expired":             {static("old"), "shop", "no token"},
		"that is gone":                 {static("gone"), "shop", "no token"},
		"a person":                     {known("ann"), "shop", ""},
		"a person who is root":         {known("rita"), "shop", ""},
		"a person elsewhere":           {known("ann"), "bank", "no rights in namespace bank"},
		"a person of another role":     {known("bob"), "shop", "has not the role operator"},
		"a person who is gone":         {known("gone"), "shop", "not registered"},
		"of an issuer, registered":     {auth.Principal{Name: "x", Kind: auth.OIDC, Person: "bob"}, "shop", "has not the role operator"},
		"of an issuer alone":           {auth.Principal{Name: "x", Kind: auth.OIDC}, "shop", ""},
		"a token with a person":        {auth.Principal{Name: "lead", Kind: auth.Static, Person: "gone"}, "shop", ""},
		"nobody, where all have names": {auth.Principal{Name: auth.AnonymousName}, "shop", "no token"},
	} {
		why, err := Standing{People: New(st), Tokens: tokens}.Counts(t.Context(), tc.namespace, tc.was)
		if err != nil || (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: %q, %v, want %q", name, why, err, tc.why)
		}
	}
	if why, err := (Standing{People: New(st), Anonymous: true}).Counts(t.Context(), "shop", auth.Principal{Name: auth.AnonymousName}); why != "" || err != nil {
		t.Errorf("anonymous: %q, %v", why, err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := (Standing{People: New(st)}).Counts(t.Context(), "shop", known("ann")); err == nil {
		t.Error("without a store a person counts")
	}
}
