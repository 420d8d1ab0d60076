package auth_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/auth"
)

const (
	tokenA = "aaaaaaaaaaaaaaaaaaaaaaaa"
	tokenB = "bbbbbbbbbbbbbbbbbbbbbbbb"
)

func who(t *testing.T, tokens *auth.Tokens, token string) auth.Principal {
	t.Helper()
	p, err := tokens.Authenticate(t.Context(), token)
	if err != nil && (!errors.Is(err, auth.ErrUnauthenticated) || p != (auth.Principal{})) {
		t.Fatalf("got %+v, %v", p, err)
	}
	if p != (auth.Principal{}) && (p.Kind != auth.Static || len(p.TokenID) != 16 || strings.Contains(token, p.TokenID)) {
		t.Errorf("the token of %s is named %q, of kind %q", p.Name, p.TokenID, p.Kind)
	}
	p.Kind, p.TokenID = "", ""
	if p.Namespaces == auth.AllNamespaces { // as plain files have it
		p.Namespaces = ""
	}
	return p
}

func TestParseTokens(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		json string
		a, b auth.Principal
	}{
		"flat": {
			`{"agent":"` + tokenA + `","observer":"` + tokenB + `"}`,
			auth.Principal{Name: "agent", Role: auth.Agent},
			auth.Principal{Name: "observer", Role: auth.Observer},
		},
		"long": {
			`{"tokens":[{"name":"alice","role":"approver","token":"` + tokenA + `"},` +
				`{"name":"bot","role":"agent","token":"` + tokenB + `"}]}`,
			auth.Principal{Name: "alice", Role: auth.Approver},
			auth.Principal{Name: "bot", Role: auth.Agent},
		},
		"service": {
			`{"tokens":[{"name":"policy-enforcer","role":"service","token":"` + tokenA + `"},` +
				`{"name":"bot","role":"agent","token":"` + tokenB + `"}]}`,
			auth.Principal{Name: "policy-enforcer", Role: auth.Service},
			auth.Principal{Name: "bot", Role: auth.Agent},
		},
		"rotation": {
			`{"tokens":[{"name":"alice","role":"approver","token":"` + tokenA + `"},` +
				`{"name":"alice","role":"approver","token":"` + tokenB + `"}]}`,
			auth.Principal{Name: "alice", Role: auth.Approver},
			auth.Principal{Name: "alice", Role: auth.Approver},
		},
	} {
		tokens, err := auth.ParseTokens([]byte(tc.json))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := who(t, tokens, tokenA); got != tc.a {
			t.Errorf("%s: a is %+v", name, got)
		}
		if got := who(t, tokens, tokenB); got != tc.b {
			t.Errorf("%s: b is %+v", name, got)
		}
		for _, wrong := range []string{"", "agent", tokenA + "x", tokenA[:23], strings.Repeat("a", 1<<20)} {
			if got := who(t, tokens, wrong); got != (auth.Principal{}) {
				t.Errorf("%s: %.30q is %+v", name, wrong, got)
			}
		}
	}
}

func TestParseTokensRefuses(t *testing.T) {
	t.Parallel()
	for name, json := range map[string]string{
		"nothing":                        ``,
		"no token":                       `{}`,
		"empty list":                     `{"tokens":[]}`,
		"not json":                       tokenA,
		"list":                           `["` + tokenA + `"]`,
		"unknown role":                   `{"root":"` + tokenA + `"}`,
		"unknown role after a known one": `{"agent":"` + tokenB + `","root":"` + tokenA + `"}`,
		"service in the flat":            `{"agent":"` + tokenB + `","service":"` + tokenA + `"}`,
		"role of other case":             `{"Agent":"` + tokenA + `"}`,
		"duplicate key":                  `{"agent":"` + tokenA + `","agent":"` + tokenB + `"}`,
		"short token":                    `{"agent":"aaaaaaaaaaaaaaa"}`,
		"space in token":                 `{"agent":"` + tokenA + ` x"}`,
		"same token twice":               `{"agent":"` + tokenA + `","operator":"` + tokenA + `"}`,
		"no role":                        `{"tokens":[{"name":"a","token":"` + tokenA + `"}]}`,
		"no name":                        `{"tokens":[{"role":"agent","token":"` + tokenA + `"}]}`,
		"space after the name":           `{"tokens":[{"name":"ann ","role":"approver","token":"` + tokenA + `"}]}`,
		"invisible in the name":          `{"tokens":[{"name":"an\u200bn","role":"approver","token":"` + tokenA + `"}]}`,
		"unknown key":                    `{"tokens":[{"name":"a","role":"agent","token":"` + tokenA + `","admin":true}]}`,
		"two roles of a name":            `{"tokens":[{"name":"a","role":"agent","token":"` + tokenA + `"},{"name":"a","role":"operator","token":"` + tokenB + `"}]}`,
		"both forms":                     `{"agent":"` + tokenB + `","tokens":[{"name":"a","role":"agent","token":"` + tokenA + `"}]}`,
	} {
		tokens, err := auth.ParseTokens([]byte(json))
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if strings.Contains(err.Error(), "aaaa") {
			t.Errorf("%s: the error quotes a token: %v", name, err)
		}
		if got := who(t, tokens, tokenA); got != (auth.Principal{}) {
			t.Errorf("%s: authenticates %+v", name, got)
		}
	}
}

func TestTokensFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	minted := auth.Generate()
	created, err := auth.WriteFile(file, minted)
	if err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	tokens, err := auth.LoadTokens(file)
	if err != nil || tokens.Len() != len(auth.Roles()) {
		t.Fatal(err)
	}
	for _, role := range auth.Roles() {
		if got := who(t, tokens, minted[role]); got != (auth.Principal{Name: string(role), Role: role}) {
			t.Errorf("%s is %+v", role, got)
		}
		if got, err := auth.FileToken(file, role); err != nil || got != minted[role] {
			t.Errorf("token of %s: %v", role, err)
		}
	}

	// A second start keeps the tokens of the first, and leaves no files behind.
	if created, err := auth.WriteFile(file, auth.Generate()); err != nil || created {
		t.Fatalf("created %v, %v", created, err)
	}
	if got, err := auth.FileToken(file, auth.Agent); err != nil || got != minted[auth.Agent] {
		t.Errorf("the token changed: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestTokensFileThatOthersCanUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	if _, err := auth.WriteFile(file, auth.Generate()); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[fs.FileMode]bool{
		0o600: true, 0o400: true, 0o640: true, 0o440: true,
		0o644: false, 0o604: false, 0o602: false, 0o660: false, 0o610: false, 0o666: false,
	} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		_, err := auth.LoadTokens(file)
		if ok != (err == nil) || (err != nil && !strings.Contains(err.Error(), "chmod 600")) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if _, err := auth.LoadTokens(file + ".missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestMintedTokensDiffer(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 100 {
		token := auth.Mint()
		if seen[token] || len(token) < 40 {
			t.Fatalf("minted %q", token)
		}
		seen[token] = true
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	if p, ok := auth.FromContext(context.Background()); ok || p != (auth.Principal{}) {
		t.Errorf("nobody is %+v", p)
	}
	want := auth.Principal{Name: "alice", Role: auth.Approver}
	got, ok := auth.FromContext(auth.WithPrincipal(t.Context(), want))
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(diff)
	}
}

// Root is an operator in every namespace, and nobody who is bound is root, through any number of chains (S22.30).
func TestRoot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given, want auth.Principal
	}{
		"root":           {auth.Principal{Name: "r", Role: auth.Root}, auth.Principal{Name: "r", Role: auth.Operator, Root: true, Namespaces: "*"}},
		"of a list":      {auth.Principal{Name: "r", Role: auth.Root, Namespaces: "a"}, auth.Principal{Name: "r", Role: auth.Operator, Root: true, Namespaces: "*"}},
		"in a session":   {auth.Principal{Name: "r", Role: auth.Root, Session: "s", Namespace: "a"}, auth.Principal{Name: "r", Role: auth.Operator, Session: "s", Namespace: "a"}},
		"in a namespace": {auth.Principal{Name: "r", Role: auth.Root, Namespace: "a"}, auth.Principal{Name: "r", Role: auth.Operator, Namespace: "a"}},
		"by a relay":     {auth.Principal{Name: "r", Role: auth.Root, Relay: "bot"}, auth.Principal{Name: "r", Role: auth.Operator, Relay: "bot"}},
		"an operator":    {auth.Principal{Name: "o", Role: auth.Operator}, auth.Principal{Name: "o", Role: auth.Operator}},
	} {
		got, err := auth.Chain(auth.Chain(knows(tc.given))).Authenticate(t.Context(), "secret")
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if auth.Allowed("/interlock.engine.v1.RunService/GetRun", auth.Root) {
		t.Error("the role counts before it is read")
	}
}

// knows is an authenticator of one principal, by any token.
type knows auth.Principal

func (k knows) Authenticate(context.Context, string) (auth.Principal, error) {
	return auth.Principal(k), nil
}
