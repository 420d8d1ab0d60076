package toolinput

import "bytes"

// Marks in an input as the log keeps it.
const (
	// MaskedMark replaces a secret.
	MaskedMark = "[masked]"
	// OmittedMark begins a note in place of a text that is not kept, and names the only member of one in place of an input.
	OmittedMark = "[omitted]"
)

// Masked reports that a part of a kept input was masked or left out, as far as its text shows.
func Masked(input []byte) bool {
	return bytes.Contains(input, []byte(MaskedMark)) || bytes.Contains(input, []byte(OmittedMark))
}
