package auth_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// A token that is added counts in addition to those of either form of the file, whose mode stays; one
// that would spoil the file is not added.
func TestAddToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	minted := auth.Generate()
	if _, err := auth.WriteFile(file, minted); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	bob, ci := auth.Mint(), auth.Mint()
	for name, token := range map[string]string{"bob": bob, "ci": ci} {
		if err := auth.AddToken(file, name, auth.Approver, token); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := auth.AddToken(file, "bob", auth.Operator, auth.Mint()); err == nil {
		t.Error("a name got a second role")
	}
	if err := auth.AddToken(file, "eve", auth.Operator, bob); err == nil {
		t.Error("a token was added twice")
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("a refused token changed the file: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	tokens, err := auth.LoadTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]auth.Principal{
		bob: {Name: "bob", Role: auth.Approver}, minted[auth.Approver]: {Name: "approver", Role: auth.Approver},
	} {
		if got, err := tokens.Authenticate(t.Context(), token); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
}
