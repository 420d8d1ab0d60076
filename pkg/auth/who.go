package auth

import "github.com/interlock-run/interlock/pkg/authority"

// Who is the principal as far as its authority over runs and sessions goes: an agent, or
// one of the human roles and services, which stand for operators there.
func (p Principal) Who() authority.Who {
	w := authority.Who{Role: authority.Operator, Name: p.Name, Session: p.Session, Branch: p.Branch}
	if p.Role == Agent {
		w.Role = authority.Agent
	}
	return w
}
