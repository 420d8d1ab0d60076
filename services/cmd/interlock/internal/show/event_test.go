package show

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/prototest"
)

// eventAt is when the events of these tests were decided.
var eventAt = time.Date(2026, 11, 20, 14, 50, 52, 0, time.UTC)

// about fills in the members of every event.
func about(ev *eventv1.Event) *eventv1.Event {
	ev.Entity, ev.EntityId, ev.Version, ev.Actor = "run", "run_1", 2, "agent"
	if ev.Namespace == "" {
		ev.Namespace = "default"
	}
	ev.Time = timestamppb.New(eventAt)
	return ev
}

func TestEvent(t *testing.T) {
	t.Parallel()
	const head = "2026-11-20T14:50:52Z  run       run_1  "
	for want, ev := range map[string]*eventv1.Event{
		head + "transitioned  READY, planning -> implementing, \"line 42\", guards a b  by agent": {
			Type: "transitioned", Payload: &eventv1.Event_RunTransitioned{RunTransitioned: &eventv1.RunTransitioned{
				Event: "READY", From: "planning", To: "implementing", Rationale: "line 42", Guards: []string{"a", "b"},
			}},
		},
		head + "transitioned  GO, a -> b, safe next  by agent": {
			Type: "transitioned", Payload: &eventv1.Event_RunTransitioned{RunTransitioned: &eventv1.RunTransitioned{
				Event: "GO", From: "a", To: "b", SafeNext: true,
			}},
		},
		head + "rejected  SHIP, in testing, GUARD_FAILED, guards tests_passed, branch lint  by agent": {
			Type: "rejected", Payload: &eventv1.Event_RunRejected{RunRejected: &eventv1.RunRejected{
				Event: "SHIP", State: "testing", Code: "GUARD_FAILED", Message: "a long sentence", Guards: []string{"tests_passed"}, Branch: "lint",
			}},
		},
		head + "denied  Edit, TOOL_NOT_ALLOWED, in planning  by agent": {
			Type: "denied", Payload: &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{
				CallId: "c", Tool: "Edit", Decision: "DENY", Code: "TOOL_NOT_ALLOWED", Message: "m", State: "planning", RunVersion: 1, InputDigest: "d",
			}},
		},
		head + "allowed  Edit, NOT_ENFORCED, in shipped, \"run has ended\"  by agent": {
			Type: "allowed", Payload: &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{
				CallId: "c", Tool: "Edit", Decision: "ALLOW", Code: "NOT_ENFORCED", Message: "run has ended", State: "shipped",
			}},
		},
		head + "denied  Edit, TOOL_NOT_ALLOWED, for olga, agent reviewer  by agent": {
			Type: "denied", Payload: &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{
				CallId: "c", Tool: "Edit", Code: "TOOL_NOT_ALLOWED", Identity: &eventv1.CallIdentity{Role: "agent", Via: "hook", Human: "olga", Agent: "reviewer"},
			}},
		},
		head + "reported  Edit, ok, 120 bytes, changed a.go b.go, $0.02  by agent": {
			Type: "reported", Payload: &eventv1.Event_ToolcallReported{ToolcallReported: &eventv1.ToolCallReported{
				CallId: "c", Tool: "Edit", Ok: true, ResultBytes: 120, FilesChanged: []string{"a.go", "b.go"}, CostUsd: "0.02",
			}},
		},
		head + "reported  Edit, not ok  by agent": {
			Type: "reported", Payload: &eventv1.Event_ToolcallReported{ToolcallReported: &eventv1.ToolCallReported{CallId: "c", Tool: "Edit"}},
		},
		head + "started  bugfix, version 3, in planning, session s1  by agent": {
			Type: "started", Payload: &eventv1.Event_RunStarted{RunStarted: &eventv1.RunStarted{
				Workflow: "bugfix", WorkflowVersion: 3, State: "planning", SessionId: "s1",
			}},
		},
		head + "completed  in shipped  by agent": {
			Type: "completed", Payload: &eventv1.Event_RunEnded{RunEnded: &eventv1.RunEnded{Status: "COMPLETED", State: "shipped"}},
		},
		head + "held  \"lunch\"  by agent": {
			Type: "held", Payload: &eventv1.Event_RunPaused{RunPaused: &eventv1.RunPaused{Reason: "lunch"}},
		},
		head + "joined  GO, a -> b, not succeeded, branches x FAILED y CANCELLED, conflicts k  by agent": {
			Type: "joined", Payload: &eventv1.Event_RunJoined{RunJoined: &eventv1.RunJoined{
				Event: "GO", From: "a", To: "b", Conflicts: []string{"k"},
				Branches: []*eventv1.JoinedBranch{{Name: "x", Status: "FAILED"}, {Name: "y", Status: "CANCELLED"}},
			}},
		},
		head + "requested  tool_call, of run_2, PENDING, asked by a, asks role approver, asks olga  by agent": {
			Type: "requested", Payload: &eventv1.Event_ApprovalChanged{ApprovalChanged: &eventv1.ApprovalChanged{
				Kind: "tool_call", RunId: "run_2", Status: "PENDING", AskedBy: "a", Message: "May I?", Roles: []string{"approver"}, Names: []string{"olga"},
				Digest: "abc",
			}},
		},
		head + "approval.parked  apr_1, GO, a -> b, \"Go?\"  by agent": {
			Type: "approval.parked", Payload: &eventv1.Event_RunApprovalChanged{RunApprovalChanged: &eventv1.RunApprovalChanged{
				ApprovalId: "apr_1", Event: "GO", From: "a", To: "b", Reason: "Go?",
			}},
		},
		head + "attached  version 3, workflow, deploy  by agent": {
			Type: "attached", Payload: &eventv1.Event_PolicyChanged{PolicyChanged: &eventv1.PolicyChanged{
				PolicyVersion: 3, Attachment: "workflow", AttachedTo: "deploy",
			}},
		},
		head + "sealed  from 1, to 2, head abc  by agent": {
			Type: "sealed", Payload: &eventv1.Event_DecisionsSealed{DecisionsSealed: &eventv1.DecisionsSealed{First: 1, Last: 2, Head: "abc"}},
		},
		head + "shrugged  by agent": {Type: "shrugged"},
		// Another namespace is shown, without control characters for the terminal.
		"2026-11-20T14:50:52Z  run       team-a/run_1  paused  \"\\x1b[2J\\n␛\"  by agent": {
			Namespace: "team-a", Type: "paused", Payload: &eventv1.Event_RunPaused{RunPaused: &eventv1.RunPaused{Reason: "\x1b[2J\n␛"}},
		},
		head + "denied  a⟦U+001B⟧[2J b, in x  by agent": {
			Type: "denied", Payload: &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{CallId: "c", Tool: "a\x1b[2J\nb", State: "x"}},
		},
	} {
		if got := (Style{}).Event(about(ev), "default"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Events of the state-store say which version they lead to, and name sessions and
// states where the contract has several names for one.
func TestEventOfSharedState(t *testing.T) {
	t.Parallel()
	until := timestamppb.New(eventAt.Add(time.Minute))
	for want, ev := range map[string]*eventv1.Event{
		"updated  version 2, schema plan, schema version 3, session kid, at /a /b/0  by agent": {
			Type: "updated", Payload: &eventv1.Event_StateChanged{StateChanged: &eventv1.StateChanged{
				SchemaName: "plan", SchemaVersion: 3, RootSessionId: "ses_1", SessionId: "ses_2", SessionName: "kid", Pointers: []string{"/a", "/b/0"},
			}},
		},
		"created  version 2, schema plan, schema version 1, session ses_1, at (all)  by agent": {
			Type: "created", Payload: &eventv1.Event_StateChanged{StateChanged: &eventv1.StateChanged{
				SchemaName: "plan", SchemaVersion: 1, SessionId: "ses_1", Pointers: []string{""},
			}},
		},
		"deleted  schema plan, forced  by agent": {
			Type: "deleted", Payload: &eventv1.Event_StateDeleted{StateDeleted: &eventv1.StateDeleted{SchemaName: "plan", RootSessionId: "ses_1", Forced: true}},
		},
		"locked  fencing token 2, holder me, until 2026-11-20T14:51:52Z  by agent": {
			Type: "locked", Payload: &eventv1.Event_StateLocked{StateLocked: &eventv1.StateLocked{Holder: "me", ExpiresAt: until}},
		},
		"created  kid, parent ses_1, state wfstate_1  by agent": {
			Type: "created", Payload: &eventv1.Event_SessionCreated{SessionCreated: &eventv1.SessionCreated{
				Name: "kid", ParentSessionId: "ses_1", RootSessionId: "ses_1", WorkflowStateId: "wfstate_1",
			}},
		},
		"stopped  kid, FINISHED, state update PENDING, attempt 1, \"it \\x1b broke\"  by agent": {
			Type: "stopped", Payload: &eventv1.Event_SessionChanged{SessionChanged: &eventv1.SessionChanged{
				Name: "kid", Status: "FINISHED", StateUpdateStatus: "PENDING", Attempts: 1, Error: "it \x1b broke", ParentSessionId: "ses_1", RootSessionId: "ses_1",
			}},
		},
		"state_update.completed  kid, RUNNING, attempt 1  by agent": {
			Type: "state_update.completed", Payload: &eventv1.Event_SessionChanged{SessionChanged: &eventv1.SessionChanged{
				Name: "kid", Status: "RUNNING", StateUpdateStatus: "COMPLETED", Attempts: 1,
			}},
		},
		"ended  kid  by agent": {
			Type: "ended", Payload: &eventv1.Event_SessionChanged{SessionChanged: &eventv1.SessionChanged{Name: "kid", Status: "ENDED", StateUpdateStatus: "NONE"}},
		},
		"callback  lead, FINISHED, callback ses_2.1, of ses_2  by agent": {
			Type: "callback", Payload: &eventv1.Event_SessionChanged{SessionChanged: &eventv1.SessionChanged{
				Name: "lead", Status: "FINISHED", CallbackId: "ses_2.1", ChildSessionId: "ses_2",
			}},
		},
		"granted  state wfstate_1  by agent": {
			Type: "granted", Payload: &eventv1.Event_SessionGranted{SessionGranted: &eventv1.SessionGranted{StateId: "wfstate_1"}},
		},
		"failed  session ses_2, CALLBACK, runner r, \"exit status 3\", callbacks ses_2.1 ses_3.1  by agent": {
			Type: "failed", Payload: &eventv1.Event_TaskChanged{TaskChanged: &eventv1.TaskChanged{
				SessionId: "ses_2", Kind: "CALLBACK", Runner: "r", Error: "exit status 3", CallbackIds: []string{"ses_2.1", "ses_3.1"},
			}},
		},
		"committed  exec_1, session ses_2, subject team, values at version 4  by agent": {
			Type: "committed", Payload: &eventv1.Event_ComponentCommitted{ComponentCommitted: &eventv1.ComponentCommitted{
				ExecutionId: "exec_1", SessionId: "ses_2", Subject: "team", ValuesVersion: 4,
			}},
		},
	} {
		_, got, _ := strings.Cut((Style{}).Event(about(ev), "default"), "run_1  ")
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A message inside of a payload is worded, and never the address of its struct.
func TestEventWordsEveryMessage(t *testing.T) {
	t.Parallel()
	fields := (&eventv1.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("payload").Fields()
	for i := range fields.Len() {
		ev := &eventv1.Event{}
		m := ev.ProtoReflect()
		payload := m.NewField(fields.Get(i))
		prototest.Fill(payload.Message())
		m.Set(fields.Get(i), payload)
		if got := (Style{}).Event(about(ev), "default"); strings.ContainsAny(got, "&{") || strings.Contains(got, "map[") {
			t.Errorf("%s: %s", fields.Get(i).Name(), got)
		}
	}
}

// Every payload of the contract has facts to show, those that come later too.
func TestEventFactsOfEveryPayload(t *testing.T) {
	t.Parallel()
	fields := (&eventv1.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("payload").Fields()
	for i := range fields.Len() {
		ev := &eventv1.Event{}
		m := ev.ProtoReflect()
		payload := m.NewField(fields.Get(i)).Message()
		inner := payload.Descriptor().Fields()
		for j := range inner.Len() {
			switch f := inner.Get(j); {
			case f.Kind() == protoreflect.StringKind && f.IsList():
				payload.Mutable(f).List().Append(protoreflect.ValueOfString("v" + string(f.Name())))
			case f.Kind() == protoreflect.StringKind && !f.IsMap():
				payload.Set(f, protoreflect.ValueOfString("v"+string(f.Name())))
			}
		}
		m.Set(fields.Get(i), protoreflect.ValueOfMessage(payload))
		if got := (Style{}).eventFacts(ev); !strings.Contains(got, "v") {
			t.Errorf("%s tells nothing: %q", fields.Get(i).Name(), got)
		}
	}
}
