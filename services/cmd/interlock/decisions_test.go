package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// decisionLog is a log of decisions whose pages have one record each.
type decisionLog struct {
	policyv1.UnimplementedDecisionServiceServer
	records []*policyv1.DecisionRecord
	chains  []*policyv1.ChainReport
	asked   *policyv1.ListDecisionsRequest
}

func (l *decisionLog) ListDecisions(_ context.Context, req *policyv1.ListDecisionsRequest) (*policyv1.ListDecisionsResponse, error) {
	if req.GetPageToken() == "" {
		l.asked = req
	}
	at := len(req.GetPageToken())
	resp := &policyv1.ListDecisionsResponse{Decisions: l.records[at : at+1]}
	if at+1 < len(l.records) {
		resp.NextPageToken = strings.Repeat("x", at+1)
	}
	return resp, nil
}

func (l *decisionLog) VerifyDecisions(_ context.Context, req *policyv1.VerifyDecisionsRequest) (*policyv1.VerifyDecisionsResponse, error) {
	at := len(req.GetPageToken())
	resp := &policyv1.VerifyDecisionsResponse{Chains: l.chains[at : at+1]}
	if at+1 < len(l.chains) {
		resp.NextPageToken = strings.Repeat("x", at+1)
	}
	return resp, nil
}

func someDecisions() *decisionLog {
	record := func(sequence int64, decision policyv1.Decision, code policyv1.DecisionCode, hash string) *policyv1.DecisionRecord {
		return &policyv1.DecisionRecord{
			Partition: "run_1", Sequence: sequence, Time: timestamppb.New(noon), Principal: "agent", RunId: "run_1", CallId: "c\x1b" + hash[1:], State: "a", Tool: "Bash",
			Capability: "bash", Decision: decision, Code: code, Hash: hash,
		}
	}
	denied := record(2, policyv1.Decision_DECISION_DENY, policyv1.DecisionCode_DECISION_CODE_POLICY_DENIED, "h2")
	denied.Rule, denied.Policy, denied.Tool = "policy p version 3, /deny/0", "p", "B\x1bsh"
	denied.Message = `Tool "Bash" is denied in state "a": the command "git push -f" is not in the list.`
	denied.Shadows = []*policyv1.ShadowDecision{
		{Policy: "p", PolicyVersion: 4, Decision: policyv1.Decision_DECISION_ALLOW},
		{Workflow: "w", Decision: policyv1.Decision_DECISION_DENY, Code: policyv1.DecisionCode_DECISION_CODE_TOOL_NOT_ALLOWED},
	}
	kept := record(1, policyv1.Decision_DECISION_ALLOW, 0, "h1")
	kept.Input = []byte(`{"command": "go test ./... -run ` + strings.Repeat("x", 60) + `"}`)
	return &decisionLog{
		records: []*policyv1.DecisionRecord{
			kept, denied, record(3, policyv1.Decision_DECISION_ALLOW, 0, "h3"),
		},
		chains: []*policyv1.ChainReport{
			{Partition: "run_1", Ok: true, Sealed: 3, Unsealed: 1, Head: "h3"}, {Partition: "run_2", Ok: true, Sealed: 1, Head: "x"},
		},
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	log := someDecisions()
	interlock := serve(t, func(s *grpc.Server) { policyv1.RegisterDecisionServiceServer(s, log) })
	out, told, code := interlock("decisions", "--run", "run_1", "--session", "s", "--decision", "deny", "--tool", "Bash", "--since", "2026-01-31T08:00:00Z", "--shadowed")
	const want = `TIME                  RUN    CALL        STATE  TOOL         DECISION            BY     RULE                         WHAT                                                          SHADOW
2026-11-21T12:00:00Z  run_1  c⟦U+001B⟧1  a      Bash         ALLOW               agent  the state                    go test ./... -run xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…  
2026-11-21T12:00:00Z  run_1  c⟦U+001B⟧2  a      B⟦U+001B⟧sh  DENY POLICY_DENIED  agent  policy p version 3, /deny/0  git push -f                                                   policy p version 4: ALLOW; workflow w: DENY TOOL_NOT_ALLOWED
2026-11-21T12:00:00Z  run_1  c⟦U+001B⟧3  a      Bash         ALLOW               agent  the state                    -                                                             
`
	if diff := gocmp.Diff(want, out); diff != "" || code != exitDone {
		t.Errorf("exit %d, told %q: %s", code, told, diff)
	}
	const filter = "run_id=run_1 AND session_id=s AND tool=Bash AND decision=DENY AND since=2026-01-31T08:00:00Z AND shadowed=true"
	if got := log.asked.GetFilter(); got != filter {
		t.Errorf("asked for %s", got)
	}
	out, _, code = interlock("decisions", "-o", "jsonl")
	if lines := strings.Split(out, "\n"); code != exitDone || len(lines) != 4 || !strings.HasPrefix(lines[1], `{"partition":"run_1","sequence":2,`) {
		t.Errorf("exit %d: %s", code, out)
	}
	out, _, code = interlock("decisions", "-o", "json")
	if code != exitDone || !strings.HasPrefix(out, "[\n") || strings.Count(out, `"sequence"`) != 3 {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, args := range [][]string{{"--decision", "MAYBE"}, {"--since", "yesterday"}, {"--since=-1h"}} {
		if _, told, code := interlock(append([]string{"decisions"}, args...)...); code != exitUsage || !regexp.MustCompile(`one of ALLOW, ASK, DENY|is not a time; write`).MatchString(told) {
			t.Errorf("%v: exit %d, %q", args, code, told)
		}
	}
}
