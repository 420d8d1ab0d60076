package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
)

// Jail is the jail that an allowed line must run in.
type Jail struct {
	Level jail.Level
	// Digest is that of Profile, which is JSON.
	Digest  string
	Profile []byte
	// Line is the digest of the line that was judged, by LineDigest, and Allowed when that was.
	Line    string
	Allowed time.Time
	// Reads is true of a line that is proved to only read.
	Reads bool
}

// FilesUnknown reports that the witness of a call does not name all files that it may have changed (S3.6, S4.1).
func (c *DecidedCall) FilesUnknown(w *jail.Witness) bool {
	if c.Jail == nil || c.Jail.Reads || w.Failed != "" || w.TreeFailed == "" {
		return false
	}
	var p jail.Profile
	return json.Unmarshal(c.Jail.Profile, &p) != nil || p.MayChange(p.Workspace)
}

// LineDigest returns the hex SHA-256 of a command line.
func LineDigest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// Started is the claim of a line by the jail that runs it, or that it never runs.
type Started struct {
	// Key signs the witness. It is empty when the line will never be started: its client has said so first.
	Key []byte    `json:"key,omitempty"`
	At  time.Time `json:"at"`
	By  string    `json:"by"`
}

// StartedName returns the idempotency key of the start of a line.
func StartedName(callID string) string { return "started/" + callID }

// WitnessName returns the idempotency key of a jail's observations: a jail.Witness in JSON, as it was
// signed.
func WitnessName(callID string) string { return "witness/" + callID }

// FinishedName returns the idempotency key of the consequences of a witness.
func FinishedName(callID string) string { return "finished/" + callID }

// WitnessDigest returns the digest of a witness.
func WitnessDigest(witness []byte) string {
	sum := sha256.Sum256(witness)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Encode writes a start.
func (s *Started) Encode() ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode start of a command: %w", err)
	}
	return data, nil
}

// DecodeStarted reads the output of Encode.
func DecodeStarted(data []byte) (*Started, error) {
	s := &Started{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("decode start of a command: %w", err)
	}
	return s, nil
}
