package check

import (
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Inputs selects the calls whose masked input the log keeps, besides those whose workflow captures output and those that
// are observed.
type Inputs string

// The selections of inputs. The zero value is InputsRefused.
const (
	// InputsRefused selects the calls that were denied, or asked about.
	InputsRefused Inputs = "refused"
	// InputsAll selects all calls.
	InputsAll Inputs = "all"
	// InputsCaptured selects none.
	InputsCaptured Inputs = "captured"
)

// keep reports whether the log keeps the input of a call by its decision.
func (i Inputs) keep(d toolcall.Decision) bool {
	switch i {
	case InputsAll:
		return true
	case InputsCaptured:
		return false
	default:
		return d != toolcall.Allow
	}
}
