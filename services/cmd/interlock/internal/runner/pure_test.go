package runner

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/randtest"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	given := &statev1.Task{
		TaskId: "task_1", Kind: statev1.TaskKind_TASK_KIND_CALLBACK, SessionId: "ses_1", SessionName: "a b", WorkflowStateId: "wfstate_1",
		ParentSessionId: "ses_0", Callbacks: []*statev1.Callback{
			{
				CallbackId: "c.1", SessionId: "ses_2", SessionName: "lint", StateVersion: 7, Result: `{"bugs":0}`,
				StateUpdateStatus: statev1.StateUpdateStatus_STATE_UPDATE_STATUS_COMPLETED,
			},
			{
				CallbackId: "d.2", SessionName: "docs", StateUpdateStatus: statev1.StateUpdateStatus_STATE_UPDATE_STATUS_FAILED,
				Error: "late", Result: `"cut`, ResultTruncated: true,
			},
		},
		Execution: &statev1.Execution{ExecutionId: "exec_1", Values: []byte(`{"n":null}`)},
	}
	want := []string{
		"WORKFLOW_STATE_ID=wfstate_1", "INTERLOCK_SESSION=a b", "INTERLOCK_SESSION_ID=ses_1", "INTERLOCK_TASK_ID=task_1",
		"INTERLOCK_TASK_KIND=callback", "INTERLOCK_PARENT_SESSION=ses_0", "INTERLOCK_CALLBACK_IDS=c.1,d.2",
		// S15.5.
		`INTERLOCK_CALLBACKS=[{"callback_source":"lint","callback_id":"c.1","session_id":"ses_2","workflow_state_version":7,` +
			`"state_update_status":"completed","result":{"bugs":0}},` +
			`{"callback_source":"docs","callback_id":"d.2","session_id":"","state_update_status":"failed","error":"late","result_truncated":true}]`,
		"INTERLOCK_EXECUTION=exec_1", `INTERLOCK_COMPONENT_VALUES={"n":null}`,
	}
	if diff := cmp.Diff(want, variables(given)); diff != "" {
		t.Error(diff)
	}
	given.Execution.Values = []byte(strings.Repeat("x", 128<<10))
	if got := variables(given); len(got) != len(want)-1 || !slices.Contains(got, "INTERLOCK_EXECUTION=exec_1") {
		t.Errorf("%d variables, with values that no system passes on", len(got))
	}
	given.Execution = nil
	if diff := cmp.Diff(want[:8], variables(given)); diff != "" {
		t.Error(diff)
	}
}

// An agent gets no identity of the runner: neither its token, under any
// name, nor the folder that has all tokens.
func TestEnviron(t *testing.T) {
	t.Parallel()
	got := Environ([]string{
		"PATH=/bin", "HOME=", "INTERLOCK_TOKEN=ilk_operator", "OTHER=x ilk_operator y", "INTERLOCK_DATA=/d", "INTERLOCK_SESSION=s",
		"INTERLOCK_AGENT_TOKEN=ilk_agent", "INTERLOCK_NAMESPACE=team", "ODD", "INTERLOCK_SERVER=h:1", "WORKFLOW_STATE_ID=w",
	}, "ilk_operator")
	if diff := cmp.Diff([]string{"PATH=/bin", "HOME=", "INTERLOCK_NAMESPACE=team", "ODD"}, got); diff != "" {
		t.Error(diff)
	}
	if got := Environ([]string{"A=b"}, ""); !slices.Equal(got, []string{"A=b"}) {
		t.Errorf("without a token: %q", got)
	}
}

func TestClaimLength(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct{ left, length, period time.Duration }{
		{30 * time.Second, 30 * time.Second, 10 * time.Second},
		{6 * time.Second, 6 * time.Second, 2 * time.Second},
		{10 * time.Minute, 10 * time.Minute, 10 * time.Second}, // the server's clock may be ahead
		{-time.Hour, time.Second, time.Second / 3},             // or behind
	} {
		length := lengthOf(timestamppb.New(now.Add(tc.left)), now)
		if length != tc.length || period(length) != tc.period {
			t.Errorf("%s left: lasts %s, extended after %s", tc.left, length, period(length))
		}
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	for failures := range 100 {
		if p := pause(failures); p < 50*time.Millisecond || p > maxPause {
			t.Errorf("%s after %d failures", p, failures)
		}
	}
	if p := pause(100); p < maxPause/2 {
		t.Errorf("%s after 100 failures", p)
	}
}

// Lines do not depend on how they were written.
func TestLines(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		var got []string
		l := &lines{pass: func(line string) { got = append(got, line) }}
		text := ""
		for _, chunk := range rapid.SliceOf(rapid.StringMatching(`[a-c\n]{0,6}`)).Draw(t, "chunks") {
			text += chunk
			if n, err := l.Write([]byte(chunk)); n != len(chunk) || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		l.flush()
		want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if text == "" {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	var got []int
	l := &lines{pass: func(line string) { got = append(got, len(line)) }}
	_, _ = l.Write([]byte(strings.Repeat("x", 2*maxLine+5) + "\r\nend"))
	l.flush()
	if diff := cmp.Diff([]int{maxLine, maxLine, 5, 3}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line that is long\n", 1000)
	for _, tc := range []struct{ how, stderr, want string }{
		{"exit status 1", "", "exit status 1"},
		{"exit status 1", "  \n", "exit status 1"},
		{"exit status 1", "a\nb\n", "exit status 1: a\nb"},
		{"exit status 1", "\xff\xfea\x80", "exit status 1: a"},
		{"exit status 1", long, "exit status 1: " + strings.TrimSpace(strings.Repeat("line that is long\n", (maxReason-15)/18))},
		{"exit status 1", strings.Repeat("x", maxReason+5), "exit status 1: " + strings.Repeat("x", maxReason-15)},
	} {
		var stderr tail
		_, _ = stderr.Write([]byte(tc.stderr))
		if got := reason(tc.how, &stderr); got != tc.want {
			t.Errorf("%.20q: got %q, want %q", tc.stderr, got, tc.want)
		}
	}
}

// A reason is always text that the server takes, and has the end of the
// text.
func TestReasonOfAnything(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		var stderr tail
		for _, chunk := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 3000)).Draw(t, "chunks") {
			_, _ = stderr.Write(chunk)
		}
		_, _ = stderr.Write([]byte("\nthe end\n"))
		got := reason("signal: killed", &stderr)
		if len(got) > maxReason || !utf8.ValidString(got) || !strings.HasPrefix(got, "signal: killed: ") || !strings.HasSuffix(got, "the end") {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
	})
}
