package jsonview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
)

// Question counts the approvals of one question, which a rule or a workflow asks.
type Question struct {
	What     string `json:"what"`
	AskedBy  string `json:"asked_by" doc:"The policy and its rule; workflow where a workflow asks."`
	Asked    int64  `json:"asked"`
	Granted  int64  `json:"granted"`
	Rejected int64  `json:"rejected"`
	Expired  int64  `json:"expired"`
	Quick    int64  `json:"quick" doc:"Approvals that were granted within three seconds."`
	Hint     string `json:"hint,omitzero" doc:"A way to spare people the question; absent unless they hardly ever reject."`
}

// QuestionOf returns the JSON of the counts of a question.
func QuestionOf(q *approvalv1.QuestionCount) Question {
	return Question{
		What: q.GetWhat(), AskedBy: q.GetAskedBy(), Asked: q.GetAsked(), Granted: q.GetGranted(), Rejected: q.GetRejected(),
		Expired: q.GetExpired(), Quick: q.GetQuick(), Hint: q.GetHint(),
	}
}

const (
	// quick is too fast to have read the question.
	quick = 3 * time.Second
	// manyAsked is from how many on a question is looked at, and one in rarely of them is rarely rejected.
	manyAsked, rarely = 20, 10
)

// QuestionsOf counts approvals by request and asking rule, the most frequent first (S23.39).
func QuestionsOf(all []Approval) []Question {
	by := map[[2]string]*Question{}
	for i := range all {
		a := &all[i]
		asks := "workflow"
		if a.Why != nil && a.Why.Policy != "" {
			asks = a.Why.Policy + " " + a.Why.Rule
		}
		key := [2]string{AskedFor(a), asks}
		q := by[key]
		if q == nil {
			q = &Question{What: key[0], AskedBy: key[1]}
			by[key] = q
		}
		q.count(a)
	}
	out := make([]Question, 0, len(by))
	for _, q := range by {
		q.Hint = q.hint()
		out = append(out, *q)
	}
	slices.SortFunc(out, func(a, b Question) int {
		return cmp.Or(cmp.Compare(b.Asked, a.Asked), cmp.Compare(a.What, b.What), cmp.Compare(a.AskedBy, b.AskedBy))
	})
	return out
}

// count adds an approval.
func (q *Question) count(a *Approval) {
	q.Asked++
	switch a.Status {
	case "GRANTED", "USED", "STALE":
		q.Granted++
		if a.DecidedAt.Sub(a.CreatedAt) < quick {
			q.Quick++
		}
	case "REJECTED":
		q.Rejected++
	case "EXPIRED":
		q.Expired++
	}
}

// hint returns a way to spare people the question, if they hardly ever reject.
func (q *Question) hint() string {
	if q.Asked < manyAsked || q.Rejected*rarely > q.Asked || q.Granted == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d were ever rejected: a lease or a rule?", q.Rejected, q.Asked)
}

// AskedFor returns the object of an approval, in a line. Its parts come from the subject,
// which is shown in full elsewhere.
func AskedFor(a *Approval) string {
	var s struct {
		Event      string `json:"event"`
		State      string `json:"state"`
		To         string `json:"to"`
		Workflow   string `json:"workflow"`
		Branch     string `json:"branch"`
		Tool       string `json:"tool"`
		Capability string `json:"capability"`
	}
	if err := json.Unmarshal(a.Subject, &s); err != nil {
		return strings.ReplaceAll(a.Kind, "_", " ")
	}
	var text string
	switch a.Kind {
	case "tool_call":
		text = "call of " + s.Tool
		if s.Capability != "" && s.Capability != "tool:"+s.Tool {
			text += " (" + s.Capability + ")"
		}
		if s.State != "" {
			text += " in " + s.State
		}
	case "process_step":
		text = "answer " + s.Event + " in " + s.State + ", which leads to " + s.To
	default:
		text = "event " + s.Event + ", from " + s.State + " to " + s.To
	}
	if s.Branch != "" {
		text += ", branch " + s.Branch
	}
	if s.Workflow != "" {
		text += ", of " + s.Workflow
	}
	return text
}
