package workspace

import (
	"os"
	"os/user"
	"path/filepath"
	"testing"
)

// S13.7: whether a user may read the tokens goes by owner, group and mode; any doubt says
// yes.
func TestMayRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		mode os.FileMode
		who  *user.User
		want bool
	}{
		{0o600, me, true},
		{0o600, nobody, false},
		{0o644, nobody, true},
		{0o640, nobody, false},
		{0o600, &user.User{Uid: "0"}, true},
		{0o600, &user.User{Uid: "99999", Gid: "x", Username: "gone"}, true},
	} {
		if err := os.Chmod(file, tc.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := mayRead(info, tc.who); got != tc.want {
			t.Errorf("%o for %s: %v", tc.mode, tc.who.Username, got)
		}
	}
}
