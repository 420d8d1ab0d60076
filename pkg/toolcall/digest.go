package toolcall

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

// InputDigest returns the hex SHA-256 of a tool's name and input: it binds a call id to its
// request, and a recorded decision to its input. Inputs that are the same JSON value have one
// digest, however they are spelled (RFC 8785, with exact numbers); an input that is not JSON
// counts by its bytes.
func InputDigest(tool string, input []byte) string {
	var room [1024]byte // most inputs fit, and need no memory of their own
	asked := binary.BigEndian.AppendUint64(room[:0], uint64(len(tool)))
	asked = append(asked, tool...)
	if v, problem := document.Parse(input, document.Limits{Bytes: toolinput.Longest}); problem == nil {
		input = document.Canonical(v)
	}
	sum := sha256.Sum256(append(asked, input...))
	return hex.EncodeToString(sum[:])
}
