package workflow_test

import (
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestEffective: S2.9, a deployment's while_running is written where a workflow names no
// enforcement, with approval_mode none where it names no mode. The rest stays.
func TestEffective(t *testing.T) {
	t.Parallel()
	const rest = `"id":"w","n":1e2,"big":123456789012345678901234567890,"states":{"a":{"meta":{"x":1}}},"list":[1,"\u00e9",null]`
	for name, test := range map[string]struct{ src, want string }{
		"no meta":             {`{` + rest + `}`, `{` + rest + `,"meta":{"enforcement":"while_running","approval_mode":"none"}}`},
		"an empty meta":       {`{"meta":{},` + rest + `}`, `{"meta":{"enforcement":"while_running","approval_mode":"none"},` + rest + `}`},
		"other words of meta": {`{"meta":{"debug":true,"tools":["a","b"]},` + rest + `}`, `{"meta":{"debug":true,"tools":["a","b"],"enforcement":"while_running","approval_mode":"none"},` + rest + `}`},
		"a named mode":        {`{"meta":{"approval_mode":"ui"},` + rest + `}`, `{"meta":{"approval_mode":"ui","enforcement":"while_running"},` + rest + `}`},
		"a mode that is null": {`{"meta":{"approval_mode":null},` + rest + `}`, `{"meta":{"approval_mode":null,"enforcement":"while_running"},` + rest + `}`},
		"until_success":       {`{"meta":{"enforcement":"until_success"},` + rest + `}`, ""},
		"always":              {`{"meta":{"enforcement":"always"},` + rest + `}`, ""},
		"while_running":       {`{"meta":{"enforcement":"while_running"},` + rest + `}`, ""},
		"an unknown word":     {`{"meta":{"enforcement":"never"},` + rest + `}`, ""},
		"null":                {`{"meta":{"enforcement":null},` + rest + `}`, ""},
		"meta is null":        {`{"meta":null,` + rest + `}`, ""},
		"meta is a text":      {`{"meta":"while_running",` + rest + `}`, ""},
		"meta is a list":      {`{"meta":[{"enforcement":"always"}],` + rest + `}`, ""},
		"a list":              {`[{"id":"w"}]`, ""},
		"a text":              {`"w"`, ""},
		"null itself":         {`null`, ""},
		"no JSON":             {`{"id":`, ""},
		"nothing":             {``, ""},
		"a name twice":        {`{"meta":{},"meta":{"enforcement":"always"}}`, ""},
		"YAML":                {"id: w\nstates: {a: {}}\n", ""},
	} {
		for _, kind := range append(workflow.Kinds(), "") {
			got, want := string(kind.Write([]byte(test.src))), test.src
			if kind == workflow.WhileRunning && test.want != "" {
				want = test.want
			}
			if got != want && canonical(got) != canonical(want) {
				t.Errorf("%s, deployed with %q:\n got %s\nwant %s", name, kind, got, want)
			}
			if again := string(kind.Write([]byte(got))); again != got && canonical(again) != canonical(got) {
				t.Errorf("%s, deployed with %q: written twice it is %s", name, kind, again)
			}
		}
	}
}

// canonical returns a JSON text as it is written, or empty for other text.
func canonical(text string) string {
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		return ""
	}
	return v.String()
}

// TestEffectiveIsRead: S2.9, a reader of the definition finds the written value, and
// without it a workflow means the same as with the words of the default.
func TestEffectiveIsRead(t *testing.T) {
	t.Parallel()
	const states = `"id":"w","initial":"a","states":{"a":{"on":{"GO":{"target":"z","requires_approval":true}}},"z":{"type":"final"}}`
	for _, test := range []struct {
		src         string
		kind        workflow.Enforcement
		enforcement workflow.Enforcement
		mode        string
	}{
		{`{` + states + `}`, workflow.UntilSuccess, workflow.UntilSuccess, "ui"},
		{`{` + states + `}`, "", workflow.UntilSuccess, "ui"},
		{`{` + states + `}`, workflow.Always, workflow.UntilSuccess, "ui"},
		{`{` + states + `}`, workflow.WhileRunning, workflow.WhileRunning, "none"},
		{`{` + states + `,"meta":{"approval_mode":"ui"}}`, workflow.WhileRunning, workflow.WhileRunning, "ui"},
		{`{` + states + `,"meta":{"enforcement":"until_success"}}`, workflow.WhileRunning, workflow.UntilSuccess, "ui"},
		{`{` + states + `,"meta":{"enforcement":"always","approval_mode":"none"}}`, workflow.WhileRunning, workflow.Always, "none"},
		{`{` + states + `,"meta":{"enforcement":"while_running"}}`, workflow.UntilSuccess, workflow.WhileRunning, "ui"},
	} {
		def, problems := workflow.Parse(test.kind.Write([]byte(test.src)))
		if def == nil {
			t.Errorf("%s: %v", test.src, problems)
			continue
		}
		if def.Meta.Enforcement != test.enforcement || def.Meta.ApprovalMode != test.mode {
			t.Errorf("%s, deployed with %q: enforcement %q, approval_mode %q", test.src, test.kind, def.Meta.Enforcement, def.Meta.ApprovalMode)
		}
	}
	def, _ := workflow.Parse([]byte(`{` + states + `}`))
	named, _ := workflow.Parse([]byte(`{` + states + `,"meta":{"enforcement":"until_success","approval_mode":"ui"}}`))
	if m := workflow.Compile(def, 1); m.Enforcement() != workflow.Compile(named, 1).Enforcement() || m.Meta().ApprovalMode != named.Meta.ApprovalMode {
		t.Errorf("the default is %q, %q", m.Enforcement(), m.Meta().ApprovalMode)
	}
}

// TestKindsOfEnforcement: S2.9, which kind keeps an agent before the end, lifts enforcement at an
// end, and is as strong as which. No word that there is not is weaker than the default.
func TestKindsOfEnforcement(t *testing.T) {
	t.Parallel()
	ends := []workflow.Status{
		workflow.Running, workflow.Waiting, workflow.AwaitingApproval, workflow.Paused, workflow.Held,
		workflow.Completed, workflow.Failed, workflow.Blocked, workflow.Cancelled, "", "completed",
	}
	order := []workflow.Enforcement{workflow.WhileRunning, workflow.UntilSuccess, workflow.Always}
	if !slices.Equal(slices.Sorted(slices.Values(order)), slices.Sorted(slices.Values(workflow.Kinds()))) {
		t.Fatalf("the kinds are %v", workflow.Kinds())
	}
	for _, kind := range append(workflow.Kinds(), "", "While_Running", "none") {
		rank := slices.Index(order, kind)
		if rank < 0 {
			rank = 1
		}
		if kind.Keeps() != (rank > 0) {
			t.Errorf("%q keeps its agents: %t", kind, kind.Keeps())
		}
		for _, status := range ends {
			want := status == workflow.Completed && rank < 2 || status == workflow.Failed && rank == 0
			if kind.Lifts(status) != want {
				t.Errorf("%q lifts when %s: %t", kind, status, !want)
			}
		}
		for other, name := range order {
			if kind.AtLeast(name) != (rank >= other) || name.AtLeast(kind) != (other >= rank) {
				t.Errorf("%q at least %q: %t, and %t the other way", kind, name, kind.AtLeast(name), name.AtLeast(kind))
			}
		}
	}
	if workflow.Enforcement("").String() != "until_success" {
		t.Errorf("the zero value is %q", workflow.Enforcement(""))
	}
}
