package sdk_test

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/sdk"
	"github.com/interlock-run/interlock/pkg/sdk/sdktest"
)

// TestGuardCommand: a command line is judged as Bash, and becomes a command in the jail that the client
// and the server have.
func TestGuardCommand(t *testing.T) {
	t.Parallel()
	fake := sdktest.New(t)
	fake.Allow("Bash", "shell")
	for _, row := range []struct {
		level  int
		noJail bool
		tool   string
		want   string
	}{
		{level: 3, want: "interlock jail --run run_of_the_fake --call CALL -- echo 'a b'"},
		{level: 1, tool: "shell", want: "interlock jail --run run_of_the_fake --call CALL -- echo 'a b'"},
		{level: -1, want: "/bin/bash --noprofile --norc -c echo 'a b'"},
		{level: 3, noJail: true, want: "/bin/bash --noprofile --norc -c echo 'a b'"},
	} {
		if row.noJail {
			fake.NoJail()
		}
		opts := []sdk.CallOption{sdk.InFolder("/w")}
		if row.tool != "" {
			opts = append(opts, sdk.ShellTool(row.tool))
		}
		got, err := fake.JailedClient(row.level).GuardCommand(t.Context(), sdk.Line("echo", "a b"), opts...)
		if err != nil {
			t.Fatal(err)
		}
		if argv := strings.ReplaceAll(strings.Join(got.Argv, " "), got.Decision.CallID, "CALL"); argv != row.want {
			t.Errorf("%+v: %s", row, argv)
		}
		if jailed := row.level > 0 && !row.noJail; (got.Jail != nil) != jailed || jailed && got.Jail.Level != row.level {
			t.Errorf("%+v: %+v", row, got.Jail)
		}
		call := fake.Calls()[len(fake.Calls())-1]
		if call.Folder != "/w" || call.JailLevel != max(0, row.level) || call.Input != `{"command":"echo 'a b'"}` || row.tool != "" && call.Tool != row.tool {
			t.Errorf("%+v: %+v", row, call)
		}
	}
}

// TestGuardCommandRefuses: what is denied, and what has no jail where one is required, is not executed.
func TestGuardCommandRefuses(t *testing.T) {
	t.Parallel()
	fake := sdktest.New(t)
	var denied *sdk.DeniedError
	if got, err := fake.JailedClient(3).GuardCommand(t.Context(), "true"); !errors.As(err, &denied) || got.Argv != nil {
		t.Errorf("%v, %v", got, err)
	}
	fake.Ask("Bash")
	var asks *sdk.ApprovalRequiredError
	if _, err := fake.JailedClient(3).GuardCommand(t.Context(), "true"); !errors.As(err, &asks) {
		t.Error(err)
	}
	fake.Allow("Bash")
	before := len(fake.Calls())
	if _, err := fake.Client().GuardCommand(t.Context(), "true", sdk.JailRequired()); !errors.As(err, &denied) || denied.Code != sdk.CodeJailRequired || len(fake.Calls()) != before {
		t.Error("without a jail on the machine: ", err)
	}
	fake.NoJail()
	client := fake.JailedClient(3)
	if _, err := client.GuardCommand(t.Context(), "true", sdk.JailRequired()); !errors.As(err, &denied) || denied.Code != sdk.CodeJailRequired {
		t.Error("without a jail of the server: ", err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if reports := fake.Reports(); len(reports) != 1 || !reports[0].NotExecuted {
		t.Error("it is withdrawn: ", reports)
	}
}

// TestNoProgram: without Interlock's program, or with another one, there is no jail.
func TestNoProgram(t *testing.T) {
	t.Parallel()
	fake := sdktest.New(t)
	fake.Allow("Bash")
	for _, program := range []string{"/no/such/program", "/bin/echo", "/bin/false"} {
		client := sdk.New(fake.Client().Conn(), sdk.Options{Session: "test", Jail: sdk.JailOptions{Program: program}})
		if got, err := client.GuardCommand(t.Context(), "true"); err != nil || got.Jail != nil {
			t.Errorf("%s: %+v, %v", program, got, err)
		}
	}
}

// TestLine: a shell reads the words that were given.
func TestLine(t *testing.T) {
	t.Parallel()
	words := []string{"", "a b", "it's", "$HOME", "`x`", "a\nb", "*", "~", "-n", "\\", "ä", "a;b", "#x", "=", "a=b", "!x", "\"", "{a,b}"}
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "printf '%s\\0' "+sdk.Line(words...)).Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, words) {
		t.Errorf("%q, %v", got, err)
	}
}
