package jailer_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
)

// listensOn has this test's binary be a service that listens on a socket of this name, until its input ends.
const listensOn = "JAILER_TEST_LISTENS_ON"

func listen(name string) {
	if _, err := net.Listen("unix", name); err != nil {
		panic(err)
	}
	fmt.Println("listening")
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// S20.8: a command reaches no service by its socket in the workspace, by any name to which the service has bound it.
func TestSocketsInTheWorkspace(t *testing.T) {
	t.Parallel()
	dir := workspace(t, "sub/a.txt", "a")
	for i, name := range []string{filepath.Join(dir, "absolute.sock"), "relative.sock", "./sub/dotted.sock", "sub/../up.sock"} {
		service := exec.CommandContext(t.Context(), "/proc/self/exe")
		service.Dir, service.Env = dir, append(os.Environ(), listensOn+"="+name)
		in, err := service.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := service.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := service.Start(); err != nil {
			t.Fatal(err)
		}
		if n, err := out.Read(make([]byte, 64)); n == 0 {
			t.Fatal(i, err)
		}
		defer func() {
			in.Close()
			_ = service.Wait()
		}()
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*.sock"))
	if len(found) != 3 {
		t.Fatalf("there are %v", found)
	}
	out, _ := jailed(t, profile(dir, jail.WritesAllow), `for f in *.sock sub/*.sock; do test -e "$f" && echo there; test -S "$f" && echo "a socket $f"; done; true`)
	if strings.Contains(out, "a socket") || strings.Count(out, "there") != 4 {
		t.Error(out)
	}
}
