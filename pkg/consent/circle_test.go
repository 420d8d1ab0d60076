package consent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
)

func further(required int, names ...string) consent.Circle {
	return consent.Circle{Term: "/meta/approval/terms/0", Required: required, Eligible: consent.Approvers{Names: names}}
}

// TestCircles: S21.15: an approval is granted when every circle has agreed, and a vote counts in each that has its voter.
func TestCircles(t *testing.T) {
	t.Parallel()
	base := consent.Terms{Eligible: consent.Approvers{Roles: []string{"approver"}}}
	for name, c := range map[string]struct {
		terms consent.Terms
		votes string // name/role
		want  consent.Status
	}{
		"without":                {base, "ann/approver", consent.Granted},
		"two":                    {base.With(further(2)), "ann/approver", consent.Pending},
		"two of two":             {base.With(further(2)), "ann/approver bob/approver", consent.Granted},
		"the highest number":     {base.With(further(3)).With(further(2)), "ann/approver bob/approver", consent.Pending},
		"the security too":       {base.With(further(1, "sec")), "ann/approver", consent.Pending},
		"the security alone":     {base.With(further(1, "sec")), "sec/operator", consent.Pending},
		"both":                   {base.With(further(1, "sec")), "ann/approver sec/operator", consent.Granted},
		"both, the other way":    {base.With(further(1, "sec")), "sec/operator ann/approver", consent.Granted},
		"one in both circles":    {base.With(further(1, "sec")), "sec/approver", consent.Granted},
		"many of one circle":     {base.With(further(1, "sec")), "ann/approver bob/approver cid/approver", consent.Pending},
		"two circles, one met":   {base.With(further(1, "sec")).With(further(1, "cfo")), "ann/approver sec/operator", consent.Pending},
		"two circles":            {base.With(further(1, "sec")).With(further(1, "cfo")), "ann/approver sec/operator cfo/operator", consent.Granted},
		"two of the circle":      {base.With(further(2, "sec", "cfo")), "ann/approver sec/operator", consent.Pending},
		"two of the circle meet": {base.With(further(2, "sec", "cfo")), "ann/approver sec/operator cfo/operator", consent.Granted},
	} {
		a := callApproval(t, func(r *consent.Request) { r.Terms = c.terms })
		now := time.Unix(60, 0)
		for voter := range strings.FieldsSeq(c.votes) {
			who, role, _ := strings.Cut(voter, "/")
			out := a.Decide(consent.Approver{Name: who, Role: role}, consent.Decision{Approve: true}, now)
			if out.Refusal != nil {
				t.Errorf("%s: %s: %s", name, voter, out.Refusal.Message)
			}
			a = out.Approval
		}
		if a.Status != c.want {
			t.Errorf("%s: %s (%s)", name, a.Status, a.Outcome())
		}
	}
}

// TestCirclesAreShown: S21.15: the outcome counts the approvals of every circle, and a person outside of all circles does not decide.
func TestCirclesAreShown(t *testing.T) {
	t.Parallel()
	terms := consent.Terms{Eligible: consent.Approvers{Roles: []string{"approver"}}}.With(further(1, "sec"))
	a := callApproval(t, func(r *consent.Request) { r.Terms = terms })
	now := time.Unix(60, 0)
	if out := a.Decide(consent.Approver{Name: "eve", Role: "operator"}, consent.Decision{Approve: true}, now); out.Refusal == nil ||
		out.Refusal.Code != consent.CodeNotEligible || !strings.Contains(out.Refusal.Message, "role approver, sec") {
		t.Errorf("%+v", out.Refusal)
	}
	if out := a.Decide(consent.Approver{Name: "agent", Role: "approver"}, consent.Decision{Approve: true}, now); out.Refusal == nil || out.Refusal.Code != consent.CodeAsker {
		t.Errorf("%+v", out.Refusal)
	}
	if asked := a.Asked(false); asked.String() != "role approver, sec" {
		t.Errorf("asked are %s", asked)
	}
	voted := a.Decide(consent.Approver{Name: "ann", Role: "approver"}, consent.Decision{Approve: true}, now).Approval
	if text := voted.Outcome(); !strings.Contains(text, "1 of 1 approvals, and 0 of 1 of sec,") {
		t.Error(text)
	}
	if out := voted.Decide(consent.Approver{Name: "ann", Role: "approver"}, consent.Decision{Approve: true}, now); out.Refusal == nil ||
		!strings.Contains(out.Refusal.Message, "from others: 1") {
		t.Errorf("%+v", out.Refusal)
	}
	if out := voted.Decide(consent.Approver{Name: "sec", Role: "operator"}, consent.Decision{}, now); out.Approval.Status != consent.Rejected {
		t.Errorf("the circle cannot reject: %s", out.Approval.Outcome())
	}
}

// TestEscalationOfCircles: S21.15: the fallback approvers count for the base terms alone.
func TestEscalationOfCircles(t *testing.T) {
	t.Parallel()
	terms := consent.Terms{
		Eligible:   consent.Approvers{Names: []string{"ann"}},
		Escalation: consent.Escalation{After: time.Minute, To: consent.Approvers{Names: []string{"ops", "sec"}}},
	}.With(further(1, "sec"))
	a := callApproval(t, func(r *consent.Request) { r.Terms = terms })
	vote := func(a *consent.Approval, who string, at int64) *consent.Approval {
		return a.Decide(consent.Approver{Name: who, Role: "approver"}, consent.Decision{Approve: true}, time.Unix(at, 0)).Approval
	}
	if early := vote(a, "sec", 1); early.Status != consent.Pending || vote(early, "ann", 2).Status != consent.Granted {
		t.Error("before it escalates, both circles must agree")
	}
	if late := vote(a, "ops", 90); late.Status != consent.Pending || vote(late, "sec", 91).Status != consent.Granted {
		t.Error("after it has escalated, a fallback approver counts for the first circle alone")
	}
}

// TestCirclesThatNobodyMeets: S21.15: terms that can never be met are refused.
func TestCirclesThatNobodyMeets(t *testing.T) {
	t.Parallel()
	base := consent.Terms{}
	for want, terms := range map[string]consent.Terms{
		"3 approvals of sec, cfo, but only 2": base.With(further(3, "sec", "cfo")),
		"1 approvals of agent, but only 0":    base.With(further(1, "agent")),
		"the limit is 64": func() consent.Terms {
			t := base
			for range consent.MaxCircles + 1 {
				t = t.With(further(1, "sec"))
			}
			return t
		}(),
		"needs 2 approvals, but only 1": consent.Terms{Eligible: consent.Approvers{Names: []string{"ann"}}}.With(further(2)),
		"cannot require -1":             {Also: []consent.Circle{{Required: -1}}},
	} {
		if err := terms.Check(consent.Asker{Principal: "agent"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	a, b := base.With(further(1, "sec")), base.With(further(1, "cfo"))
	if a.Digest() == b.Digest() || a.Digest() == base.Digest() || a.Digest() != base.With(further(1, "sec")).Digest() || len(base.Also) != 0 {
		t.Error("a digest does not tell terms apart")
	}
}
