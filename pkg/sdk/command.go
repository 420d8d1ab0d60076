package sdk

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"sync"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// JailOptions says how [Client.GuardCommand] gets a jail.
type JailOptions struct {
	// Program is Interlock's program: a path, or a name in PATH; "interlock" by default.
	Program string
	// Level is the level of the jails, 1 to 3. With 0, Program is asked once for the level of this
	// machine; a negative level is none.
	Level int
}

// Jail describes the limits that the kernel enforces on a command that is allowed.
type Jail struct {
	// Level is the least level that enforces the profile.
	Level int
	// Digest is that of the profile, sha256:...
	Digest string
}

// Command is a command line that may be executed once.
type Command struct {
	// Argv is executed as it is, in the folder that the call names: with a jail it is Interlock's
	// program, which claims the call and runs its line in the jail. It finds the server as
	// `interlock hook` does.
	Argv []string
	// Decision is reported with the outcome, with [Client.Report]. The observations of a jail decide the outcome of
	// its command, regardless of the report.
	Decision Decision
	// Jail is nil where the line runs without one.
	Jail *Jail
}

// JailRequired refuses a command that would run without a jail.
func JailRequired() CallOption { return func(c *call) { c.jailRequired = true } }

// ShellTool names the tool that the command line is judged as; Bash without it.
func ShellTool(name string) CallOption { return func(c *call) { c.shell = name } }

// Line returns the command line that has these words.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsFunc(word, isSpecial) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// isSpecial reports a character that a shell could read as more than a part of a word.
func isSpecial(r rune) bool {
	return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+:,./-", r)
}

// GuardCommand puts a command line of bash before the gate, as a call of the shell, and returns the command to
// execute: in a jail of this machine, where it has one and the server gives one. The error is as that of
// [Client.Guard]. See [Line] for a list of words. A command that is not executed is abandoned, with [Client.Abandon].
func (c *Client) GuardCommand(ctx context.Context, line string, opts ...CallOption) (Command, error) {
	level := c.jail.level(ctx)
	opts = append(opts[:len(opts):len(opts)], func(q *call) { q.req.JailLevel = int32(level) }) //nolint:gosec // 0 to 3
	var asked call
	for _, opt := range opts {
		opt(&asked)
	}
	if asked.jailRequired && level == 0 {
		return Command{}, &DeniedError{Code: CodeJailRequired, Message: "the command was not run: this machine has no jail; `interlock jail probe` names the missing part"}
	}
	tool := first(asked.shell, "Bash")
	_, d, err := c.admit(ctx, tool, map[string]string{"command": line}, opts)
	if err != nil {
		return Command{}, err
	}
	switch {
	case d.Jail == nil && asked.jailRequired:
		c.Abandon(ctx, d)
		return Command{}, &DeniedError{Code: CodeJailRequired, CallID: d.CallID, Message: "the command was not run: the server gives no jail; its --jail may be off"}
	case d.Jail == nil:
		return Command{Argv: []string{"/bin/bash", "--noprofile", "--norc", "-c", line}, Decision: d}, nil
	}
	argv := []string{c.jail.program, "jail", "--run", d.RunID, "--call", d.CallID, "--", line}
	return Command{Argv: argv, Decision: d, Jail: d.Jail}, nil
}

func jailOf(j *policyv1.Jail) *Jail {
	if j == nil {
		return nil
	}
	return &Jail{Level: int(j.GetLevel()), Digest: j.GetDigest()}
}

// prison knows the level of this machine's jails.
type prison struct {
	program string
	level   func(context.Context) int
}

func newPrison(o JailOptions) *prison {
	p := &prison{program: first(o.Program, "interlock")}
	switch {
	case o.Level < 0:
		p.level = func(context.Context) int { return 0 }
	case o.Level > 0:
		p.level = func(context.Context) int { return min(o.Level, mostJail) }
	default:
		var once sync.Once
		level := 0
		p.level = func(ctx context.Context) int {
			once.Do(func() { level = probe(ctx, p.program) })
			return level
		}
	}
	return p
}

const (
	mostJail  = 3
	probeTime = 10 * time.Second
)

// probe asks Interlock's program which jail this machine has. It returns 0 for a missing
// one.
func probe(ctx context.Context, program string) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "jail", "probe", "--json").Output()
	if err != nil {
		return 0
	}
	return levelOf(out)
}

// levelOf reads the answer of a probe.
func levelOf(out []byte) int {
	var found struct {
		Level int `json:"level"`
	}
	if json.Unmarshal(out, &found) != nil {
		return 0
	}
	return max(0, min(found.Level, mostJail))
}
