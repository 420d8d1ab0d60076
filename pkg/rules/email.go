package rules

import "github.com/interlock-run/interlock/pkg/mail"

// emailRules are email_config, compiled (S7.7).
type emailRules struct {
	// named is true when the policy names its email tools.
	named bool
	lists mail.Lists
	limit *limit // nil for none
	by    *Source
}

func compileEmail(e *EmailLimits, by *Source) *emailRules {
	compiled := &emailRules{named: e.Tools != nil, lists: mail.Lists{From: e.AllowedFrom, To: e.AllowedTo}, by: by}
	if e.Limited {
		compiled.limit = &limit{account: Account{Measure: Emails, Scope: PerSession}, max: e.MaxPerSession, by: by}
	}
	return compiled
}

// covers reports a capability that sends email.
func (e *emailRules) covers(said *outcome, capability []byte) bool {
	if e.named {
		return said.email
	}
	return mail.Sends(capability)
}

// check reads a call's input. wrong says why it must be denied, or is empty.
func (e *emailRules) check(input []byte) (count int64, wrong string) {
	found := mail.Read(input, e.lists)
	return found.Count, found.Wrong
}
