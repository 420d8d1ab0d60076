package realpath

import (
	"path/filepath"
	"testing"
)

func TestAsWritten(t *testing.T) {
	t.Parallel()
	folders := map[string][]string{
		"/": {"Users"}, "/Users": {"me", "ME"}, "/Users/me": {"Migrations", "straße"}, "/Users/ME": {"other"},
	}
	list := func(dir string) []string { return folders[filepath.ToSlash(dir)] }
	for name, want := range map[string]string{
		"/":                      "/",
		"/users/me/MIGRATIONS/X": "/Users/me/Migrations/X",
		"/Users/me/Migrations":   "/Users/me/Migrations",
		"/Users/ME/OTHER":        "/Users/ME/other",
		"/USERS/me/stra\u1e9ee":  "/Users/me/straße",
		"/nowhere/at/all":        "/nowhere/at/all",
	} {
		if got := filepath.ToSlash(asWritten(filepath.FromSlash(name), list)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
