package mcp

import (
	"context"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// judgedWithoutRun judges calls of sessions without a run as policies of a role or a
// session would.
func (p *plane) judgedWithoutRun(decision policyv1.Decision, code policyv1.DecisionCode, message string) {
	p.onCheck = func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
		return &policyv1.CheckToolCallResponse{Decision: decision, Code: code, Message: message, CallId: in.GetCallId(), ApprovalId: "apr_1"}, nil
	}
}

// TestPoliciesWithoutRun: calls that no run is behind are let through by --allow-unbound
// only as far as policies of their role or session let them (S7).
func TestPoliciesWithoutRun(t *testing.T) {
	t.Parallel()
	const (
		allow, deny, ask = policyv1.Decision_DECISION_ALLOW, policyv1.Decision_DECISION_DENY, policyv1.Decision_DECISION_ASK
		denied, required = policyv1.DecisionCode_DECISION_CODE_POLICY_DENIED, policyv1.DecisionCode_DECISION_CODE_APPROVAL_REQUIRED
	)
	for _, row := range []struct {
		name     string
		decision policyv1.Decision
		code     policyv1.DecisionCode
		want     string // code of the refusal; empty for none
		text     string
	}{
		{"allowed", allow, 0, "", ""},
		{"denied", deny, denied, "POLICY_DENIED", "not with this tool"},
		{"asked", ask, required, "APPROVAL_REQUIRED", "A person with the role approver decides it"},
		{"no decision", 0, 0, "POLICY_UNAVAILABLE", "an unknown decision"},
	} {
		for query, session := range map[string]string{"": "mcp-without-session", "?session=s1": "s1"} {
			for _, name := range []string{"look", "mcp__fs__look"} {
				t.Run(row.name+query+" "+name, func(t *testing.T) {
					t.Parallel()
					p := newPlane()
					p.judgedWithoutRun(row.decision, row.code, "not with this tool")
					fs := upstreamtest.NewBackend(t, "look")
					s := server(t, p, func(c *Config) { c.Upstreams, c.AllowUnbound = []upstream.Server{fs.As("fs")}, true })
					result := call(t, overHTTP(t, endpoint(t, s)+query, "2026-07-28", nil, nil), name, `{"path":"a"}`)
					if row.want == "" {
						wantOK(t, result, "look {")
					} else {
						wantRefused(t, result, row.want, row.text)
					}
					if called := len(fs.Called()) > 0; called != (row.want == "") {
						t.Errorf("the upstream was called: %v", called)
					}
					p.mu.Lock()
					defer p.mu.Unlock()
					made := 0
					if row.want == "" {
						made = 1
					}
					if len(p.checks) != 1 || len(p.reports) != made {
						t.Fatalf("%d checks, %d reports", len(p.checks), len(p.reports))
					}
					if made == 1 && (p.reports[0].GetSessionId() != session || p.reports[0].GetRunId() != "" || !p.reports[0].GetOk() || p.reports[0].GetTool() != "mcp__fs__look") {
						t.Errorf("reported %v", p.reports[0])
					}
					// Policies mean the name with the server.
					check := p.checks[0]
					if check.GetSessionId() != session || check.GetRunId() != "" || check.GetTool() != "mcp__fs__look" ||
						string(check.GetInput()) != `{"path":"a"}` || check.GetCallId() == "" {
						t.Errorf("asked %v", check)
					}
				})
			}
		}
	}
}

// TestDoubtWithoutRun: a call passes only after the enforcer has answered that no rule holds.
func TestDoubtWithoutRun(t *testing.T) {
	t.Parallel()
	for _, reason := range []fault.Reason{fault.Unavailable, fault.Internal, fault.PermissionDenied, fault.Unauthenticated, fault.InvalidRequest} {
		for _, query := range []string{"", "?session=s1"} {
			p := newPlane()
			p.onCheck = func(context.Context, *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
				return nil, fault.New(reason, "in doubt").GRPCStatus().Err()
			}
			fs := upstreamtest.NewBackend(t, "read_file")
			s := server(t, p, func(c *Config) { c.Upstreams, c.AllowUnbound = []upstream.Server{fs.As("fs")}, true })
			result := call(t, overHTTP(t, endpoint(t, s)+query, "2026-07-28", nil, nil), "mcp__fs__read_file", `{}`)
			if !result.IsError || len(fs.Called()) > 0 {
				t.Errorf("%s, %q: %s", reason, query, textOf(result))
			}
		}
	}
}

// TestNotAskedWithoutRun: where calls without a run are refused, the enforcer is not called.
func TestNotAskedWithoutRun(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.judgedWithoutRun(policyv1.Decision_DECISION_ALLOW, 0, "")
	fs := upstreamtest.NewBackend(t, "read_file")
	url := endpoint(t, server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} }))
	wantRefused(t, call(t, overHTTP(t, url+"?session=s1", "2026-07-28", nil, nil), "mcp__fs__read_file", `{}`), "NO_WORKFLOW")
	wantRefused(t, call(t, overHTTP(t, url, "2026-07-28", nil, nil), "mcp__fs__read_file", `{}`), "NOT_BOUND")
	if checks, _ := p.counts(); checks > 0 || len(fs.Called()) > 0 {
		t.Errorf("%d checks, called %v", checks, fs.Called())
	}
}

// TestRunMeanwhile: a run that begins while a call without one is judged has its say,
// and one that ends leaves no call let through by its rules.
func TestRunMeanwhile(t *testing.T) {
	t.Parallel()
	t.Run("begins", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"look", "mcp__fs__read_file"} {
			p := newPlane()
			p.onCheck = func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.drives["s1"] == "" {
					p.startLocked("deploy", "s1")
				}
				return p.judge(in)
			}
			fs := upstreamtest.NewBackend(t, "read_file")
			behind := fs.As("fs")
			behind.Names = map[string]string{"look": "read_file"}
			s := server(t, p, func(c *Config) { c.Upstreams, c.AllowUnbound = []upstream.Server{behind}, true })
			result := call(t, overStdio(t, s, "2026-07-28", nil), name, `{}`)
			// The state allows the full name alone.
			if full := strings.HasPrefix(name, "mcp__"); result.IsError == full || (len(fs.Called()) > 0) != full {
				t.Errorf("%s: %s", name, textOf(result))
			}
			if last := p.lastReport(); last.GetRunId() != "run_1" || last.GetOk() == result.IsError || last.GetNotExecuted() != result.IsError || last.GetOutcomeUnknown() {
				t.Errorf("%s: reported %v", name, last)
			}
		}
	})
	t.Run("is left", func(t *testing.T) {
		t.Parallel()
		p := newPlane()
		p.start("s1")
		p.onCheck = func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.drives, "s1")
			return &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, CallId: in.GetCallId()}, nil
		}
		fs := upstreamtest.NewBackend(t, "read_file")
		s := server(t, p, func(c *Config) { c.Upstreams, c.AllowUnbound = []upstream.Server{fs.As("fs")}, true })
		result := call(t, overStdio(t, s, "2026-07-28", nil), "mcp__fs__read_file", `{}`)
		wantRefused(t, result, "POLICY_UNAVAILABLE", "make it again")
		if last := p.lastReport(); last.GetSessionId() != "s1" || last.GetRunId() != "" || !last.GetNotExecuted() || len(fs.Called()) > 0 {
			t.Errorf("reported %v, called %v", last, fs.Called())
		}
	})
}

// TestSuperseded: a connection to a run that its session has left for another gets a refusal
// with the address of the other; own tools still answer.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status enginev1.RunStatus
		way    string // of the connection
	}{
		{"paused", enginev1.RunStatus_RUN_STATUS_PAUSED, "?run=run_1"},
		{"completed", enginev1.RunStatus_RUN_STATUS_COMPLETED, "?run=run_1"},
		{"cancelled", enginev1.RunStatus_RUN_STATUS_CANCELLED, "/runs/run_1"},
	} {
		for _, version := range versions {
			t.Run(row.name+version, func(t *testing.T) {
				t.Parallel()
				p := newPlane()
				p.start("s1")
				p.start("s1")
				p.change("run_1", func(r *enginev1.Run) { r.Status, r.SupersededBy, r.Rules.LegalEvents = row.status, "run_2", nil })
				fs := upstreamtest.NewBackend(t, "read_file")
				s := server(t, p, func(c *Config) { c.Upstreams, c.AllowUnbound = []upstream.Server{fs.As("fs")}, true })
				session := overHTTP(t, endpoint(t, s)+row.way, version, nil, nil)
				wantRefused(t, call(t, session, "mcp__fs__read_file", `{}`), "RUN_NOT_ACTIVE",
					"This connection names run run_1, whose session now drives run run_2", "Connect to /mcp?session=s1, or to /mcp?run=run_2.")
				for _, tool := range []string{"get_state", "get_status", "wait"} {
					result := call(t, session, tool, `{}`)
					wantOK(t, result, "Its session drives run run_2 now")
					if strings.Contains(textOf(result), "load_workflow") || strings.Contains(textOf(result), "Nothing is enforced") {
						t.Errorf("%s: %s", tool, textOf(result))
					}
				}
				if got := call(t, session, "get_state", `{}`).StructuredContent.(map[string]any)["superseded_by"]; got != "run_2" {
					t.Errorf("superseded_by is %v", got)
				}
				wantOK(t, call(t, session, "list_workflows", `{}`), "deploy")
				if version < wire.ProtocolStateless {
					if got := toolNames(t, session); len(got) != 0 {
						t.Errorf("listed %v", got)
					}
				}
				// By its session the same agent continues.
				wantOK(t, call(t, overHTTP(t, endpoint(t, s)+"?session=s1", version, nil, nil), "mcp__fs__read_file", `{}`))
				if len(fs.Called()) != 1 {
					t.Errorf("called %v", fs.Called())
				}
			})
		}
	}
}
