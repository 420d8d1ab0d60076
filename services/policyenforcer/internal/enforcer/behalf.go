package enforcer

import (
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/session"
)

// Behalf is on whose behalf a call is made, as far as that is known.
type Behalf struct {
	// Human is nil where it is not known.
	*auth.Human
	// Why says why the human, or a fact of theirs, is in doubt; empty where none is.
	Why string
	// others are further people whom the call names.
	others []*auth.Human
}

// The reasons for doubt, without a full stop.
const (
	whyNobody  = "it is not known on whose behalf the call is made: the session has no human, and no token names one"
	whyTwo     = "the session and the caller name two people"
	whyExpired = "what is known of the human has ended; a new session with their token knows more"
)

// OnBehalf returns on whose behalf a call is made: the human of the session, the person whose token the caller has sent along,
// that of the caller's own token, or the one whom the caller names, if it may. Two are in doubt (S22.3).
func OnBehalf(session *auth.Human, caller Caller, now time.Time) Behalf {
	if caller.As != nil && caller.As.Human != nil {
		return Behalf{Human: caller.As.Human}
	}
	own := caller.Principal.Human
	if own == nil && caller.Principal.Person != "" {
		own = &auth.Human{Name: caller.Principal.Person, Source: auth.Registered} // their own call
	}
	if session != nil && !caller.Principal.Role.Drives() {
		own = nil // who works in a session works for the human of that
	}
	var of Behalf
	for _, h := range []*auth.Human{session, caller.For, own, caller.Named} {
		switch {
		case h == nil:
		case of.Human == nil:
			of.Human = h
		case of.Name != h.Name || of.Issuer != h.Issuer:
			of.Why, of.others = whyTwo, append(of.others, h)
		}
	}
	switch {
	case of.Human == nil:
		of.Why = whyNobody
	case of.Why == "" && !of.Expires.IsZero() && !now.Before(of.Expires):
		of.Why = whyExpired
	}
	return of
}

// Two reports that a call names two people.
func (b Behalf) Two() bool { return len(b.others) > 0 }

// Account returns the subject of limits per human; empty where the human is in doubt, or where neither an issuer nor an
// operator vouches for it. Names that look alike are one.
func (b Behalf) Account() string {
	if b.Human == nil || b.Why != "" || !b.Source.AtLeast(auth.Issuer) {
		return ""
	}
	return rules.HumanAccount(session.Alike(b.Name), b.Issuer)
}

// People returns all whom a call names; none where it names none.
func (b Behalf) People() []*auth.Human {
	if b.Human == nil {
		return nil
	}
	return append([]*auth.Human{b.Human}, b.others...)
}
