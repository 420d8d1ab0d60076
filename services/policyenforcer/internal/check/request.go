package check

import (
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Request asks whether a tool may be called, now, with an input.
type Request struct {
	Target enforcer.Target
	Tool   string
	Input  []byte
	// CallID is the caller's ID of the call. Check creates one if it is empty.
	CallID string
	// EstimatedCost is reserved of budgets until the report (S7.5).
	EstimatedCost rules.MicroUSD
	// Qualified is the tool's full name if Tool is another one. Policies judge the full name.
	Qualified string
	// Folder is the folder of the call; empty if it is not known.
	Folder string
	// Real has the real names of files of the call whose names are others, by their clean ones.
	Real map[string]string
	// Jail is the level of the jail that the caller runs the line in; jail.None for none.
	Jail jail.Level
	// DeniedBecause explains a denial by the caller; empty for none.
	DeniedBecause string
	// Observe records the call of a session without a run, also where no policy applies to it.
	Observe bool
	// IfRun and IfVersion are the only run, and the only version of it, at which the call is decided; empty and 0 for any.
	IfRun     string
	IfVersion int64
	// DryRun decides without effects.
	DryRun bool
	// Explain adds an explanation.
	Explain bool
}

// moved returns a fault if the run is another one, or at another version, than the call is to be decided in.
func (req *Request) moved(s *runs.Snapshot) error {
	if req.IfRun == "" || !s.Unbound && s.Run.ID == req.IfRun && s.Run.Version == req.IfVersion {
		return nil
	}
	return fault.New(fault.VersionConflict, "run %s is not at version %d, or not the one in force: read it, and check the call again", req.IfRun, req.IfVersion)
}

// validate returns a fault for a request that cannot be decided.
func (req *Request) validate() error {
	if req.EstimatedCost < 0 {
		return fault.New(fault.InvalidRequest, "estimated_cost_usd must not be negative").Violate("/estimated_cost_usd", "RANGE", "negative")
	}
	for _, name := range []string{req.Tool, req.Qualified} {
		if strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
			return fault.New(fault.InvalidRequest, "the name of tool %s begins or ends with a blank, or has control characters: name the tool as it is called",
				document.Quote(name)).Violate("/tool", "FORMAT", "a blank at an end, or a control character")
		}
	}
	return nil
}

// qualified returns the capability of a tool of an MCP server that is called by its plain name, and empty for
// any other tool: a full name must be that of the tool. A shell stays restricted as a shell.
func (req *Request) qualified() string {
	plain := !strings.HasPrefix(rules.CapabilityOf(req.Tool), "mcp:")
	if c := rules.CapabilityOf(req.Qualified); plain && strings.HasPrefix(c, "mcp:") && strings.HasSuffix(c, ":"+req.Tool) {
		return c
	}
	return ""
}

// ParseCost reads the estimate of a call.
func ParseCost(text string) (rules.MicroUSD, error) {
	cost, ok := quota.ReadCost(text)
	if !ok {
		return 0, fault.New(fault.InvalidRequest, `estimated_cost_usd must be a decimal number of US dollars such as "0.02", at most 1000000, not %q`, text).
			Violate("/estimated_cost_usd", "NUMBER", "not a decimal number")
	}
	return cost, nil
}
