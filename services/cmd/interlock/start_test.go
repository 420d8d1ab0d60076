//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// initTrace is what Go says of the packages that were initialised for a command line, in
// addition to what the program itself writes to stderr.
func initTrace(tb testing.TB, args ...string) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), self, args...)
	cmd.Dir = tb.TempDir()
	cmd.Env = []string{"GODEBUG=inittrace=1", "GORACE=atexit_sleep_ms=0"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // its code is not of interest here
	return stderr.String()
}

// TestHookStartsBeforeTheRest: nothing that is slow to start is started for a
// hook. Go's own trace of package initialisation says so.
func TestHookStartsBeforeTheRest(t *testing.T) {
	t.Parallel()
	hook := initTrace(t, "hook")
	if !strings.Contains(hook, "Interlock blocks this") || !strings.Contains(hook, "init encoding/json ") {
		t.Fatalf("the trace has no hook in it:\n%s", hook)
	}
	all := initTrace(t, "-test.list=^$")
	for _, slow := range []string{
		"net", "net/http", "buf.build/go/protovalidate", "github.com/santhosh-tekuri/jsonschema/v6",
		"github.com/prometheus/client_golang/prometheus", "github.com/nats-io/nats-server/v2/server", "google.golang.org/grpc",
	} {
		line := "init " + slow + " @"
		if !strings.Contains(all, line) {
			t.Errorf("%s is not in the program any more: name another", slow)
		}
		if strings.Contains(hook, line) {
			t.Errorf("a hook waits for %s; package early must import less", slow)
		}
	}
}

// What initialising may allocate. Each command pays for it, whatever it does.
const (
	ourPackageBytes  = 64 << 10
	ourPackageAllocs = 200
)

// TestPackagesInitialiseLittle: a package of ours that compiles an expression or
// a template, parses a table or decodes a document when it is initialised makes every
// command slower. sync.OnceValue makes those that need it pay.
func TestPackagesInitialiseLittle(t *testing.T) {
	t.Parallel()
	const ours = "github.com/interlock-run/interlock/"
	line := regexp.MustCompile(`(?m)^init (\S+) @.*, (\d+) bytes, (\d+) allocs$`)
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	seen := 0
	for _, m := range line.FindAllStringSubmatch(initTrace(t, "-test.list=^$"), -1) {
		name, isOurs := strings.CutPrefix(m[1], ours)
		// The compiled contracts register their types, and this package has its tests in it.
		if !isOurs || strings.HasPrefix(name, "gen/") || name == "services/cmd/interlock" {
			continue
		}
		seen++
		if bytes, allocs := number(m[2]), number(m[3]); bytes > ourPackageBytes || allocs > ourPackageAllocs {
			t.Errorf("initialising %s allocates %d bytes in %d objects, more than %d in %d: make what it needs on first use",
				name, bytes, allocs, ourPackageBytes, ourPackageAllocs)
		}
	}
	if seen < 10 {
		t.Errorf("the trace has only %d packages of ours", seen)
	}
}
