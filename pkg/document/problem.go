package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Code names a kind of problem, stable for programs (S1.3).
type Code = string

// Codes of the text, of fields, of schemas, of pointers and of patches. The
// packages that own a kind of document add the codes of their references and
// rules.
const (
	CodeJSONSyntax   Code = "JSON_SYNTAX"
	CodeDuplicateKey Code = "DUPLICATE_KEY"
	CodeUTF8         Code = "UTF8"
	CodeTooDeep      Code = "TOO_DEEP"
	CodeTooLarge     Code = "TOO_LARGE"
	CodeTooMany      Code = "TOO_MANY"
	CodeNumber       Code = "NUMBER"

	CodeType          Code = "TYPE"
	CodeRequired      Code = "REQUIRED"
	CodeEmpty         Code = "EMPTY"
	CodeRange         Code = "RANGE"
	CodeEnum          Code = "ENUM"
	CodeName          Code = "NAME"
	CodeReserved      Code = "RESERVED"
	CodeUnknownField  Code = "UNKNOWN_FIELD"
	CodeUnknownHint   Code = "UNKNOWN_HINT"
	CodeAliasConflict Code = "ALIAS_CONFLICT"
	CodeConflict      Code = "CONFLICT"
	CodeDuplicateItem Code = "DUPLICATE_ITEM"
	CodeNoEffect      Code = "NO_EFFECT"

	CodeBadSchema       Code = "BAD_SCHEMA"
	CodeRemoteRef       Code = "REMOTE_REF"
	CodeSchemaViolation Code = "SCHEMA_VIOLATION"

	CodePointer     Code = "POINTER"
	CodePathMissing Code = "PATH_MISSING"

	CodePatchTestFailed   Code = "PATCH_TEST_FAILED"
	CodePatchPathMissing  Code = "PATCH_PATH_MISSING"
	CodePatchIndex        Code = "PATCH_INDEX"
	CodePatchRoot         Code = "PATCH_ROOT"
	CodePatchMoveIntoSelf Code = "PATCH_MOVE_INTO_SELF"
	CodePatchTooLarge     Code = "PATCH_TOO_LARGE"
	CodePatchTooCostly    Code = "PATCH_TOO_COSTLY"
)

// Severity reports whether a problem refuses the document.
type Severity string

// Severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	// Pointer is the RFC 6901 pointer of the offending field, or of the object
	// that lacks it with the missing key appended. "" is the whole document.
	Pointer  string   `json:"pointer"`
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Message describes the problem and how to fix it, for a person.
	Message string `json:"message"`
}

// String returns the one line that a person reads: pointer, code, message. The whole
// document has no pointer.
func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Code + ": " + p.Message
	}
	return p.Pointer + ": " + p.Code + ": " + p.Message
}

// Error makes a Problem an error.
func (p *Problem) Error() string { return p.String() }

// Problems are all that is wrong with a document.
type Problems []Problem

// HasErrors reports whether any problem refuses the document. All but clear warnings do.
func (ps Problems) HasErrors() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity != SeverityWarning })
}

// Err returns the problems as an *InvalidError, or nil without an error among
// them.
func (ps Problems) Err() error {
	if !ps.HasErrors() {
		return nil
	}
	return &InvalidError{Problems: ps}
}

// Sort orders the problems by pointer, numbers in it by value; problems of one
// pointer keep their order.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int { return comparePointers(a.Pointer, b.Pointer) })
}

// Strict returns the problems with every warning made an error (`--strict`).
func (ps Problems) Strict() Problems {
	strict := slices.Clone(ps)
	for i := range strict {
		strict[i].Severity = SeverityError
	}
	return strict
}

// InvalidError is a document that was refused.
type InvalidError struct{ Problems Problems }

func (e *InvalidError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		if p.Severity != SeverityWarning {
			lines = append(lines, p.String())
		}
	}
	return "document is not valid: " + strings.Join(lines, "; ")
}

func comparePointers(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a = cutSegment(a)
		y, b = cutSegment(b)
		if c := compareSegments(x, y); c != 0 {
			return c
		}
	}
	return compareInts(len(a), len(b))
}

func cutSegment(pointer string) (segment, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		return pointer[:i], pointer[i:]
	}
	return pointer, ""
}

func compareSegments(x, y string) int {
	if m, err := strconv.ParseUint(x, 10, 63); err == nil {
		if n, err := strconv.ParseUint(y, 10, 63); err == nil && m != n {
			return compareInts(int64(m), int64(n)) // parsed as 63 bits
		}
	}
	return strings.Compare(x, y)
}

// maxProblems is the most problems that one document may report.
const maxProblems = 1000

// Report collects the problems of one document. The zero Report is ready.
type Report struct {
	problems Problems
	full     bool
	budget   int // comparisons spent on suggestions
}

// Errorf reports an error.
func (r *Report) Errorf(at *Path, code Code, format string, args ...any) {
	r.record(at, code, SeverityError, format, args)
}

// Warnf reports a warning.
func (r *Report) Warnf(at *Path, code Code, format string, args ...any) {
	r.record(at, code, SeverityWarning, format, args)
}

func (r *Report) record(at *Path, code Code, severity Severity, format string, args []any) {
	if r.full {
		return
	}
	if len(r.problems) >= maxProblems {
		r.full = true
		r.problems = append(r.problems, Problem{
			Code: CodeTooMany, Severity: SeverityError,
			Message: fmt.Sprintf("there are more than %d problems; fix these first", maxProblems),
		})
		return
	}
	r.problems = append(r.problems, Problem{
		Pointer: at.String(), Code: code, Severity: severity, Message: fmt.Sprintf(format, args...),
	})
}

// Add takes over problems that were found elsewhere.
func (r *Report) Add(ps ...Problem) { r.problems = append(r.problems, ps...) }

// Problems returns the reported problems, sorted.
func (r *Report) Problems() Problems {
	r.problems.Sort()
	return r.problems
}

// HasErrors reports whether an error was reported.
func (r *Report) HasErrors() bool { return r.problems.HasErrors() }
