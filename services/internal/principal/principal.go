// Package principal returns the authority of a principal. It is apart from pkg/auth, which
// clients import too and must stay light.
package principal

import (
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/authority"
)

// Who returns the principal as far as its authority over runs and sessions goes: an
// agent, or one of the human roles and services, which stand for operators there.
func Who(p auth.Principal) authority.Who {
	w := authority.Who{Role: authority.Operator, Name: p.Name, Session: p.Session, Branch: p.Branch}
	if p.Role.Drives() {
		w.Role = authority.Agent
	}
	return w
}
