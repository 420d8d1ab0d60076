package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

func services(t *testing.T) (context.Context, *Policies, *Decisions) {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	a := app.New(st, nil, Announcer{}, time.Now, slog.New(slog.DiscardHandler), app.Config{})
	ctx := auth.WithPrincipal(t.Context(), auth.Principal{Name: "olga", Role: auth.Operator})
	return ctx, &Policies{Checks: a.Checks, Store: a.Policies, Pins: a.Pins}, &Decisions{Checks: a.Checks, Log: a.Log}
}

// A policy's life through the contract.
func TestPolicyService(t *testing.T) {
	t.Parallel()
	ctx, s, _ := services(t)
	definition := []byte(`{"role":"agent","name":"p","allow":[{"capability":"*","rate_limit":{"max_calls":5,"window_seconds":60}},
		{"capability":"bash","budget_limit":{"max_usd":1.5,"period":"daily"}}]}`)
	put, err := s.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Definition: definition})
	if err != nil || !put.GetCreated() || len(put.GetWarnings()) != 1 || put.GetWarnings()[0].GetPointer() != "/allow/0/capability" {
		t.Fatalf("%v, %v", put, err)
	}
	shadow, err := s.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Name: "p", Definition: []byte(`{"role":"agent"}`), Shadow: true})
	if err != nil || shadow.GetPolicy().GetVersion() != 2 || shadow.GetPolicy().GetLiveVersion() != 1 || shadow.GetPolicy().GetShadowVersion() != 2 {
		t.Fatalf("%v, %v", shadow, err)
	}
	to := &policyv1.Attachment{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, Id: "agent"}
	attached, err := s.AttachPolicy(ctx, &policyv1.AttachPolicyRequest{Name: "p", To: []*policyv1.Attachment{to}})
	if err != nil || len(attached.GetPolicy().GetAttachments()) != 1 || !proto.Equal(attached.GetPolicy().GetAttachments()[0], to) {
		t.Fatalf("%v, %v", attached, err)
	}
	if _, err := s.AttachPolicy(ctx, &policyv1.AttachPolicyRequest{Name: "p", To: []*policyv1.Attachment{{Kind: 77, Id: "x"}}}); fault.ReasonOf(err) != fault.InvalidRequest {
		t.Errorf("a kind that is not known: %v", err)
	}
	got, err := s.GetPolicy(ctx, &policyv1.GetPolicyRequest{Name: "p"})
	if err != nil || string(got.GetPolicy().GetDefinition()) != string(definition) || got.GetPolicy().GetCreatedBy() != "olga" ||
		len(got.GetPolicy().GetDigest()) != 64 || !got.GetPolicy().GetCreatedAt().IsValid() {
		t.Errorf("%v, %v", got, err)
	}
	list, err := s.ListPolicies(ctx, &policyv1.ListPoliciesRequest{})
	if err != nil || len(list.GetPolicies()) != 1 || list.GetPolicies()[0].GetDefinition() != nil || len(list.GetPolicies()[0].GetAttachments()) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	usage, err := s.GetPolicyUsage(ctx, &policyv1.GetPolicyUsageRequest{Name: "p"})
	if err != nil || len(usage.GetUsages()) != 2 {
		t.Fatalf("%v, %v", usage, err)
	}
	want := &policyv1.Usage{Capability: "*", Measure: policyv1.Measure_MEASURE_CALLS, Scope: policyv1.LimitScope_LIMIT_SCOPE_POLICY, Max: 5, Window: durationpb.New(time.Minute)}
	if !proto.Equal(usage.GetUsages()[0], want) {
		t.Errorf("%v, want %v", usage.GetUsages()[0], want)
	}
	if u := usage.GetUsages()[1]; u.GetMeasure() != policyv1.Measure_MEASURE_MONEY || u.GetMax() != 1_500_000 || u.GetPeriod() != policyv1.Period_PERIOD_DAILY || u.GetResetsAt().AsTime().Before(time.Now()) {
		t.Errorf("%v", u)
	}
	if _, err := s.PromotePolicy(ctx, &policyv1.PromotePolicyRequest{Name: "p", Version: 2}); err != nil {
		t.Error(err)
	}
	if _, err := s.DeletePolicy(ctx, &policyv1.DeletePolicyRequest{Name: "p"}); fault.ReasonOf(err) != fault.FailedPrecondition {
		t.Errorf("%v", err)
	}
	if _, err := s.DetachPolicy(ctx, &policyv1.DetachPolicyRequest{Name: "p", From: []*policyv1.Attachment{to}}); err != nil {
		t.Error(err)
	}
	if _, err := s.DeletePolicy(ctx, &policyv1.DeletePolicyRequest{Name: "p"}); err != nil {
		t.Error(err)
	}
	simulated, err := s.SimulatePolicy(ctx, &policyv1.SimulatePolicyRequest{Definition: definition, Since: timestamppb.Now()})
	if err != nil || simulated.GetReplayed() != 0 {
		t.Errorf("%v, %v", simulated, err)
	}
}

// A policy that is stored is compared with the tools of servers (S21.21).
func TestPolicyLooksAtNoArgument(t *testing.T) {
	t.Parallel()
	ctx, s, _ := services(t)
	put := func(want string) {
		t.Helper()
		resp, err := s.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{
			Name: "p", Definition: []byte(`{"role":"agent","deny":[{"capability":"mcp:pay:refund","unless":{"/amout":{"lte":9}}}]}`),
		})
		got := ""
		for _, w := range resp.GetWarnings() {
			got += w.GetCode() + " " + w.GetPointer()
		}
		if err != nil || got != want {
			t.Errorf("%v, %v, want %q", resp, err, want)
		}
	}
	put("")
	seen := []pins.Offered{{Tool: "refund", Digest: "1", Others: "/amount"}}
	if _, err := s.Pins.Pin(ctx, caller(ctx), "pay", seen, nil); err != nil {
		t.Fatal(err)
	}
	put("DOUBT_LIKELY /deny/0")
	s.Pins = pins.New(unreadable{}, Announcer{}, time.Now)
	put("DOUBT_LIKELY ")
}

// unreadable is a store without answers.
type unreadable struct{ store.Store }

func (unreadable) Get(context.Context, store.Key) (store.Record, error) {
	return store.Record{}, errors.New("gone")
}

func TestDecisionService(t *testing.T) {
	t.Parallel()
	ctx, _, s := services(t)
	list, err := s.ListDecisions(ctx, &policyv1.ListDecisionsRequest{})
	if err != nil || len(list.GetDecisions()) != 0 || list.GetNextPageToken() != "" {
		t.Errorf("%v, %v", list, err)
	}
	verified, err := s.VerifyDecisions(ctx, &policyv1.VerifyDecisionsRequest{})
	if err != nil || len(verified.GetChains()) != 0 {
		t.Errorf("%v, %v", verified, err)
	}
}

func TestDecisionQuery(t *testing.T) {
	t.Parallel()
	got, err := decisionQuery(`run_id=r AND session_id="s 1" AND tool=Bash AND decision=ASK AND since=2026-01-31T08:00:00Z AND shadowed=true ` +
		`AND not_decision=ALLOW,DENY AND code=TOOL_NOT_ALLOWED AND workflow="w 1" AND policy=p AND principal=ann`)
	want := decisionlog.Query{
		RunID: "r", SessionID: "s 1", Tool: "Bash", Decision: toolcall.Ask,
		Since: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC), Shadowed: true,
		NotDecisions: []toolcall.Decision{toolcall.Allow, toolcall.Deny}, Code: toolcall.CodeToolNotAllowed, Workflow: "w 1", Policy: "p", Principal: "ann",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := decisionQuery(""); err != nil || !reflect.DeepEqual(got, decisionlog.Query{}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, filter := range []string{"decision=MAYBE", "decision=UNSPECIFIED", "not_decision=ALLOW,MAYBE", "code=NOPE", "not_decision=%zz", "since=today", "shadowed=no", "run=r", `when="{"`, `when="{\"amount\": 1}"`} {
		if got, err := decisionQuery(filter); fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("%s: %+v, %v", filter, got, err)
		}
	}
}

// Every field of the contract's record says what the log does.
func TestRecordIsComplete(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := recordProto(&ledger.Decision{
		Partition: "run_0", Sequence: 9, Hash: "h", Time: at, Principal: "amir", SessionID: "s", RunID: "run_1", RunVersion: 7,
		Workflow: "w", WorkflowVersion: 2, State: "work", Branch: "b", CallID: "c", Tool: "t", Capability: "tool:t",
		Decision: toolcall.Ask, Code: toolcall.CodeApprovalPending, Message: "m", Rule: "/ask/0", Policy: "p", PolicyVersion: 3,
		InputDigest: "d", Input: json.RawMessage(`{}`), Facts: json.RawMessage(`{"writes":[]}`), Exceptions: []string{"exc_1"}, EstimatedCostUSD: "1", ApprovalID: "apr_1", LeaseID: "lse_1", JailLevel: 3, JailDigest: "sha256:00", Grant: "bg_1", MadeAt: at,
		Identity: &ledger.Identity{
			Role: "agent", Token: "session", Via: "mcp", Person: "per_1", Agent: "fixer", AgentVersion: 4, Root: "lead", Lineage: []string{"lead", "kid"},
			Human: &ledger.Human{Name: "ann", Issuer: "i", Source: "issuer", GroupsKnown: true, Expires: at}, Attributes: map[string]string{"team": "a"},
		},
		Shadows: []ledger.Shadow{{Policy: "p", PolicyVersion: 4, Workflow: "w", WorkflowDigest: "wd", Decision: toolcall.Deny, Code: toolcall.CodePolicyDenied, Message: "sm"}},
	})
	for _, m := range []proto.Message{got, got.GetShadows()[0], got.GetIdentity()} {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			// raw and committed_us are for those lists that ask for them.
			if f := fields.Get(i); !m.ProtoReflect().Has(f) && f.Name() != "raw" && f.Name() != "committed_us" {
				t.Errorf("%s is not set", f.FullName())
			}
		}
	}
	want := &policyv1.DecisionRecord{
		Partition: "run_0", Sequence: 9, Hash: "h", Time: timestamppb.New(at), Principal: "amir", SessionId: "s", RunId: "run_1", RunVersion: 7,
		Workflow: "w", WorkflowVersion: 2, State: "work", Branch: "b", CallId: "c", Tool: "t", Capability: "tool:t",
		Decision: policyv1.Decision_DECISION_ASK, Code: policyv1.DecisionCode_DECISION_CODE_APPROVAL_PENDING, Message: "m",
		Rule: "/ask/0", Policy: "p", PolicyVersion: 3, InputDigest: "d", Input: []byte(`{}`), Facts: []byte(`{"writes":[]}`), Exceptions: []string{"exc_1"}, EstimatedCostUsd: "1", ApprovalId: "apr_1", LeaseId: "lse_1", JailLevel: 3, JailDigest: "sha256:00", BreakGlassGrant: "bg_1", MadeAt: timestamppb.New(at),
		Identity: &policyv1.Identity{
			Principal: "amir", Role: "agent", Token: "session", Via: "mcp", Person: "per_1", Agent: "fixer", AgentVersion: 4, RootSession: "lead", Lineage: []string{"lead", "kid"},
			Human: &policyv1.Human{Name: "ann", Issuer: "i", Source: "issuer", GroupsKnown: true, Expires: timestamppb.New(at)}, Attributes: map[string]string{"team": "a"},
		},
		Shadows: []*policyv1.ShadowDecision{{
			Policy: "p", PolicyVersion: 4, Workflow: "w", WorkflowDigest: "wd",
			Decision: policyv1.Decision_DECISION_DENY, Code: policyv1.DecisionCode_DECISION_CODE_POLICY_DENIED, Message: "sm",
		}},
	}
	if !proto.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// Every kind of the contract can be attached to, and every measure and scope of the
// core has its word.
func TestAttachmentKinds(t *testing.T) {
	t.Parallel()
	values := policyv1.AttachmentKind(0).Descriptor().Values()
	for i := 1; i < values.Len(); i++ {
		kind := policyv1.AttachmentKind(values.Get(i).Number())
		a := attachment(&policyv1.Attachment{Kind: kind, Id: "x"})
		if kinds[a.Kind] != kind || a.ID != "x" {
			t.Errorf("%s is read as %+v", kind, a)
		}
	}
	if a := attachment(nil); slices.Contains([]policystore.AttachmentKind{policystore.AttachedToWorkflow, policystore.AttachedToProcess, policystore.AttachedToSession, policystore.AttachedToRole, policystore.AttachedToEveryone}, a.Kind) {
		t.Errorf("nothing is read as %+v", a)
	}
}

// What is announced says what has changed.
func TestPolicyEvents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e, err := Announcer{}.PolicyChanged("default", "olga", &policystore.Change{
		Type: "attached", Name: "p", Version: 3, Digest: "d", Shadow: true, IndexVersion: 8,
		Attachment: policystore.Attachment{Kind: policystore.AttachedToSession, ID: "s"},
	}, at)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := bus.Decode(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if c := ev.GetPolicyChanged(); e.Subject != "interlock.default.policy.p.attached" || ev.GetVersion() != 8 || ev.GetActor() != "olga" ||
		c.GetPolicyVersion() != 3 || c.GetDigest() != "d" || !c.GetShadow() || c.GetAttachment() != "session" || c.GetAttachedTo() != "s" {
		t.Errorf("%s: %v", e.Subject, ev)
	}
	sealed, err := Announcer{}.Sealed("default", decisionlog.Sealed{Partition: "run_1", Version: 2, First: 4, Last: 6, Head: "h"}, at)
	if err != nil {
		t.Fatal(err)
	}
	if ev, err = bus.Decode(sealed.Payload); err != nil {
		t.Fatal(err)
	}
	if s := ev.GetDecisionsSealed(); sealed.Subject != "interlock.default.audit.run_1.sealed" || ev.GetVersion() != 2 ||
		s.GetFirst() != 4 || s.GetLast() != 6 || s.GetHead() != "h" {
		t.Errorf("%s: %v", sealed.Subject, ev)
	}
}

// A limit without a period has no end of one.
func TestUsageWithoutPeriod(t *testing.T) {
	t.Parallel()
	u := usageProto(&policystore.Usage{Account: rules.Account{Measure: rules.Emails, Scope: rules.PerSession, Subject: "s"}, Used: 1, Max: 2})
	if want := (&policyv1.Usage{Measure: policyv1.Measure_MEASURE_EMAILS, Scope: policyv1.LimitScope_LIMIT_SCOPE_SESSION, Subject: "s", Used: 1, Max: 2}); !proto.Equal(u, want) {
		t.Errorf("%v, want %v", u, want)
	}
}
