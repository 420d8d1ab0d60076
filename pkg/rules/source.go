package rules

import (
	"strconv"

	"github.com/interlock-run/interlock/pkg/document"
)

// Places in a policy that decide.
const (
	listDeny    = "deny"
	listAsk     = "ask"
	listAllow   = "allow"
	placeOther  = "default"
	placeBudget = "session_budget_usd"
	placeEmail  = "email_config"
)

// Source is the part of a policy that has decided. It is immutable.
type Source struct {
	// Policy and Version name the policy.
	Policy  string
	Version int64
	// Place is the field of the policy: deny, ask, allow, default,
	// session_budget_usd or email_config.
	Place string
	// Index of a rule in its list, and its pattern.
	Index   int
	Pattern string
}

// Pointer is the place as a JSON Pointer into the policy.
func (s *Source) Pointer() string {
	switch s.Place {
	case listDeny, listAsk, listAllow:
		return document.Pointer(s.Place, strconv.Itoa(s.Index))
	default:
		return document.Pointer(s.Place)
	}
}

// policy names the policy in a sentence. A candidate that is not stored has no
// version.
func (s *Source) policy() string {
	name := "the policy"
	if s.Policy != "" {
		name = "policy " + document.Quote(s.Policy)
	}
	if s.Version == 0 {
		return name + " (candidate)"
	}
	return name + " (version " + strconv.FormatInt(s.Version, 10) + ")"
}
