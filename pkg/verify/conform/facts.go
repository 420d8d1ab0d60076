package conform

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// shown has the facts of a call that its recorded input alone shows. Names of files depend on the links of
// the machine, and the caller on its token and session, so these are not known.
type shown struct{ condition.Facts }

// Facet implements condition.Facts.
func (s shown) Facet(name condition.Facet) condition.Set {
	family, _, _ := strings.Cut(string(name), ".")
	switch name {
	case condition.Reads, condition.Writes, condition.Files:
		return condition.Unknown("the record does not show the files of the call")
	default:
	}
	if family == "caller" || family == "session" || family == "human" || family == "agent" {
		return condition.Unknown("the record does not show the caller")
	}
	return s.Facts.Facet(name)
}

// knowing returns a call with the facts of its input; without an input it has none.
func knowing(m *workflow.Machine, at *workflow.View, call toolcall.Call) toolcall.Call {
	if call.Input == nil {
		return call
	}
	call = facet.InRun(m, at, call)
	call.Facts = shown{call.Facts}
	return call
}

// decidable reports that the record has all that the conditions of a policy look at.
func decidable(set *rules.Set, call rules.Call) bool {
	for _, name := range set.Looks(call) {
		switch {
		case name == string(condition.HumanName) && call.Human != "":
		case call.Facts == nil:
			return false
		case name == string(condition.Time):
			if call.Now.IsZero() {
				return false
			}
		case name[0] == '/' || name == "anywhere":
		case !call.Facts.Facet(condition.Facet(name)).Known:
			return false
		}
	}
	return true
}
