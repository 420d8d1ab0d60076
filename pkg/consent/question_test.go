package consent_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

// TestQuestion: the same is asked when the action, the asker and the terms are the same,
// said or left to the defaults; and its approval shows that for as long as it is stored,
// with any votes.
func TestQuestion(t *testing.T) {
	t.Parallel()
	asked := func() *consent.Request {
		return &consent.Request{
			ID: "apr_1", Message: "Ship it?", Editable: true,
			Action: consent.Action{Kind: consent.ToolCall, Subject: document.StringValue("a"), Data: document.ObjectValue(nil)},
			Asker:  consent.Asker{Principal: "agent-7", SessionID: "ses_2", RootSession: "ses_1"},
		}
	}
	want := asked().Question()
	for name, tc := range map[string]struct {
		change func(*consent.Request)
		same   bool
	}{
		"id":      {func(r *consent.Request) { r.ID = "apr_2" }, true},
		"message": {func(r *consent.Request) { r.Message = "" }, true},
		"defaults": {func(r *consent.Request) {
			r.Terms = consent.Terms{Required: 1, DenyThreshold: 1, TTL: consent.DefaultTTL, Eligible: consent.Approvers{Roles: []string{consent.RoleApprover}}}
		}, true},
		"nobody":      {func(r *consent.Request) { r.Terms.Eligible = consent.Approvers{Roles: []string{}, Names: []string{}} }, true},
		"kind":        {func(r *consent.Request) { r.Action.Kind = consent.Transition }, false},
		"subject":     {func(r *consent.Request) { r.Action.Subject = document.StringValue("b") }, false},
		"data":        {func(r *consent.Request) { r.Action.Data = document.Value{} }, false},
		"editable":    {func(r *consent.Request) { r.Editable = false }, false},
		"principal":   {func(r *consent.Request) { r.Asker.Principal = "Agent-7" }, false},
		"session":     {func(r *consent.Request) { r.Asker.SessionID = "" }, false},
		"root":        {func(r *consent.Request) { r.Asker.RootSession = "ses_2" }, false},
		"sessions":    {func(r *consent.Request) { r.Asker.SessionID, r.Asker.RootSession = "ses_1", "ses_2" }, false},
		"quorum":      {func(r *consent.Request) { r.Terms.Required = 2 }, false},
		"rejections":  {func(r *consent.Request) { r.Terms.DenyThreshold = 2 }, false},
		"roles":       {func(r *consent.Request) { r.Terms.Eligible.Roles = []string{"operator"} }, false},
		"names":       {func(r *consent.Request) { r.Terms.Eligible.Names = []string{"approver"} }, false},
		"time":        {func(r *consent.Request) { r.Terms.TTL = time.Hour }, false},
		"escalation":  {func(r *consent.Request) { r.Terms.Escalation.After = time.Hour }, false},
		"escalatedTo": {func(r *consent.Request) { r.Terms.Escalation.To.Names = []string{"olga"} }, false},
	} {
		r := asked()
		tc.change(r)
		if same := r.Question() == want; same != tc.same {
			t.Errorf("%s: the same question %t, want %t", name, same, tc.same)
		}
	}
	out, err := consent.Open(*asked(), noon)
	if err != nil {
		t.Fatal(err)
	}
	edited := consent.Decision{Approve: true, Data: document.ObjectValue([]document.Member{{Name: "a", Value: document.NullValue()}})}
	out = out.Approval.Decide(consent.Approver{Name: "alice", Role: consent.RoleApprover}, edited, noon)
	text, err := json.Marshal(out.Approval)
	if err != nil {
		t.Fatal(err)
	}
	var stored consent.Approval
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	if stored.Edit == nil || stored.Question() != want {
		t.Errorf("the stored approval is of another question: %s", text)
	}
}
