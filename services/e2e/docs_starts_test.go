package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Each `interlock up` with flags and each file of --config that the documentation shows starts,
// with addresses of the test.
func TestDocumentedStarts(t *testing.T) {
	t.Parallel()
	starts := 0
	start := func(name, folder string, args ...string) {
		t.Helper()
		starts++
		data := datadir.Dir(t.TempDir())
		cmd := slices.DeleteFunc(slices.Clone(args), func(word string) bool { return word == "--detach" }) // the test ends it
		cmd = append(cmd, "--data-dir", string(data), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
		if slices.Contains(args, "--seal") { // its passphrase is asked at a terminal
			file := filepath.Join(t.TempDir(), "passphrase")
			if err := os.WriteFile(file, []byte("a long walk on the shore"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd = append(cmd, "--presence", "required", "--seal-passphrase-file", file)
		}
		for i, word := range cmd {
			if _, err := os.Stat(filepath.Join(folder, word)); err == nil && word != "" && !filepath.IsAbs(word) {
				cmd[i] = filepath.Join(folder, word)
			}
		}
		p := start(t, "interlock", append([]string{"up"}, cmd...)...)
		eventually(t, name+" is ready", func() error {
			if !p.running() {
				t.Fatalf("%s: %q ended: %v: %s", name, cmd, p.err, p.log)
			}
			at, err := data.ReadEndpoints()
			if err == nil && at.HTTP == "" {
				err = errors.New("it does not say where it is")
			}
			if err != nil {
				return err
			}
			return ready(at.HTTP)
		})
		p.drain(t)
	}
	for name, text := range documents(t) {
		folder := t.TempDir()
		for _, match := range regexp.MustCompile("(?m)^```yaml config (\\S+)\n((?s:.*?)\n)```$").FindAllStringSubmatch(text, -1) {
			file := filepath.Join(folder, match[1])
			if err := os.WriteFile(file, []byte(match[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			start(name, folder, "--config", file)
		}
		for _, match := range regexp.MustCompile(`(?m)^    (\(umask.*\))$`).FindAllStringSubmatch(text, -1) {
			cmd := exec.CommandContext(within(t), "bash", "-euc", match[1])
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", name, err, out)
			}
		}
		for _, match := range regexp.MustCompile(`(?m)^    interlock up (--(?:.*\\\n)*.*)$`).FindAllStringSubmatch(text, -1) {
			start(name, folder, strings.Fields(strings.ReplaceAll(match[1], "\\\n", " "))...)
		}
	}
	if starts < 3 {
		t.Errorf("only %d are started: this test looks in the wrong place", starts)
	}
}
