package toolcall_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// S14.1, S14.5: which calls may give evidence, and which void it.
func TestMeaningOf(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{
		"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}},
		"meta": {"read_tools": ["mcp__docs__*", "mcp__db__query"], "commands": {"ourcheck": "reads", "ourgen": "writes", "ourbuild": "opaque"}, "tools": ["save"], "edit_tools": {"save": {"kind": "write", "path": "/file", "content": "/text"}}},
		"evidence": {
			"go": {"tool": "Bash", "command": "go test *"}, "make": {"tool": "Bash", "command": "make check", "exact": true},
			"ci": {"tool": "mcp__ci__status"}, "any": {"tool": "Bash"}
		},
		"guards": {"g": {"all": [{"evidence": "go"}, {"evidence": "make"}, {"evidence": "ci"}, {"evidence": "any"}]}}
	}`))
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	m := workflow.Compile(def, 1)
	run := m.Start(workflow.StartParams{ID: "run", Workspace: "/repo"}, "x", time.Time{}).Run
	at := run.At("")
	bash := func(line string, more ...any) []byte {
		input := map[string]any{"command": line}
		for i := 0; i < len(more); i += 2 {
			input[more[i].(string)] = more[i+1]
		}
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, c := range []struct {
		tool   string
		input  []byte
		folder string
		gives  []string
		voids  bool
	}{
		{tool: "Bash", input: bash("go test ./..."), gives: []string{"go", "any"}},
		{tool: "shell", input: bash("go test ./..."), gives: []string{"go"}},
		{tool: "Bash", input: bash("go test ./... 2>&1"), gives: []string{"go", "any"}},
		{tool: "Bash", input: bash("go test ./a && go test ./b"), gives: []string{"go", "any"}},
		{tool: "Bash", input: bash("make check"), gives: []string{"make", "any"}},
		{tool: "Bash", input: bash("make check -n"), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./..."), folder: "/repo", gives: []string{"go", "any"}},
		{tool: "Bash", input: bash("go test ./..."), folder: "/tmp", gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./...", "workdir", "/repo"), gives: []string{"go", "any"}},
		{tool: "Bash", input: bash("go test ./...", "workdir", "/elsewhere"), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./...", "run_in_background", true), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./...", "run_in_background", "true"), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./...", "workdir", []string{"/elsewhere"}), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./...", "run_in_background", nil, "timeout", 1000), gives: []string{"go", "any"}},
		{tool: "Bash", input: bash("go test ./... || true"), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./... ; go test ./b"), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./... | tail"), gives: []string{"any"}},
		{tool: "Bash", input: bash("! go test ./..."), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./... &"), gives: []string{"any"}},
		{tool: "Bash", input: bash("true && go test ./..."), gives: []string{"any"}},
		{tool: "Bash", input: bash("(go test ./...)"), gives: []string{"any"}},
		{tool: "Bash", input: bash("if go test ./...; then true; fi"), gives: []string{"any"}},
		{tool: "Bash", input: bash("go test ./... > out.txt"), gives: []string{"go", "any"}, voids: true},
		{tool: "Bash", input: bash("git status"), gives: []string{"any"}},
		{tool: "Bash", input: bash("cat main.go"), gives: []string{"any"}},
		{tool: "Bash", input: bash("sed -i s/a/b/ main.go"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("echo x > main.go"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("./gen.sh"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("npm run build"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("python3 -c 'open(1)'"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("stranger x"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("ourcheck x"), gives: []string{"any"}},
		{tool: "Bash", input: bash("ourgen x"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("ourbuild x"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("if ("), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: []byte(`{}`), gives: []string{"any"}, voids: true},
		{tool: "PowerShell", input: bash("go test ./..."), voids: true},
		{tool: "Edit", input: []byte(`{"file_path":"a.go","old_string":"a","new_string":"b"}`), voids: true},
		{tool: "save", input: []byte(`{"file":"a.go","text":"b"}`), voids: true},
		{tool: "Read", input: []byte(`{"file_path":"a.go"}`)},
		{tool: "mcp__ci__status", gives: []string{"ci"}},
		{tool: "mcp__evil__status", voids: true},
		{tool: "transition"},
		{tool: "mcp__interlock__transition"},
		{tool: "Monitor", input: bash("sed -i s/a/b/ main.go"), voids: true},
		{tool: "Skill", voids: true},
		{tool: "Workflow", voids: true},
		{tool: "stranger", voids: true},
		{tool: "KillShell", voids: true},
		{tool: "mcp__docs__search"},
		{tool: "mcp__docsx__search", voids: true},
		{tool: "mcp__db__query"},
		{tool: "mcp__db__query_and_write", voids: true},
		{tool: "TodoWrite"},
		{tool: "Task"},
		{tool: "AskUserQuestion"},
		{tool: "BashOutput"},
		{tool: "WebFetch"},
		{tool: "Agent", input: []byte(`{"run_in_background": true}`), voids: true},
		{tool: "Agent", input: []byte(`{"isolation": "remote"}`), voids: true},
		{tool: "Task", input: []byte(`{"isolation": ["worktree"]}`), voids: true},
		{tool: "Agent", input: []byte(`{"isolation": "worktree"}`)},
		{tool: "Agent", input: []byte(`{"isolation": null}`)},
		{tool: "str_replace_based_edit_tool", input: []byte(`{"command":"view","path":"a.go"}`)},
		{tool: "str_replace_based_edit_tool", input: []byte(`{"command":"create","path":"a.go","file_text":"x"}`), voids: true},
		{tool: "Bash", input: bash("mamba run x"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("enscript -I x"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("php -f x.php"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("git --git-dir=evil status"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("git push"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("npm publish"), gives: []string{"any"}, voids: true},
		{tool: "Bash", input: bash("ls -l | grep x && cd a"), gives: []string{"any"}},
	} {
		n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, toolcall.Call{Tool: c.tool, Input: c.input, Folder: c.folder}, "")
		if !slices.Equal(n.Gives, c.gives) || n.Voids != c.voids || n.Voids == (n.What == "") {
			t.Errorf("%s %s in %q: %+v", c.tool, c.input, c.folder, n)
		}
	}
	// Without a workspace it is unknown whether a folder is the one of the tests.
	begun := m.Start(workflow.StartParams{ID: "run"}, "x", time.Time{}).Run
	nowhere := begun.At("")
	for folder, gives := range map[string][]string{"": {"go", "any"}, "/repo/part": {"any"}} {
		call := toolcall.Call{Tool: "Bash", Input: bash("go test ./..."), Folder: folder}
		if n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &nowhere, call, ""); !slices.Equal(n.Gives, gives) {
			t.Errorf("in %q, without a workspace: %+v", folder, n)
		}
	}
	if n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, toolcall.Call{Tool: "status"}, "mcp__ci__status"); !slices.Equal(n.Gives, []string{"ci"}) {
		t.Errorf("a tool by its full name: %+v", n)
	}
}

// S16.1: a call is waited for unless it is known to only look.
func TestAffects(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{
		"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}},
		"meta": {"effect_deadline": "1m", "commands": {"ourcheck": "reads"}, "reconcile": [{"tool": "mcp__ci__status", "of": "mcp__ci__deploy", "ok": {"pointer": "/s", "op": "exists"}}]},
		"evidence": {"go": {"tool": "Bash", "command": "go test *"}}, "guards": {"g": {"evidence": "go"}}
	}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	run := m.Start(workflow.StartParams{ID: "run", Workspace: "/repo"}, "x", time.Time{}).Run
	at := run.At("")
	for tool, affects := range map[string]bool{
		"Read": false, "Grep": false, "WebFetch": false, "TodoWrite": false, "Task": false, "mcp__ci__status": false, "transition": false,
		"Edit": true, "Write": true, "mcp__ci__deploy": true, "Skill": true, "read_file": true,
	} {
		if n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, toolcall.Call{Tool: tool, Input: []byte(`{}`)}, ""); n.Affects != affects {
			t.Errorf("%s: %+v", tool, n)
		}
	}
	for line, affects := range map[string]bool{
		"ls -l | grep x": false, "cat a && git status": false, "go test ./...": false, "ourcheck": false, "cd a; pwd": false, "git log -3": false, "X=1": false,
		"git push": true, "git status && git push": true, "kubectl apply -f x": true, "curl -X POST http://x": true, "rm a": true, "sed -i s/a/b/ f": true,
		"find . -delete": true, "kill 1": true, "unknown": true, "make deploy": true, "ls > out": true, "$X": true, "cat $(git push)": true, "awk 'BEGIN{system(\"x\")}'": true,
		"git $X": true, "xargs git push": true, "rg --pre ./x y": true, "sort -o a b": true, "(": true,
	} {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		if n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, toolcall.Call{Tool: "Bash", Input: input}, ""); n.Affects != affects {
			t.Errorf("%s: %+v", line, n)
		}
	}
	plain := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, toolcall.Call{Tool: "status"}, "mcp__ci__status")
	if plain.Affects {
		t.Error("a tool that tells, by its plain name, is waited for")
	}
}

// S14.6: calls that may continue after their report. A call that only reads has no end to wait for.
func TestMeaningOfBackground(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	m := workflow.Compile(def, 1)
	run := m.Start(workflow.StartParams{ID: "run"}, "x", time.Time{}).Run
	at := run.At("")
	for _, c := range []struct {
		tool, input string
		want        bool
	}{
		{"Bash", `{"command":"./gen"}`, false},
		{"Bash", `{"command":"./gen && ./gen"}`, false},
		{"Bash", `{"command":"./gen 2>&1"}`, false},
		{"Bash", `{"command":"./gen","run_in_background":false}`, false},
		{"Bash", `{"command":"./gen","run_in_background":null}`, false},
		{"Bash", `{"command":"tail -f x &"}`, false},
		{"Bash", `{"command":"./gen &"}`, true},
		{"Bash", `{"command":"(./gen &) ; true"}`, true},
		{"Bash", `{"command":"if true; then { ./gen & }; fi"}`, true},
		{"Bash", `{"command":"sh -c './gen &'"}`, true},
		{"Bash", `{"command":"f() { ./gen & }; f"}`, true},
		{"Bash", `{"command":"echo $(./gen &)"}`, true},
		{"Bash", `{"command":"coproc ./gen"}`, true},
		{"Bash", `{"command":"nohup ./gen"}`, true},
		{"Bash", `{"command":"timeout 5 setsid ./gen"}`, true},
		{"Bash", `{"command":"/usr/bin/nohup ./gen"}`, true},
		{"Bash", `{"command":"echo ./gen | at now"}`, true},
		{"Bash", `{"command":"tmux new -d ./gen"}`, true},
		{"Bash", `{"command":"screen -dm ./gen"}`, true},
		{"Bash", `{"command":"docker run -d -v .:/w img ./gen"}`, true},
		{"Bash", `{"command":"docker run -itd img"}`, true},
		{"Bash", `{"command":"docker container run --detach img"}`, true},
		{"Bash", `{"command":"docker run --detach=true img"}`, true},
		{"Bash", `{"command":"docker run --detach=false img"}`, false},
		{"Bash", `{"command":"docker --context x run -d img"}`, true},
		{"Bash", `{"command":"/usr/bin/podman run -d img"}`, true},
		{"Bash", `{"command":"X=1 docker compose up -d"}`, true},
		{"Bash", `{"command":"docker-compose up --detach"}`, true},
		{"Bash", `{"command":"docker exec -d c ./gen"}`, true},
		{"Bash", `{"command":"docker start c"}`, true},
		{"Bash", `{"command":"docker run $X img"}`, true},
		{"Bash", `{"command":"docker run --rm -v \"$PWD\":/w img ./gen"}`, false},
		{"Bash", `{"command":"docker run --rm -it img ./gen"}`, false},
		{"Bash", `{"command":"docker build ."}`, false},
		{"Bash", `{"command":"systemctl --user start gen"}`, true},
		{"Bash", `{"command":"service gen start"}`, true},
		{"Bash", `{"command":"launchctl submit -l x -- ./gen"}`, true},
		{"Bash", `{"command":"brew services start gen"}`, true},
		{"Bash", `{"command":"ssh -fN host ./gen"}`, true},
		{"Bash", `{"command":"ssh host ./gen"}`, false},
		{"Bash", `{"command":"./gen --daemonize"}`, true},
		{"Bash", `{"command":"mongod --fork --logpath x"}`, true},
		{"Bash", `{"command":"emacs --daemon=x"}`, true},
		{"Bash", `{"command":"gunicorn --daemon app"}`, true},
		{"Bash", `{"command":"sh -c 'docker run -d img'"}`, true},
		{"Bash", `{"command":"docker ps -a"}`, false},
		{"Bash", `{"command":"./gen","run_in_background":true}`, true},
		{"Bash", `{"command":"./gen","run_in_background":"yes"}`, true},
		{"Bash", `{"command":"./gen","is_background":true}`, true},
		{"Bash", `{"command":"./gen","yield_time_ms":1}`, true},
		{"Bash", `{"command":"./gen & ("}`, true},
		{"Monitor", `{"command":"./gen"}`, true},
		{"Agent", `{"prompt":"x"}`, false},
		{"Agent", `{"prompt":"x","run_in_background":true}`, true},
		{"mcp__x__run", `{"background":true}`, true},
		{"mcp__x__run", `{"text":"background"}`, false},
		{"Edit", `{"file_path":"a.go","old_string":"a","new_string":"b"}`, false},
	} {
		if n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, toolcall.Call{Tool: c.tool, Input: []byte(c.input)}, ""); n.Background != c.want {
			t.Errorf("%s %s: %+v", c.tool, c.input, n)
		}
	}
}

// TestDetachedChecksShowNothing: S14.1, S14.6: a command that evidence names gives none where it returns before
// its programs have ended, and these may change files.
func TestDetachedChecksShowNothing(t *testing.T) {
	t.Parallel()
	for command, gives := range map[string]bool{
		"docker run tests": true, "docker run -d tests": false, "docker compose run --detach tests": false, "tmux new -d make test": false,
		"systemctl start tests": false, "nohup make test": false, "make test": true, "make test --daemon": false,
	} {
		def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": {"target": "z", "guard": "g"}}}, "z": {"type": "final"}},
			"evidence": {"tests": {"tool": "Bash", "command": "` + command + `", "exact": true, "after": "edit"}}, "guards": {"g": {"evidence": "tests"}}}`))
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		m := workflow.Compile(def, 1)
		run := m.Start(workflow.StartParams{ID: "run"}, "x", time.Time{}).Run
		at := run.At("")
		n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, toolcall.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`)}, "")
		if (len(n.Gives) == 1) != gives || !n.Voids && !gives || n.Background == gives {
			t.Errorf("%s: %+v", command, n)
		}
	}
}
