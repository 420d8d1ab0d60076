package document

import "fmt"

// PatchError is an operation that could not be done, so that nothing of its
// patch was.
type PatchError struct {
	// Operation is the place of the operation in the patch, from 0.
	Operation int
	// Op is its name, as "replace".
	Op string
	// Path is the pointer that is at fault: path, or from.
	Path string
	Code Code
	// Message says what is in the document and how to fix the operation.
	Message string

	member string // of the operation: "path", "from" or "value"
}

// Error implements error.
func (e *PatchError) Error() string {
	return fmt.Sprintf("operation %d (%s %q): %s: %s", e.Operation, e.Op, shorten(e.Path), e.Code, e.Message)
}

// Problem returns the error as a problem of the patch: its pointer is that of
// the member of the operation to fix, as "/2/path".
func (e *PatchError) Problem() Problem {
	var patch *Path
	return Problem{
		Pointer: patch.At(e.Operation).Key(e.member).String(), Code: e.Code, Severity: SeverityError,
		Message: fmt.Sprintf("%s %q: %s", e.Op, shorten(e.Path), e.Message),
	}
}
