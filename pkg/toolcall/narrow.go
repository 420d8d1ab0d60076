package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Narrowed is what a session, or a token of it, is narrowed to.
type Narrowed struct {
	// Of says what is narrowed, such as: session "builder".
	Of string
	// Only has the entries. It is nil for those that cannot be read, and then no call is allowed.
	Only workflow.Narrowing
}

// DecideNarrowed returns the denial of a call that one of the narrowings refuses, or of which that is in doubt (S22.24).
// state is that of the call. Interlock's own tools are not narrowed.
func DecideNarrowed(state *workflow.StateView, call Call, all []Narrowed) (denied Verdict, refused bool) {
	if len(all) == 0 || Own(call.Tool) {
		return Verdict{}, false
	}
	commands := mayRunLines(state, call)
	for i := range all {
		if why := all[i].refuses(call, commands); why != "" {
			return Verdict{Decision: Deny, Code: CodeNarrowed, Tool: call.Tool, Detail: why}, true
		}
	}
	return Verdict{}, false
}

// refuses describes why a call is not in the narrowing; empty for one that is.
func (n *Narrowed) refuses(call Call, commands bool) string {
	if n.Only == nil {
		return n.Of + " is narrowed by entries that this server cannot read; an operator can replace them"
	}
	for i := range n.Only {
		if why := decideEntry(&n.Only[i], i, call, commands); why != "" {
			return n.Of + " is narrowed, and " + why + n.allows()
		}
	}
	return ""
}

func decideEntry(e *workflow.NarrowEntry, place int, call Call, commands bool) string {
	if lists, has := e.Lists(call.Tool, call.Qualified); lists {
		if has {
			return ""
		}
		return fmt.Sprintf("entry %d of its \"only\" allows no other tools than %s", place+1, strings.Join(e.Tools, ", "))
	}
	if !e.Covers(call.Tool, call.Qualified, commands) || judgeCall(&e.CallRule, call.Facts) == condition.True {
		return ""
	}
	return refusalOf("only", &e.CallRule, place, call.Facts)
}

// mostAllowed bounds the entries that a message repeats, in bytes.
const mostAllowed = 400

// allows describes the entries, unless they look at facts that agents do not learn.
func (n *Narrowed) allows() string {
	text := n.Only.String()
	if len(text) > mostAllowed || slices.ContainsFunc(n.Only.Looks(), condition.Confidential) {
		return ""
	}
	return ". Its calls must meet: " + text
}

// Looks returns the pointers and facets that narrowings name, each once.
func Looks(all []Narrowed) []string {
	var looks []string
	for i := range all {
		for _, name := range all[i].Only.Looks() {
			if !slices.Contains(looks, name) {
				looks = append(looks, name)
			}
		}
	}
	return looks
}

// narrowedMessage describes the denial of a call that is not in a narrowing.
func narrowedMessage(v *Verdict) string {
	return fmt.Sprintf("Tool %s is denied: %s. An agent can narrow a session further, and only an operator widens it.",
		document.Quote(v.Tool), strings.TrimSuffix(v.Detail, "."))
}
