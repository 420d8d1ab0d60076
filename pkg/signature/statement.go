// Package signature has the form of signed approvals: the statement that a person signs, and
// the check of the signature of a passkey or of an SSH key over it. Whoever has a vote can
// check it by this package alone, without the deployment.
//
// It is pure, and needs no library of WebAuthn or of SSH: a checker stays small.
package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
)

// Format is the form of statements, which each of them names.
const Format = "interlock.run/approval/v1"

// The decisions that a statement can make.
const (
	Approve = "approve"
	Reject  = "reject"
)

// Statement is the decision that a person signs. The server makes it; see Text.
type Statement struct {
	Format string `json:"format"`
	// Deployment is the host name by which people reach it.
	Deployment string `json:"deployment,omitempty"`
	Namespace  string `json:"namespace"`
	Decision   string `json:"decision"`
	// Items are the approvals that are decided, in order: one or, of a list that is decided at
	// once, several.
	Items []Item `json:"items"`
	// Note is the hex SHA-256 of the note; empty without one.
	Note string `json:"note_digest,omitempty"`
	// Lease lets later calls pass too; nil for none.
	Lease  *Lease `json:"lease,omitempty"`
	Person string `json:"person"`
	// Nonce is from the server, and proves that it made the statement at Time, for this person.
	Nonce string    `json:"nonce"`
	Time  time.Time `json:"time"`
}

// Item is an approval as it is decided.
type Item struct {
	ApprovalID string `json:"approval_id"`
	Kind       string `json:"kind"`
	// Digest is that of the call or the transition, with its data.
	Digest string `json:"digest"`
	// Terms is the digest of who decides, and how many.
	Terms           string `json:"terms_digest"`
	RunID           string `json:"run_id,omitempty"`
	RunVersion      int64  `json:"run_version,omitzero"`
	Workflow        string `json:"workflow,omitempty"`
	WorkflowVersion int64  `json:"workflow_version,omitzero"`
	State           string `json:"state,omitempty"`
	Tool            string `json:"tool,omitempty"`
	Event           string `json:"event,omitempty"`
	// Shown is the text of the action that the person was shown.
	Shown string `json:"shown"`
}

// Lease has the terms of a lease.
type Lease struct {
	Pattern string `json:"pattern,omitempty"`
	Only    string `json:"only,omitempty"`
	Calls   int64  `json:"calls,omitzero"`
	Minutes int64  `json:"minutes,omitzero"`
}

// Text returns the canonical JSON (RFC 8785) of a statement: an SSH key signs it.
func (s *Statement) Text() []byte {
	stated := *s
	stated.Format = Format
	stated.Time = s.Time.UTC().Truncate(time.Second)
	text, err := json.Marshal(&stated, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	v, problem := document.Parse(text, document.Limits{Bytes: len(text) + 1})
	if problem != nil {
		panic("signature: " + problem.Message)
	}
	return document.Canonical(v)
}

// Digest returns the SHA-256 of the text: the challenge that a passkey signs.
func (s *Statement) Digest() [sha256.Size]byte { return sha256.Sum256(s.Text()) }

// Read reads the text of a statement, which must be canonical.
func Read(text []byte) (*Statement, error) {
	var s Statement
	if err := json.Unmarshal(text, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("it is no statement of an approval: %w", err)
	}
	switch {
	case s.Format != Format:
		return nil, fmt.Errorf("the statement has the format %s, not %s", strconv.Quote(s.Format), strconv.Quote(Format))
	case s.Decision != Approve && s.Decision != Reject:
		return nil, fmt.Errorf("the statement decides %s; it must be %q or %q", strconv.Quote(s.Decision), Approve, Reject)
	case len(s.Items) == 0:
		return nil, errors.New("the statement is of no approval")
	case string(s.Text()) != string(text):
		return nil, errors.New("the statement is not in canonical form (RFC 8785)")
	}
	return &s, nil
}

// NoteDigest returns the digest of a note; empty without one.
func NoteDigest(note string) string {
	if note == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(note))
	return hex.EncodeToString(sum[:])
}

// Differs names the first part in which another statement differs; empty for equal ones.
func (s *Statement) Differs(other *Statement) string {
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"deployment", s.Deployment, other.Deployment},
		{"namespace", s.Namespace, other.Namespace},
		{"decision", s.Decision, other.Decision},
		{"person", s.Person, other.Person},
		{"note", s.Note, other.Note},
		{"lease", s.lease(), other.lease()},
		{"number of approvals", len(s.Items), len(other.Items)},
	} {
		if part.a != part.b {
			return part.name
		}
	}
	for i := range s.Items {
		if part := s.Items[i].differs(&other.Items[i]); part != "" {
			return part
		}
	}
	switch {
	case s.Nonce != other.Nonce:
		return "nonce"
	case !s.Time.Truncate(time.Second).Equal(other.Time.Truncate(time.Second)):
		return "time"
	case string(s.Text()) != string(other.Text()):
		return "text"
	}
	return ""
}

func (s *Statement) lease() Lease {
	if s.Lease == nil {
		return Lease{}
	}
	return *s.Lease
}

func (i *Item) differs(other *Item) string {
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"approval", i.ApprovalID, other.ApprovalID},
		{"kind", i.Kind, other.Kind},
		{"run", i.RunID, other.RunID},
		{"version of the run", i.RunVersion, other.RunVersion},
		{"workflow", i.Workflow, other.Workflow},
		{"version of the workflow", i.WorkflowVersion, other.WorkflowVersion},
		{"state", i.State, other.State},
		{"tool", i.Tool, other.Tool},
		{"event", i.Event, other.Event},
		{"action", i.Digest, other.Digest},
		{"terms", i.Terms, other.Terms},
		{"text shown", i.Shown, other.Shown},
	} {
		if part.a != part.b {
			return part.name
		}
	}
	return ""
}

// Shown returns a statement as text for its person, with the note that it has the digest of.
func (s *Statement) Shown(note string) string {
	var b strings.Builder
	verb := "approve"
	if s.Decision == Reject {
		verb = "reject"
	}
	fmt.Fprintf(&b, "I, %s, %s:\n", strconv.Quote(s.Person), verb)
	for i := range s.Items {
		if len(s.Items) > 1 {
			fmt.Fprintf(&b, "%d of %d\n", i+1, len(s.Items))
		}
		b.WriteString(s.Items[i].Shown)
	}
	if l := s.Lease; l != nil {
		fmt.Fprintf(&b, "And later calls like it: pattern %s, condition %s, calls %d, minutes %d (0: as many as may be)\n", strconv.Quote(l.Pattern), strconv.Quote(l.Only), l.Calls, l.Minutes)
	}
	if note != "" {
		fmt.Fprintf(&b, "With the note %s\n", strconv.Quote(note))
	}
	fmt.Fprintf(&b, "In namespace %s at %s\n", strconv.Quote(s.Namespace), s.Time.UTC().Format(time.RFC3339))
	return b.String()
}
