package e2e

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// administered is a Redis with a copy of deploy/redis, and redis-cli's answers to its administrator.
type administered struct {
	*redistest.Server
	acl, dir string
}

func startAdministered(t *testing.T) *administered {
	t.Helper()
	folder, dir := t.TempDir(), t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../deploy/redis")); err != nil {
		t.Fatal(err)
	}
	return &administered{redistest.StartIn(t, dir, deployedRedis(t, folder)...), filepath.Join(folder, "users.acl"), dir}
}

// cli runs redis-cli as the administrator.
func (a *administered) cli(t *testing.T, words ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(a.Addr())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(within(t), "redis-cli", append([]string{"-e", "-h", host, "-p", port, "--user", "interlock-admin"}, words...)...)
	cmd.Env = append(cleanEnv(), "REDISCLI_AUTH=CHANGE-ME-admin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("redis-cli %s: %v: %s", strings.Join(words, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commandsIn are the lines of an indented block of a page that begin with a program.
func commandsIn(t *testing.T, page, program string) (all []string) {
	t.Helper()
	text := string(must[[]byte](t)(os.ReadFile("../../docs/" + page)))
	for _, match := range regexp.MustCompile(`(?m)^ {4,7}(`+program+` .*?)(?: +#.*)?$`).FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// An administrator can run each command for Redis of the runbook, with the users of deploy/redis.
func TestRunbookCommandsOfRedis(t *testing.T) {
	t.Parallel()
	redis := startAdministered(t)
	redis.cli(t, "config", "set", "appendfsync", "everysec")
	const prefix = "redis-cli -u redis://redis:6379/0 "
	commands := commandsIn(t, "runbook.md", "redis-cli")
	for _, command := range commands {
		words, is := strings.CutPrefix(command, prefix)
		if !is {
			t.Fatalf("%s does not begin with %s", command, prefix)
		}
		redis.cli(t, strings.Fields(words)...)
	}
	if len(commands) < 9 {
		t.Errorf("there are only %d commands: %q", len(commands), commands)
	}
	if got := redis.cli(t, "config", "get", "appendfsync"); got != "appendfsync\nalways" {
		t.Errorf("in the end it has %s", got)
	}
}

// A Redis whose ACL has lost the writes at its restart has all of them again after the steps of
// the runbook, whose commands are run here.
func TestRunbookBringsBackWhatAnACLLost(t *testing.T) {
	t.Parallel()
	redis := startAdministered(t)
	password := secret(t, "CHANGE-ME-engine")
	s := startSeparateOn(t, []string{"--store", redis.URL(), "--store-username", "interlock-engine", "--store-password-file", password})
	starts := runOf(t, &s.shape)
	if err := starts(); err != nil {
		t.Fatal(err)
	}
	keys := must[int](t)(strconv.Atoi(redis.cli(t, "dbsize")))
	good := string(must[[]byte](t)(os.ReadFile(redis.acl)))
	line, rest, _ := strings.Cut(good, "\n")
	if err := os.WriteFile(redis.acl, []byte("user default off\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	redis.cli(t, "acl", "load")
	redis.Kill()
	if err := redis.Restart(); err != nil {
		t.Fatal(err)
	}
	if left := must[int](t)(strconv.Atoi(redis.cli(t, "dbsize"))); left >= keys {
		t.Skipf("this server loses nothing by such a file: %d of %d keys are left", left, keys)
	}
	for _, p := range s.keepers() {
		refusedAsRolledBack(t, "http://"+p.serving(t, "admin"))
	}

	runbook := string(must[[]byte](t)(os.ReadFile("../../docs/runbook.md")))
	if !strings.Contains(runbook, "`"+line+"`") {
		t.Errorf("the runbook does not say %q", line)
	}
	s.killAll()
	if err := redis.Stop(); err != nil {
		t.Fatal(err)
	}
	copyOf(t, filepath.Join(redis.dir, "appendonlydir"))
	if err := errors.Join(os.WriteFile(redis.acl, []byte(good), 0o600), redis.Restart()); err != nil {
		t.Fatal(err)
	}
	if back := must[int](t)(strconv.Atoi(redis.cli(t, "dbsize"))); back < keys {
		t.Errorf("%d of %d keys came back", back, keys)
	}
	s.launch(t)
	for _, p := range s.keepers() {
		refusedAsRolledBack(t, "http://"+p.serving(t, "admin"))
	}
	accept := regexp.MustCompile(`(?m)^ +interlock (store accept-rollback --store redis://redis:6379/0 --store-username .*)$`).FindStringSubmatch(runbook)
	if accept == nil {
		t.Fatal("the runbook does not say how to accept what is there")
	}
	command := strings.NewReplacer("redis://redis:6379/0", redis.URL(), "FILE", secret(t, "CHANGE-ME-operator")).Replace(accept[1])
	runCommand(t, 0, strings.Fields(command)...)
	eventually(t, "all are ready again", func() error {
		for _, p := range s.keepers() {
			if err := ready("http://" + p.serving(t, "admin")); err != nil {
				return err
			}
		}
		return starts()
	})
}
