package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

var (
	approvalFields   = []string{"required", "deny_threshold", "approvers", "expires_seconds", "escalation", "wait_seconds", "reads", "terms", "danger", "presence", "quorum"}
	approverFields   = []string{"roles", "names"}
	escalationFields = []string{"after_seconds", "approvers"}
	quorumFields     = []string{"required", "distinct"}
)

// Bounds of the times of an approval, in seconds.
const (
	longestApproval = 366 * 24 * 60 * 60
	longestWait     = 60 * 60
)

// approvalTerms reads meta.approval: who decides, and how many (S9.2, S9.3).
func (r metaSection) approvalTerms(meta document.Fields) {
	f, ok := meta.Object("approval")
	if !ok {
		return
	}
	f.Known("\"approval\"", approvalFields...)
	terms := &r.def.Meta.Approval
	terms.Required = r.people(f, "required")
	r.quorum(f, terms)
	terms.Presence = f.Bool("presence")
	terms.DenyThreshold = r.people(f, "deny_threshold")
	terms.TTL = r.seconds(f, "expires_seconds", 1, longestApproval)
	terms.Eligible = r.approvers(f)
	terms.Danger = r.danger(f)
	r.def.Meta.ApprovalWait = r.seconds(f, "wait_seconds", 0, longestWait)
	r.def.Meta.ApprovalReads = r.reads(f)
	if e, ok := f.Object("escalation"); ok {
		e.Known("\"escalation\"", escalationFields...)
		e.Require("after_seconds")
		terms.Escalation.After = r.seconds(e, "after_seconds", 1, longestApproval)
		terms.Escalation.To = r.approvers(e)
		if terms.Escalation.After == 0 {
			return // it has been reported
		}
	}
	if err := terms.Check(consent.Asker{}); err != nil {
		r.report.Errorf(f.At, document.CodeConflict, "%s", err)
	}
	r.approvalTermList(f)
}

// danger reads how much harm a wrong approval does; empty where it is not said.
func (r metaSection) danger(f document.Fields) consent.Danger {
	word, _ := f.Enum("danger", string(consent.Low), string(consent.Medium), string(consent.High))
	return consent.Danger(word)
}

// quorum reads how many must agree, and that each is another person (S23.24).
func (r metaSection) quorum(f document.Fields, terms *consent.Terms) {
	q, ok := f.Object("quorum")
	if !ok {
		return
	}
	q.Known("\"quorum\"", quorumFields...)
	if f.Has("required") {
		r.report.Errorf(q.At, document.CodeConflict, "\"required\" is next to \"quorum\"; give the number in one place")
	}
	q.Require("required")
	terms.Required = r.people(q, "required")
	if _, has := q.Enum("distinct", "person"); has {
		terms.Distinct = true
	}
}

// reads returns the places of the shared state that decisions rest on (S18.5).
func (r metaSection) reads(f document.Fields) []string {
	pointers, ok := f.Strings("reads", consent.MaxReads)
	if !ok {
		return nil
	}
	at := f.At.Key("reads")
	if len(pointers) == 0 {
		r.report.Errorf(at, document.CodeEmpty, "\"reads\" is empty; name a place of the shared state, such as \"/plan\", or remove it")
	}
	for _, p := range pointers {
		r.evidencePart().pointer(p.Text, p.At)
	}
	r.report.Duplicates(pointers)
	return document.Texts(pointers)
}

// mostApprovers bounds a quorum, and the lists of who may be of it.
const mostApprovers = 1_000

func (r metaSection) people(f document.Fields, name string) int {
	n, ok := f.Integer(name, 1)
	if ok && n > mostApprovers {
		r.report.Errorf(f.At.Key(name), document.CodeRange, "%q is %d, the limit is %d", name, n, mostApprovers)
		return 0
	}
	return int(n)
}

func (r metaSection) seconds(f document.Fields, name string, least, most int64) time.Duration {
	n, ok := f.Integer(name, least)
	if ok && n > most {
		r.report.Errorf(f.At.Key(name), document.CodeRange, "%q is %d seconds, the limit is %d", name, n, most)
		return 0
	}
	return time.Duration(n) * time.Second
}

// approvers reads the people of "approvers", by roles and by names.
func (r metaSection) approvers(f document.Fields) consent.Approvers {
	a, ok := f.Object("approvers")
	if !ok {
		return consent.Approvers{}
	}
	a.Known("\"approvers\"", approverFields...)
	if !a.Has("roles") && !a.Has("names") {
		r.report.Errorf(a.At, document.CodeEmpty, "it has no approvers; add \"roles\" or \"names\"")
	}
	return consent.Approvers{Roles: r.named(a, "roles"), Names: r.named(a, "names")}
}

func (r metaSection) named(f document.Fields, name string) []string {
	items, ok := f.Strings(name, mostApprovers)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.report.Errorf(f.At.Key(name), document.CodeEmpty, "%q is empty; add a name or remove it", name)
	}
	for _, item := range items {
		switch item.Text {
		case "":
			r.report.Errorf(item.At, document.CodeEmpty, "the name is empty; fill it in or remove it")
		case consent.RoleAgent:
			if name == "roles" {
				r.report.Errorf(item.At, document.CodeConflict, "agents never decide; name another role")
			}
		}
	}
	r.report.Duplicates(items)
	return document.Texts(items)
}
