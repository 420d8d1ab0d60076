package toolcall_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// confined are states with entries that confine options.
var confined = map[string]string{
	"edits": `"allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": [
		"@inert", "xargs", "find", "sh -c", "head",
		{"words": ["kubectl", "get"], "options": {"-n": ["staging"]}}, {"words": ["git", "push", "origin", "agent"], "exact": true}]`,
	"reads": `"allowed_tools": ["Read", "Bash"], "allowed_commands": [
		{"words": ["sed"], "options": {"-n": true, "-i": true}}, "tee", {"words": ["tee"], "options": {}}, {"words": ["sort"], "options": {"-o": ["*"]}}]`,
}

// TestConfinedCommands: S21.18. Entries that confine options, in whole lines.
func TestConfinedCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, line string
		code        toolcall.Code
	}{
		{"edits", "kubectl get -n staging pods | head -3", ""},
		{"edits", "cd x && timeout 5 kubectl get -n staging", ""},
		{"edits", "sh -c 'kubectl get -n staging'", ""},
		{"edits", "echo $(kubectl get -n staging)", ""},
		{"edits", "kubectl get -n prod", toolcall.CodeCommandNotAllowed},
		{"edits", "sh -c 'kubectl get -n prod'", toolcall.CodeCommandNotAllowed},
		{"edits", "sh -c 'kubectl get -n staging \"$@\"' x -n prod", toolcall.CodeCommandNotAllowed},
		{"edits", "echo $(kubectl get -n prod)", toolcall.CodeCommandNotAllowed},
		{"edits", "echo prod | xargs kubectl get -n staging", toolcall.CodeCommandNotAllowed},
		{"edits", "echo prod | xargs kubectl get -n", toolcall.CodeCommandNotAllowed},
		{"edits", "xargs -I{} kubectl get -n {}", toolcall.CodeCommandNotAllowed},
		{"edits", "find . -exec kubectl get -n staging {} +", toolcall.CodeCommandNotAllowed},
		{"edits", "env KUBECONFIG=x kubectl get -n staging", toolcall.CodeCommandNotAllowed},
		{"edits", "export KUBECONFIG=x; kubectl get -n staging", toolcall.CodeCommandNotAllowed},
		{"edits", "KUBECONFIG=x kubectl get -n staging", toolcall.CodeCommandNotAllowed},
		{"edits", "n=-n; kubectl get -n staging $n prod", toolcall.CodeCommandNotAllowed},
		{"edits", "set -- -n prod; kubectl get -n staging \"$@\"", toolcall.CodeCommandNotAllowed},
		{"edits", "kubectl get -n staging; kubectl get -n prod", toolcall.CodeCommandNotAllowed},
		{"edits", "kubectl get -n staging & kubectl get -nprod", toolcall.CodeCommandNotAllowed},
		{"edits", "f() { kubectl get \"$@\"; }; f -n prod", toolcall.CodeCommandNotAllowed},
		{"edits", "kubectl get -n staging \\\n -n prod", toolcall.CodeCommandNotAllowed},
		{"edits", "kubectl get -n $'pro\\x64'", toolcall.CodeCommandNotAllowed},
		{"edits", "git push origin agent", ""},
		{"edits", "git push origin agent --force", toolcall.CodeCommandNotAllowed},
		{"edits", "git push origin agent main", toolcall.CodeCommandNotAllowed},
		{"edits", "git -C x push origin agent", toolcall.CodeCommandNotAllowed},
		{"edits", "git push origin 'agent '", toolcall.CodeCommandNotAllowed},
		// What an entry names is the author's choice, and other words are not (R3).
		{"reads", "sed -i s/a/b/ x", ""},
		{"reads", "sed s/a/b/ -i x", toolcall.CodeCommandWrites},
		{"reads", "tee x", toolcall.CodeCommandWrites},
		{"reads", "sort -o out x", toolcall.CodeCommandWrites},
	} {
		m, at := inState(t, "{"+confined[c.state]+"}", "{}")
		v := toolcall.Decide(m, at, toolcall.Call{Tool: "Bash", Input: []byte(bash(c.line))})
		if v.Code != c.code {
			t.Errorf("%s: %s: %q, want %q: %s", c.state, c.line, v.Code, c.code, v.Message(m, at))
		}
		if says := v.Message(m, at); c.code == toolcall.CodeCommandNotAllowed && !strings.Contains(says, "objects only with the options that they list") {
			t.Errorf("%s: %s", c.line, says)
		}
	}
}

// TestAloneCommands: S21.18. A call runs the command of an entry with alone once.
func TestAloneCommands(t *testing.T) {
	t.Parallel()
	m, at := inState(t, `{"allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": [
		"@inert", "xargs", "sh -c", "make deploy now", {"words": ["make", "deploy"], "exact": true, "alone": true}, {"words": ["ls"], "exact": true}]}`, "{}")
	for line, allowed := range map[string]bool{
		"make deploy":                                 true,
		"make deploy 2>&1":                            true,
		"(make deploy)":                               true,
		"make deploy # twice":                         true,
		"make deploy &":                               false,
		"ls; ls":                                      true,
		"make deploy; make deploy":                    false,
		"make deploy\nmake deploy":                    false,
		"make deploy && make deploy":                  false,
		"make deploy || make deploy":                  false,
		"make deploy | make deploy":                   false,
		"make deploy & make deploy":                   false,
		"ls; make deploy":                             false,
		"cd x && make deploy":                         false,
		"for i in 1 2; do make deploy; done":          false,
		"for ((;;)); do make deploy; done":            false,
		"while make deploy; do :; done":               false,
		"until make deploy; do :; done":               false,
		"select x in a b; do make deploy; done":       false,
		"f() { make deploy; }; f; f":                  false,
		"echo $(make deploy) $(make deploy)":          false,
		"trap 'make deploy' EXIT; make deploy":        false,
		"eval 'make deploy; make deploy'":             false,
		"sh -c 'make deploy; make deploy'":            false,
		"sh -c 'make deploy'":                         false,
		"xargs -n1 make deploy < x":                   false,
		"timeout 5 make deploy":                       false,
		"if make deploy; then make deploy; fi":        false,
		"{ make deploy; make deploy; }":               false,
		"echo <(make deploy) <(make deploy)":          false,
		"coproc make deploy; make deploy":             false,
		"case x in x) make deploy; make deploy; esac": false,
	} {
		v := toolcall.Decide(m, at, toolcall.Call{Tool: "Bash", Input: []byte(bash(line))})
		if (v.Decision == toolcall.Allow) != allowed || !allowed && v.Code != toolcall.CodeCommandNotAllowed {
			t.Errorf("%q: %s %s", line, v.Decision, v.Message(m, at))
		}
	}
}
