package approvalpage

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/visible"
)

// maxEdits is how many edits are listed one by one; the data is shown whole.
const maxEdits = 200

// editView is one change that an approver has made to the data.
type editView struct {
	Op, At        string
	Before, After string // empty for none
}

// editsOf lists the operations of a patch with what they have replaced, and counts
// those that are not listed.
func editsOf(data, patch []byte) (edits []editView, more int) {
	if len(data) == 0 {
		data = []byte("{}")
	}
	limits := document.Limits{Bytes: len(data) + len(patch) + 1}
	at, problem := document.Parse(data, limits)
	if problem != nil {
		return nil, 0
	}
	operations, problem := document.Parse(patch, limits)
	if problem != nil || operations.Kind() != document.Array {
		return nil, 0
	}
	for i, operation := range operations.Elements() {
		if i == maxEdits {
			return edits, operations.Len() - maxEdits
		}
		one, problems := document.PatchOf(document.ArrayValue([]document.Value{operation}))
		if problems.HasErrors() {
			return edits, operations.Len() - i
		}
		edit := editView{Op: line(text(operation, "op")), At: line(text(operation, "path"))}
		if before, ok := document.Lookup(at, text(operation, "path")); ok && edit.Op != "add" {
			edit.Before = visible.JSON(before.String())
		}
		if after, ok := operation.Get("value"); ok {
			edit.After = visible.JSON(after.String())
		}
		next, failed := one.Apply(at, document.PatchLimits{Bytes: limits.Bytes})
		if failed != nil {
			return edits, operations.Len() - i
		}
		at, edits = next, append(edits, edit)
	}
	return edits, 0
}

// text is a member that is a string; empty for none.
func text(v document.Value, name string) string {
	member, ok := v.Get(name)
	if !ok || member.Kind() != document.String {
		return ""
	}
	return member.Str()
}
