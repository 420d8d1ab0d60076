//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/jailer/stage"
)

// initTrace is Go's trace of the packages that were initialised for a command line, in
// addition to the program's own stderr.
func initTrace(tb testing.TB, args ...string) string {
	tb.Helper()
	return initTraceOf(tb, "interlock", args...)
}

// initTraceOf is initTrace of a program by another name.
func initTraceOf(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), self, args...)
	cmd.Args[0] = name
	cmd.Dir = tb.TempDir()
	cmd.Env = []string{"GODEBUG=inittrace=1", "GORACE=atexit_sleep_ms=0"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // its code is not of interest here
	return stderr.String()
}

// TestHookStartsBeforeTheRest: no slow package is initialised for a
// hook, and no import of the hook's lets others go first. Go's own trace of package initialisation says so.
func TestHookStartsBeforeTheRest(t *testing.T) {
	t.Parallel()
	hook := initTrace(t, "hook")
	if !strings.Contains(hook, "Interlock blocks this") || !strings.Contains(hook, "init encoding/json ") {
		t.Fatalf("the trace has no hook in it:\n%s", hook)
	}
	all := initTrace(t, "-test.list=^$")
	for _, slow := range []string{
		"path/filepath", "math/big", "crypto/rand", "log/slog", "google.golang.org/protobuf/reflect/protodesc",
		"net", "net/http", "regexp", "go.yaml.in/yaml/v3", "github.com/santhosh-tekuri/jsonschema/v6",
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
	// With one import whose path is late in the alphabet, it would be half of them.
	if some, every := strings.Count(hook, "\ninit "), strings.Count(all, "\ninit "); 3*some > every {
		t.Errorf("%d of %d packages are initialised for a hook, more than a third:\n%s", some, every, hook)
	}
}

// TestJailsStartBeforeTheRest: a command that was allowed does not wait for the rest of the program, neither where it is
// claimed nor in the stage of its jail.
func TestJailsStartBeforeTheRest(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("jails need Linux")
	}
	all := initTrace(t, "-test.list=^$")
	for name, test := range map[string]struct {
		trace, has string
		never      []string
	}{
		"jail": {
			initTrace(t, "jail", "put-back", t.TempDir()), "services/internal/jailer",
			[]string{"net", "net/http", "net/url", "crypto/tls", "github.com/santhosh-tekuri/jsonschema/v6"},
		},
		"stage": {
			initTraceOf(t, stage.Name), "services/internal/jailer/stage",
			[]string{"fmt", "reflect", "encoding/binary", "unicode", "path/filepath", "google.golang.org/protobuf/internal/detrand"},
		},
	} {
		if !strings.Contains(test.trace, "init github.com/interlock-run/interlock/"+test.has+" @") {
			t.Errorf("the trace has no %s in it:\n%s", name, test.trace)
		}
		for _, slow := range test.never {
			if !strings.Contains(all, "init "+slow+" @") {
				t.Errorf("%s is not in the program any more: name another", slow)
			}
			if strings.Contains(test.trace, "init "+slow+" @") {
				t.Errorf("a %s waits for %s", name, slow)
			}
		}
	}
}

// The bound on allocations of initialisation. Each command pays for it, in every case.
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
