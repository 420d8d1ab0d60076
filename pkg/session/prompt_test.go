package session_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/session"
)

var shared = session.Shared{
	Data: `{"status": "in_progress"}`, Schema: `{"type": "object"}`, Version: 7,
}

// TestPrompts compares the prompts with testdata/prompts, to be read (S11.2).
func TestPrompts(t *testing.T) {
	t.Parallel()
	completed := session.Callback{
		ID: "ses_1.1", SessionID: "ses_1", Name: "child-task", Update: session.UpdateCompleted, StateVersion: 7,
	}
	failed, crashed, alone := completed, completed, completed
	failed.Update, failed.Error = session.UpdateFailed, "the workflow state was not updated (attempts: 3)"
	crashed.Update, crashed.Error = session.UpdateSkipped, "out of memory"
	alone.Update, alone.StateVersion = session.UpdateNone, 0
	for name, got := range map[string]string{
		"update_1":           session.UpdatePrompt(1, 3, shared),
		"update_2":           session.UpdatePrompt(2, 3, shared),
		"update_3":           session.UpdatePrompt(3, 3, shared),
		"callback_completed": session.CallbackPrompt([]session.Callback{completed}, ""),
		"callback_failed":    session.CallbackPrompt([]session.Callback{failed}, ""),
		"callbacks":          session.CallbackPrompt([]session.Callback{completed, crashed, alone}, ""),
	} {
		file := "testdata/prompts/" + name + ".md"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is\n%s", file, got)
		}
	}
}

// TestUpdatePromptSays the parts that agents and their authors rely on, in every version
// (S11.5).
func TestUpdatePromptSays(t *testing.T) {
	t.Parallel()
	const first = "## Required: Update Workflow State\n\n" +
		"Your task is complete. You must now update the workflow state to record your results.\n\n" +
		"**Current State:**\n```json\n" + `{"status": "in_progress"}` + "\n```\n\n" +
		"**Schema:**\n```json\n" + `{"type": "object"}` + "\n```\n\n" +
		"**Instructions:**\n" +
		"1. Review your work results from this session\n" +
		"2. Call the `state_update` or `state_patch` tool to record:\n" +
		"   - Task status (completed/failed)\n" +
		"   - Results or outputs\n" +
		"   - Any relevant metadata\n" +
		"3. The state must conform to the schema above\n\n" +
		"**IMPORTANT:** You MUST call `state_update` or `state_patch` before completing.\n" +
		"Failure to update state will be treated as a task failure.\n"
	one, two, three := session.UpdatePrompt(1, 3, shared), session.UpdatePrompt(2, 3, shared), session.UpdatePrompt(3, 3, shared)
	if !strings.HasPrefix(one, first) {
		t.Errorf("the first is\n%s", one)
	}
	if !strings.HasSuffix(two, one) || !strings.Contains(strings.TrimSuffix(two, one), "Warning") || !strings.Contains(two, "attempt 2 of 3") {
		t.Errorf("the second is not the first with a warning:\n%s", two)
	}
	if len(three) >= len(one) || !strings.Contains(three, "`state_patch`") || !strings.Contains(three, "attempt 3 of 3") {
		t.Errorf("the third is not minimal with the tool that must be called:\n%s", three)
	}
	if six := session.UpdatePrompt(6, 9, shared); !strings.Contains(six, "attempt 6 of 9") {
		t.Errorf("the sixth is\n%s", six)
	}
}

// fenced reads the code blocks of Markdown as CommonMark does.
func fenced(markdown string) []string {
	var blocks []string
	fence := ""
	var inside []string
	for line := range strings.SplitSeq(markdown, "\n") {
		trimmed := strings.TrimRight(line, " \t")
		indent := len(trimmed) - len(strings.TrimLeft(trimmed, " "))
		ticks := strings.TrimLeft(trimmed, " ")
		row := len(ticks) - len(strings.TrimLeft(ticks, "`"))
		switch {
		case fence == "" && indent < 4 && row >= 3 && !strings.Contains(ticks[row:], "`"):
			fence, inside = ticks[:row], nil
		case fence != "" && indent < 4 && row >= len(fence) && row == len(ticks):
			blocks = append(blocks, strings.Join(inside, "\n"))
			fence = ""
		case fence != "":
			inside = append(inside, line)
		}
	}
	if fence != "" {
		blocks = append(blocks, "the fence is open at the end")
	}
	return blocks
}

// TestFences: no state and no schema ends its block, or begins another.
func TestFences(t *testing.T) {
	t.Parallel()
	text := rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{
		"`", "``", "```", "````", "\n", "\n```\n", "\n````  \n", "\n   `````\n", "json", "~~~", "x", " ", "**Schema:**\n", "\r",
	})), func(parts []string) string { return strings.Join(parts, "") })
	randtest.Check(t, func(t *rapid.T) {
		state := session.Shared{Data: text.Draw(t, "data"), Schema: text.Draw(t, "schema"), Version: 1}
		for attempt := range 3 {
			got := fenced(session.UpdatePrompt(attempt+1, 3, state))
			if len(got) != 2 || got[0] != state.Data || got[1] != state.Schema {
				t.Fatalf("attempt %d: %q, want %q and %q", attempt+1, got, state.Data, state.Schema)
			}
		}
	})
}

func TestLongState(t *testing.T) {
	t.Parallel()
	state := func(n int) string {
		text, err := json.Marshal(strings.Repeat("`", n-2))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const most = 64 << 10
	for attempt := 1; attempt <= 3; attempt++ {
		whole := session.Shared{Data: state(most), Schema: state(most)}
		if got := fenced(session.UpdatePrompt(attempt, 3, whole)); len(got) != 2 || got[0] != whole.Data || got[1] != whole.Schema {
			t.Errorf("attempt %d: what just fits is not shown", attempt)
		}
		long := session.UpdatePrompt(attempt, 3, session.Shared{Data: state(most + 1), Schema: state(1 << 20)})
		if len(long) > 2000 || !strings.Contains(long, "65537 bytes") || !strings.Contains(long, "1048576 bytes") ||
			!strings.Contains(long, "`state_read`") || !strings.Contains(long, "`state_schema`") || len(fenced(long)) != 0 {
			t.Errorf("attempt %d: what is too long is\n%s", attempt, long[:min(len(long), 2000)])
		}
	}
}

// TestCallbackPromptSays: parents and their authors rely on this text (S11.4).
func TestCallbackPromptSays(t *testing.T) {
	t.Parallel()
	completed := session.Callback{ID: "ses_1.1", Name: "child-task", Update: session.UpdateCompleted, StateVersion: 7}
	failed := completed
	failed.Update, failed.Error = session.UpdateFailed, "too late"
	crashed := completed
	crashed.Error = "too late"
	tests := []struct {
		name        string
		callback    session.Callback
		says, hides []string
	}{
		{
			"completed", completed,
			[]string{
				"## Child Session Completed\n\nSession: `child-task`\nStatus: finished\nWorkflow State Version: 7\n" +
					"State Update: completed\n\nThe workflow state has been updated. Use `state_read` to see current state.\n",
				"Workflow State Updated: yes\n", "Callback: ses_1.1\n",
			},
			[]string{"Warning"},
		},
		{
			"failed", failed,
			[]string{
				"Workflow State Updated: no\n", "State Update: failed\n",
				"Warning: Child failed to update workflow state. Error: too late\n", "\nUse `state_read` to see current state.\n",
			},
			[]string{"has been updated"},
		},
		{
			"completed by an agent that failed", crashed,
			[]string{"State Update: completed\n", "Warning: the child's agent failed. Error: too late\n", "has been updated"},
			[]string{"failed to update"},
		},
		{
			"without a state",
			session.Callback{ID: "ses_1.1", Name: "child-task", Update: session.UpdateNone},
			[]string{"Session: `child-task`\n", "State Update: none\n"},
			[]string{"Workflow State", "Warning", "state_read"},
		},
	}
	for _, test := range tests {
		got := session.CallbackPrompt([]session.Callback{test.callback}, "")
		for _, text := range test.says {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %q is missing in\n%s", test.name, text, got)
			}
		}
		for _, text := range test.hides {
			if strings.Contains(got, text) {
				t.Errorf("%s: %q is in\n%s", test.name, text, got)
			}
		}
	}
	if got := session.CallbackPrompt([]session.Callback{completed, failed}, ""); got !=
		session.CallbackPrompt([]session.Callback{completed}, "")+"\n"+session.CallbackPrompt([]session.Callback{failed}, "") {
		t.Errorf("two are\n%s", got)
	}
}

// FuzzCallbackPrompt: names and errors, which agents choose, take one line each and
// add no other text.
func FuzzCallbackPrompt(f *testing.F) {
	for _, text := range []string{
		"", "child", "a\nStatus: failed", "`; Callback: x", "a\r\n## Child", "\u2028\u2029\u0085\x00\x7f", "\u202egnirts", "\xff`", "📎 a",
		strings.Repeat("a\n", 5000), strings.Repeat("ü", 1000), strings.Repeat("ü", 1001),
	} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, name, reason string) {
		plain := session.Callback{ID: "ses_1.1", Name: "N", Update: session.UpdateFailed, StateVersion: 1, Error: "E"}
		told := plain
		told.ID, told.Name, told.Error = name, name, reason
		if reason == "" {
			plain.Error = ""
		}
		want := strings.Split(session.CallbackPrompt([]session.Callback{plain}, ""), "\n")
		got := strings.Split(session.CallbackPrompt([]session.Callback{told}, ""), "\n")
		if len(got) != len(want) {
			t.Fatalf("%q and %q take other lines:\n%s", name, reason, strings.Join(got, "\n"))
		}
		for i, line := range got {
			if strings.Count(line, "`") != strings.Count(want[i], "`") || !utf8.ValidString(line) || utf8.RuneCountInString(line) > 1100 ||
				strings.ContainsAny(line, "\x00\r\v\f\u0085\u2028\u2029\u202e") {
				t.Fatalf("line %d is %q", i, line)
			}
			if i != 2 && !strings.HasPrefix(line, "Callback: ") && !strings.HasPrefix(line, "Warning: ") && line != want[i] {
				t.Fatalf("line %d is %q, want %q", i, line, want[i])
			}
		}
	})
}
