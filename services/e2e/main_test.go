// Package e2e tests Interlock as its users run it: the built binaries, in one
// process and as separate services on a real Redis and a real NATS, driven by
// real clients. It knows only the callers' view, and must never reach into a
// service.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for expected events. Only a failing test
// waits that long.
const patience = 4 * time.Minute

// workspace is a folder for files that all tests share; it goes with the process.
var workspace string

func TestMain(m *testing.M) {
	if folder := os.Getenv(treeAgentVariable); folder != "" {
		if err := runTreeAgent(folder); err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if workspace, err = os.MkdirTemp("", "interlock-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(workspace)
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(workspace, "state")); err != nil { // not the developer's
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return m.Run()
}

// binaries builds every command, once, and answers their folder. The flags are
// those of `make demo`, whose cache serves.
var binaries = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(workspace, "bin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X github.com/interlock-run/interlock/services/internal/build.version=e2e",
		"-gcflags", "all=-l -dwarf=false", "-o", dir+"/", "../cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	return dir, nil
})

// binary is the path of a built command.
func binary(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the built programs, which go test -short does not")
	}
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}
