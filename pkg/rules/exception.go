package rules

import (
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// Exception lets a call pass one rule of a policy until it ends (S22.13). Whose calls it is about has been decided
// before: the caller of Decide gives only those that are about the call's.
type Exception struct {
	ID string
	// Rule is the JSON Pointer of the rule: /deny/1.
	Rule string
	// When must be true; nil is every call.
	When *condition.Condition
	// Until is its end.
	Until time.Time
}

// ReadException reads the condition of an exception. It is that of an allowing rule: every element must match, and doubt
// is no exception.
func ReadException(text []byte) (*condition.Condition, document.Problems) {
	v, problems := document.ParseAll(text, document.Limits{})
	if problems.HasErrors() {
		return nil, problems
	}
	var r document.Report
	r.Add(problems...)
	c := condition.Read(&r, v, nil, condition.Use{Stance: condition.Allows})
	return c, r.Problems()
}

// Exceptable returns the digest of a rule that permits exceptions; false for any other pointer. An exception is made for
// the text of a rule, and void for another.
func (s *Set) Exceptable(rule string) (digest string, ok bool) {
	if s == nil {
		return "", false
	}
	digest, ok = s.exceptable[rule]
	return digest, ok
}

// excepted returns the exception by which a call passes the rule; empty for none.
func (c *conditional) excepted(call *Call) string {
	if !c.exceptable || call.timeless {
		return ""
	}
	rule := c.by.Pointer()
	for i := range call.Exceptions {
		e := &call.Exceptions[i]
		if e.Rule != rule || !call.Now.Before(e.Until) {
			continue
		}
		if e.When == nil || call.Facts != nil && e.When.Judge(call.Facts, condition.Allows) == condition.True {
			return e.ID
		}
	}
	return ""
}
