package ports

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// NotFound reports whether a record does not exist.
func NotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

// Violations shows problems of a document as those of a request's field.
func Violations(e *fault.Error, field string, problems document.Problems) *fault.Error {
	for _, p := range problems {
		if p.Severity != document.SeverityWarning {
			e = e.Violate(field+p.Pointer, p.Code, p.Message)
		}
	}
	return e
}

// BadJSON refuses a document that cannot be read.
func BadJSON(field string, problems document.Problems) error {
	for _, p := range problems {
		if p.Code == document.CodeTooLarge {
			return fault.New(fault.TooLarge, "%s: %s", field, p.Message)
		}
	}
	return Violations(fault.New(fault.InvalidJSON, "%s: %s", field, First(problems)), "/"+field, problems)
}

// First returns one line for callers that read only the message.
func First(problems document.Problems) string {
	shown := ""
	count := 0
	for _, p := range problems {
		if p.Severity == document.SeverityWarning {
			continue
		}
		if count == 0 {
			shown = p.String()
		}
		count++
	}
	switch {
	case count > 2:
		return shown + " (and " + plural(count-1) + ")"
	case count == 2:
		return shown + " (and one more)"
	default:
		return shown
	}
}

func plural(n int) string { return strconv.Itoa(n) + " more" }

// AtVersion refuses a record that is not at the expected version; 0 expects any.
func AtVersion(what string, have, want int64) error {
	if want != 0 && want != have {
		return fault.New(fault.VersionConflict, "%s is at version %d, not %d; read it and decide again", what, have, want).
			Meta("current_version", fmt.Sprint(have))
	}
	return nil
}

// PatchReason returns the reason for refusing a patch that does not apply.
func PatchReason(code document.Code) fault.Reason {
	if code == document.CodePatchTooLarge {
		return fault.TooLarge
	}
	return fault.PatchFailed
}

// MaxRecordBytes is the longest document or patch that is read: it was judged when it
// was written.
const MaxRecordBytes = 1 << 30
