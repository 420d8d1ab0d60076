package auth_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/auth"
)

func add(file, name string, role auth.Role, token string) error {
	return auth.ChangeFile(file, func(f *auth.File) error {
		f.AddHash(auth.Entry{Name: name, Role: role}, token)
		return nil
	})
}

// S23.1: a token that is added counts in addition to those of any form of the file, whose mode stays, and is not
// in the file; one that would spoil the file is not added.
func TestAddHash(t *testing.T) {
	t.Parallel()
	for form, write := range map[string]func(file string, minted map[auth.Role]string) error{
		"flat": func(file string, minted map[auth.Role]string) error {
			_, err := auth.WriteFile(file, minted)
			return err
		},
		"hashes": func(file string, minted map[auth.Role]string) error {
			var f auth.File
			for role, token := range minted {
				f.AddHash(auth.Entry{Name: string(role), Role: role}, token)
			}
			return auth.WriteHashes(file, f)
		},
	} {
		file := filepath.Join(t.TempDir(), "tokens.json")
		minted := auth.Generate()
		if err := errors.Join(write(file, minted), os.Chmod(file, 0o640)); err != nil {
			t.Fatal(err)
		}
		bob, ci := auth.Mint(), auth.Mint()
		for name, token := range map[string]string{"bob": bob, "ci": ci} {
			if err := add(file, name, auth.Approver, token); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(before), bob) || strings.Contains(string(before), minted[auth.Agent]) != (form == "flat") {
			t.Errorf("%s: %s, %v", form, before, err)
		}
		if err := add(file, "bob", auth.Operator, auth.Mint()); err == nil {
			t.Errorf("%s: a name got a second role", form)
		}
		if err := add(file, "eve", auth.Operator, bob); err == nil {
			t.Errorf("%s: a token was added twice", form)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
			t.Errorf("%s: a refused token changed the file: %v", form, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode %v, %v", form, info.Mode(), err)
		}
		tokens, err := auth.LoadTokens(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := who(t, tokens, bob); got != (auth.Principal{Name: "bob", Role: auth.Approver, Namespaces: "default"}) {
			t.Errorf("%s: %+v", form, got)
		}
		if got := who(t, tokens, minted[auth.Approver]); got.Name != "approver" {
			t.Errorf("%s: %+v", form, got)
		}
		if _, err := auth.FileToken(file, auth.Agent); (err == nil) != (form == "flat") {
			t.Errorf("%s: the agent's token: %v", form, err)
		}
	}
}

// S23.1: an entry says where its token counts, and for whom; without namespaces, a hash counts in the default one,
// and a token in plain text, as one of a service, in all.
func TestNamespacesOfEntries(t *testing.T) {
	t.Parallel()
	const pepper = "0123456789abcdef"
	for name, tc := range map[string]struct {
		entry auth.Entry
		want  auth.Principal
	}{
		"none":    {auth.Entry{Role: auth.Agent}, auth.Principal{Namespaces: "default"}},
		"one":     {auth.Entry{Role: auth.Agent, Namespaces: []string{"team"}}, auth.Principal{Namespaces: "team"}},
		"several": {auth.Entry{Role: auth.Operator, Namespaces: []string{"b", "a"}, Person: "ann"}, auth.Principal{Namespaces: "a b", Person: "ann"}},
		"all":     {auth.Entry{Role: auth.Agent, Namespaces: []string{"*"}}, auth.Principal{}},
		"service": {auth.Entry{Role: auth.Service}, auth.Principal{}},
	} {
		f, token := auth.File{Pepper: pepper}, auth.Mint()
		tc.entry.Name, tc.want.Name, tc.want.Role = "x", "x", tc.entry.Role
		f.AddHash(tc.entry, token)
		file := filepath.Join(t.TempDir(), "tokens.json")
		if err := auth.WriteHashes(file, f); err != nil {
			t.Fatal(err)
		}
		tokens, err := auth.LoadTokens(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := who(t, tokens, token); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// S23.1: a token that has expired is refused, and its caller learns why.
func TestExpiredToken(t *testing.T) {
	t.Parallel()
	var f auth.File
	now, over, lasting := time.Now(), auth.Mint(), auth.Mint()
	f.AddHash(auth.Entry{Name: "over", Role: auth.Approver, Expires: now.Add(-time.Nanosecond)}, over)
	f.AddHash(auth.Entry{Name: "lasting", Role: auth.Approver, Expires: now.Add(24 * time.Hour)}, lasting)
	file := filepath.Join(t.TempDir(), "tokens.json")
	if err := auth.WriteHashes(file, f); err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.LoadTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	var refusal *auth.Refusal
	if p, err := tokens.Authenticate(t.Context(), over); !errors.As(err, &refusal) || !strings.Contains(refusal.Why, "expired") || p != (auth.Principal{}) {
		t.Errorf("%+v, %v", p, err)
	}
	if got := who(t, tokens, lasting); got.Name != "lasting" {
		t.Errorf("%+v", got)
	}
}

// S23.1: hashes that replace tokens in plain text are of the same callers.
func TestHashAll(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	minted := auth.Generate()
	if _, err := auth.WriteFile(file, minted); err != nil {
		t.Fatal(err)
	}
	before, err := auth.LoadTokens(file)
	if err != nil || !before.Plain() {
		t.Fatal(err)
	}
	for round, want := range []bool{true, false} {
		if err := auth.ChangeFile(file, func(f *auth.File) error {
			if f.HashAll() != want {
				t.Errorf("round %d", round)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	after, err := auth.LoadTokens(file)
	if err != nil || after.Plain() {
		t.Fatal(err)
	}
	for role, token := range minted {
		was, err := before.Authenticate(t.Context(), token)
		is, other := after.Authenticate(t.Context(), token)
		if was != is || err != nil || other != nil {
			t.Errorf("%s: %+v is %+v", role, was, is)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "ilk_") {
		t.Errorf("%s, %v", text, err)
	}
}

// S23.3: a token is revoked by its id, all of a name by the name; the list shows neither tokens nor digests.
func TestRevoke(t *testing.T) {
	t.Parallel()
	var f auth.File
	for _, name := range []string{"kim", "ann", "kim"} {
		f.AddHash(auth.Entry{Name: name, Role: auth.Approver}, auth.Mint())
	}
	var names []string
	for _, e := range f.Listed() {
		names = append(names, e.Name)
		if e.Digest != "" || e.Token != "" || e.ID == "" || len(e.Namespaces) != 1 {
			t.Errorf("listed: %+v", e)
		}
	}
	if diff := cmp.Diff([]string{"ann", "kim", "kim"}, names); diff != "" {
		t.Error(diff)
	}
	if removed := f.Revoke(f.Listed()[1].ID); len(removed) != 1 || removed[0].Name != "kim" || len(f.Tokens) != 2 {
		t.Errorf("%+v", removed)
	}
	if removed := f.Revoke("ann"); len(removed) != 1 || len(f.Tokens) != 1 || len(f.Revoke("ann")) != 0 {
		t.Errorf("%+v", removed)
	}
}

// S23.1: files with a hash that cannot be right are refused.
func TestHashesThatAreRefused(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("ab", 32)
	for name, entry := range map[string]string{
		"as it is":         `"id":"0123","digest":"` + digest + `"`,
		"short":            `"id":"0123","digest":"sha256:abcd"`,
		"another function": `"id":"0123","digest":"sha512:` + strings.Repeat("ab", 32) + `"`,
		"no id":            `"digest":"` + digest + `"`,
		"both":             `"id":"0123","digest":"` + digest + `","token":"` + tokenA + `"`,
		"neither":          `"id":"0123"`,
		"no namespace":     `"id":"0123","digest":"` + digest + `","namespaces":[""]`,
		"a person":         `"id":"0123","digest":"` + digest + `","person":" ann"`,
	} {
		for pepper, fine := range map[string]bool{"0123456789abcdef": name == "as it is", "short": false} {
			_, err := auth.ParseTokens([]byte(`{"pepper":"` + pepper + `","tokens":[{"name":"a","role":"agent",` + entry + `}]}`))
			if (err == nil) != fine || err != nil && strings.Contains(err.Error(), tokenA) {
				t.Errorf("%s, pepper %s: %v", name, pepper, err)
			}
		}
	}
}

// S23.2: of a file whose roles are restricted, the other entries give no right and take no name.
func TestSources(t *testing.T) {
	t.Parallel()
	own, given := filepath.Join(t.TempDir(), "own.json"), filepath.Join(t.TempDir(), "given.json")
	minted, kim := auth.Generate(), auth.Mint()
	var f auth.File
	f.AddHash(auth.Entry{Name: "kim", Role: auth.Approver}, kim)
	if _, err := auth.WriteFile(own, minted); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(add(own, "eve", auth.Approver, auth.Mint()), auth.WriteHashes(given, f)); err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.LoadSources(auth.TokensFrom{File: own, Counts: auth.Role.Local}, auth.TokensFrom{File: given})
	if err != nil {
		t.Fatal(err)
	}
	for role, token := range minted {
		if got := who(t, tokens, token); (got.Role == role) != role.Local() {
			t.Errorf("%s: %+v", role, got)
		}
	}
	if got := who(t, tokens, kim); got.Role != auth.Approver {
		t.Errorf("kim: %+v", got)
	}
	if _, taken := tokens.Reserved("eve"); taken {
		t.Error("an entry that does not count takes a name")
	}
	if role, taken := tokens.Reserved("KIM"); !taken || role != auth.Approver {
		t.Error("the name of an entry that counts is free")
	}
	if tokens.Len() != len(auth.LocalRoles())+1 {
		t.Errorf("%d tokens", tokens.Len())
	}
}
