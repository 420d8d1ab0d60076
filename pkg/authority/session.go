package authority

import "strings"

// Session is a session of a tree, as far as authority over it goes.
type Session struct {
	ID, Name string
	// RootID is that of the tree.
	RootID string
	// Ended says who has ended it, or is nil.
	Ended *Author
}

// Author is who has done something to a session.
type Author struct {
	Role Role   `json:"role"`
	Name string `json:"name"`
	// SessionID is the session that acted, or empty.
	SessionID string `json:"session_id,omitempty"`
}

// SessionScene is all that a decision about a session depends on.
type SessionScene struct {
	Who Who
	// Acting is the session that acts: the caller's own where its token is bound, or
	// else the one that the request says; nil for none.
	Acting *Session
	// Subject is the session that the request is about: of one to be, its parent, or
	// nil for a root.
	Subject *Session
	// Below: the subject is the acting session, or below it.
	Below bool
}

// MayTouch refuses a session that acts on another tree than its own.
func (s SessionScene) MayTouch() *Refusal {
	if s.Acting == nil || s.Acting.RootID == s.Subject.RootID {
		return nil
	}
	return refuse(PermissionDenied, "session %q belongs to another tree than %q", clip(s.Acting.Name), clip(s.Subject.Name))
}

// MayCreate refuses a caller whose token is bound sessions that are not its own to make:
// its own, and those below it, by names that begin with its own and a slash. Tokens are
// bound to names, so it makes none that another's token may be bound to.
func (s SessionScene) MayCreate(id, name string) *Refusal {
	own := s.Who.Session
	first := name
	if first == "" {
		first = id
	}
	switch {
	case own == "" || first == own && (id == "" || id == own):
		return nil // under a parent only where it is there already, see MayTouch
	case s.Subject == nil:
		return refuse(PermissionDenied, "this token is bound to session %q and cannot create another root; "+
			"set parent_session_name to %q to create a session below it", clip(own), clip(own))
	case !s.Below:
		return refuse(PermissionDenied, "this token is bound to session %q and can create sessions only below that one, not below %q",
			clip(own), clip(s.Subject.Name))
	}
	for _, chosen := range []string{name, id} {
		if chosen != "" && !beginsWith(chosen, own, s.Acting.Name, s.Acting.ID) {
			return refuse(PermissionDenied, "this token is bound to session %q, so the name of a session below it must begin with %q, "+
				"and %q does not; or leave the name out", clip(own), clip(s.Acting.Name)+"/", clip(chosen))
		}
	}
	return nil
}

// beginsWith reports that a name is below one of those of a session.
func beginsWith(name string, of ...string) bool {
	for _, above := range of {
		if strings.HasPrefix(name, above+"/") {
			return true
		}
	}
	return false
}

// MayStop refuses a session that would end another than itself or one below it, and with
// a token that is bound to it one that would stop another.
func (s SessionScene) MayStop(end bool) *Refusal {
	if !end && s.Who.Session == "" {
		return nil
	}
	return s.mayCommand("stop")
}

// MayResume refuses a caller whose token is bound another session than its own or one
// below it, and an agent a session that another caller has ended: that end is lifted by
// an operator, or by a session above.
func (s SessionScene) MayResume() *Refusal {
	if s.Who.Role != Agent {
		return nil
	}
	if s.Who.Session != "" {
		if refusal := s.mayCommand("resume"); refusal != nil {
			return refusal
		}
	}
	return s.MayReopen()
}

// MayReopen refuses an agent an operation that takes back the end of a session that another
// caller has ended, unless the session is below the agent's own: to resume that session, or
// one below it.
func (s SessionScene) MayReopen() *Refusal {
	if s.Who.Role != Agent || s.Who.Session != "" && s.Below && s.Subject.ID != s.Acting.ID {
		return nil
	}
	by := s.Subject.Ended
	switch {
	case by == nil || by.Role == Agent && by.SessionID == s.Subject.ID:
		return nil
	case by.Role == Agent && by.Name == s.Who.Name && s.Who.Session == "":
		return nil // callers whose tokens are not bound are distinguished by name alone
	default:
		return refuse(PermissionDenied, "session %q was ended by %q; an operator can resume it, or a session above it",
			clip(s.Subject.Name), clip(by.Name))
	}
}

// MayBound refuses a session that would narrow another than itself or one below it, or see, mint or revoke
// tokens of one. verb names what it would do, before the name of the other session.
func (s SessionScene) MayBound(verb string) *Refusal { return s.mayCommand(verb) }

func (s SessionScene) mayCommand(verb string) *Refusal {
	if s.Acting == nil || s.Below {
		return nil
	}
	return refuse(PermissionDenied, "session %q can %s only itself and sessions below it, not %q", clip(s.Acting.Name), verb, clip(s.Subject.Name))
}

// clip bounds a name in a message.
func clip(name string) string {
	const most = 100
	if characters := []rune(name); len(characters) > most {
		return string(characters[:most]) + "..."
	}
	return name
}
