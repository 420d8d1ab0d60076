package sdktest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/sdk"
	"github.com/interlock-run/interlock/pkg/sdk/sdktest"
)

func done(context.Context) (sdk.Result, error) { return sdk.Result{Output: []byte("done")}, nil }

// The rules of the test decide, the newest of those that match; any other call is denied.
func TestTheRulesOfTheTestDecide(t *testing.T) {
	t.Parallel()
	fake := sdktest.New(t)
	client := fake.Client()
	var denied *sdk.DeniedError
	if _, err := client.Guard(t.Context(), "Edit", nil, done); !errors.As(err, &denied) || !strings.Contains(denied.Message, "no rule in the fake") {
		t.Errorf("without a rule: %v", err)
	}
	fake.Allow("Edit", "mcp__*")
	fake.Deny("mcp__mail__*", sdk.CodeEmailDenied, "no mail today")
	for _, tool := range []string{"Edit", "mcp__files__read"} {
		if result, err := client.Guard(t.Context(), tool, map[string]int{"n": 1}, done, sdk.InFolder("/repo")); err != nil || string(result.Output) != "done" || !result.Report.Accounted {
			t.Errorf("%s: %+v, %v", tool, result, err)
		}
	}
	if _, err := client.Guard(t.Context(), "mcp__mail__send", nil, done); !errors.As(err, &denied) || denied.Code != sdk.CodeEmailDenied || denied.Message != "no mail today" {
		t.Errorf("denied: %v", err)
	}
	calls, reports := fake.Calls(), fake.Reports()
	if len(calls) != 4 || calls[1].Tool != "Edit" || calls[1].Input != `{"n":1}` || calls[1].Folder != "/repo" || calls[1].Decision != sdk.Allow || calls[3].Decision != sdk.Deny {
		t.Errorf("calls: %+v", calls)
	}
	if len(reports) != 2 || !reports[0].OK || reports[0].Output != "done" || reports[0].CallID != calls[1].CallID || !reports[0].Accounted {
		t.Errorf("reports: %+v", reports)
	}
}

// An approval admits exactly its call, once.
func TestApprovals(t *testing.T) {
	t.Parallel()
	fake := sdktest.New(t)
	fake.Ask("Deploy")
	client := fake.Client()
	deploy := func(to string) (string, error) {
		_, err := client.Guard(t.Context(), "Deploy", map[string]string{"to": to}, done)
		var asks *sdk.ApprovalRequiredError
		if errors.As(err, &asks) {
			return asks.ApprovalID, nil
		}
		return "", err
	}
	id, err := deploy("prod")
	if again, err2 := deploy("prod"); err != nil || err2 != nil || id == "" || again != id {
		t.Fatalf("%q, %q, %v, %v", id, again, err, err2)
	}
	go fake.Approve(id)
	if a, err := client.WaitApproval(t.Context(), id); err != nil || !a.Granted() {
		t.Fatalf("%+v, %v", a, err)
	}
	other, err := deploy("test")
	if err != nil || other == "" || other == id {
		t.Errorf("another call: %q, %v", other, err)
	}
	if again, err := deploy("prod"); err != nil || again != "" {
		t.Errorf("the approved call: %q, %v", again, err)
	}
	if again, err := deploy("prod"); err != nil || again == "" || again == id {
		t.Errorf("a second time: %q, %v", again, err)
	}
	fake.Reject(other, "not now")
	if _, err := deploy("test"); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("a rejected call: %v", err)
	}
}

// While the fake is down nothing is decided, and nothing runs.
func TestDown(t *testing.T) {
	t.Parallel()
	fake := sdktest.New(t)
	fake.Allow("*")
	client := fake.Client()
	fake.Down()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var denied *sdk.DeniedError
	if _, err := client.Guard(ctx, "Read", nil, done); !errors.As(err, &denied) || denied.Code != sdk.CodePolicyUnavailable || !sdk.Retriable(err) {
		t.Errorf("down: %v", err)
	}
	fake.Up()
	if _, err := client.Guard(t.Context(), "Read", nil, done); err != nil {
		t.Errorf("up: %v", err)
	}
	if err := client.Close(); err != nil { // it waits for the report that the first call was not made
		t.Fatal(err)
	}
	if reports := fake.Reports(); len(reports) != 2 {
		t.Errorf("reports: %+v", reports)
	}
}

// Every session has a run, which accepts every event.
func TestRuns(t *testing.T) {
	t.Parallel()
	fake := sdktest.New(t)
	client := fake.Client()
	if _, err := client.Load(t.Context(), "bugfix", sdk.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if run, err := client.Transition(t.Context(), "READY", nil); err != nil || run.Ended() {
		t.Fatal(run, err)
	}
	if events := fake.Events(); len(events) != 1 || events[0] != "READY" {
		t.Errorf("events: %q", events)
	}
}
