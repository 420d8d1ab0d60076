package jsonview

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A question that is hardly ever rejected has a hint (S23.39).
func TestQuestions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	var all []Approval
	add := func(n int, tool, status string, age, took time.Duration) {
		for range n {
			asked := now.Add(-age)
			all = append(all, Approval{
				Kind: "tool_call", Status: status, Subject: jsontext.Value(fmt.Sprintf(`{"tool":%q}`, tool)), Why: &Why{Policy: "house", Rule: "/ask/0"},
				CreatedAt: asked, DecidedAt: asked.Add(took),
			})
		}
	}
	add(30, "Read", "USED", time.Hour, time.Second)
	add(7, "Read", "GRANTED", time.Hour, time.Minute)
	add(3, "Read", "REJECTED", time.Hour, time.Minute)
	add(18, "Write", "USED", time.Hour, time.Minute)
	add(3, "Write", "REJECTED", time.Hour, time.Minute)
	add(19, "Bash", "USED", time.Hour, time.Minute)
	add(40, "Grep", "EXPIRED", time.Hour, time.Minute)
	got := fmt.Sprintf("%+v", QuestionsOf(all))
	const want = "[{What:call of Grep AskedBy:house /ask/0 Asked:40 Granted:0 Rejected:0 Expired:40 Quick:0 Hint:}" +
		" {What:call of Read AskedBy:house /ask/0 Asked:40 Granted:37 Rejected:3 Expired:0 Quick:30 Hint:3 of 40 were ever rejected: a lease or a rule?}" +
		" {What:call of Write AskedBy:house /ask/0 Asked:21 Granted:18 Rejected:3 Expired:0 Quick:0 Hint:}" +
		" {What:call of Bash AskedBy:house /ask/0 Asked:19 Granted:19 Rejected:0 Expired:0 Quick:0 Hint:}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
