package toolcall

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// MaxNoticeBytes bounds a notice: agents cut longer ones.
const MaxNoticeBytes = 9_500

// InterruptNotice tells an agent, with the result of its call, that an interrupt
// has moved its run from a state to where it stands now: the state, its tools,
// instructions and events (S4.3). It begins with [INTERLOCK INTERRUPT].
func InterruptNotice(m *workflow.Machine, at *workflow.View, interrupt, from string) string {
	state := m.State(at.State)
	var b strings.Builder
	fmt.Fprintf(&b, "[INTERLOCK INTERRUPT] A file that you changed fired the interrupt %s: the run has moved from state %s to %s. ",
		document.Quote(interrupt), document.Quote(from), document.Quote(at.State))
	fmt.Fprintf(&b, "%s %s", listTools(state), state.DescribeEvents())
	if state.Instructions != "" {
		b.WriteString(" Instructions: " + state.Instructions)
	}
	return clip(b.String())
}

// clip cuts a text for agents at its bound.
func clip(text string) string {
	if len(text) <= MaxNoticeBytes {
		return text
	}
	return strings.ToValidUTF8(text[:MaxNoticeBytes], "") + "\n[cut]"
}
