package reread_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/internal/reread"
)

func text(file string) func() (string, error) {
	return func() (string, error) {
		data, err := os.ReadFile(file)
		if string(data) == "bad" {
			err = errors.New("bad")
		}
		return string(data), err
	}
}

func put(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if _, err := reread.Load("a file", 0, text(file), file); err == nil {
		t.Fatal("a file that is not there was read")
	}
	put(t, file, "one")
	value, err := reread.Load("a file", 0, text(file), "", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ content, want string }{
		{"one", "one"},
		{"two", "two"}, // of the same size
		{"bad", "two"},
		{"bad", "two"},
		{"three", "three"},
	} {
		put(t, file, step.content)
		if got := value.Get(); got != step.want {
			t.Errorf("with %q in the file: %q", step.content, got)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := value.Get(); got != "three" {
		t.Errorf("without the file: %q", got)
	}
}

func TestSeldomLooked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "one")
	value, err := reread.Load("a file", time.Hour, text(file), file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, "two")
	if got := value.Get(); got != "one" {
		t.Errorf("looked within the hour: %q", got)
	}
	value, err = reread.Load("a file", time.Nanosecond, text(file), file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, "three")
	if got := value.Get(); got != "three" {
		t.Errorf("after the time: %q", got)
	}
}
