package signature

import "fmt"

// Part is a part of a signature that is checked.
type Part string

// The parts.
const (
	PartForm       Part = "form"
	PartCredential Part = "credential"
	PartType       Part = "type"
	PartChallenge  Part = "challenge"
	PartOrigin     Part = "origin"
	PartRP         Part = "rp_id"
	PartPresence   Part = "presence"
	PartKey        Part = "key"
	PartSignature  Part = "signature"
	PartCounter    Part = "counter"
	PartNamespace  Part = "namespace"
)

// Mismatch says which part of a signature does not fit.
type Mismatch struct {
	Part Part
	// Why is one clause that the caller can act on.
	Why string
}

// Error implements error.
func (m *Mismatch) Error() string { return m.Why }

func mismatch(part Part, format string, args ...any) error {
	return &Mismatch{part, fmt.Sprintf(format, args...)}
}
