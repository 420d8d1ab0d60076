package toolinput

import "bytes"

// Marks in an input as the log keeps it.
const (
	// MaskedMark replaces a secret.
	MaskedMark = "[masked]"
	// OmittedMark names the only member of a note in place of an input that is not kept.
	OmittedMark = "[omitted]"
)

// Masked reports that a part of a kept input was masked or left out, as far as its text shows.
func Masked(input []byte) bool {
	return bytes.Contains(input, []byte(MaskedMark)) || bytes.Contains(input, []byte(OmittedMark))
}
