// Package receipt has the form of receipts: one file with the acts of a run, its
// definitions, and the people who let it, which every holder of the public key can check.
//
// A receipt is an in-toto statement (v1) in a DSSE envelope, signed with Ed25519. Next to
// the envelope is a checkpoint of the log of decisions (C2SP tlog-checkpoint), which
// witnesses can cosign (C2SP tlog-cosignature). The statement has the very text of every
// decision, over which the hashes of the log are.
//
// It is pure: values in, values out. pkg/verify checks whether the claims of a receipt
// make sense, not here.
package receipt

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The names of the forms.
const (
	Format        = "interlock-receipt/1"
	PayloadType   = "application/vnd.in-toto+json"
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://interlock.run/receipt/v1"
)

// File is a receipt as it is written.
type File struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []Signature `json:"signatures"`
	// Checkpoint of the log, with its signatures: a signed note.
	Checkpoint string `json:"checkpoint"`
}

// Signature is one of an envelope.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// Statement is the payload.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is the object of a statement.
type Subject struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`
}

// Digest is that of a subject: of a run, the head of its log.
type Digest struct {
	SHA256 string `json:"sha256"`
}

// Predicate has the claims about a run.
type Predicate struct {
	Format string `json:"format"`
	// IssuedAt is when it was put together, by which program.
	IssuedAt time.Time `json:"issued_at"`
	Version  string    `json:"version"`

	Namespace string `json:"namespace"`
	RunID     string `json:"run_id"`
	Workflow  string `json:"workflow"`
	SessionID string `json:"session_id,omitzero"`
	Workspace string `json:"workspace,omitzero"`
	Status    string `json:"status"`
	State     string `json:"state"`

	// Definitions are the versions of its workflow, and Policies those that judged its
	// calls; Certificates are of the properties of the definitions.
	Definitions  []Text           `json:"definitions"`
	Policies     []Text           `json:"policies"`
	Certificates []jsontext.Value `json:"certificates"`

	// History are its changes, and Approvals the questions to humans.
	History   []jsontext.Value `json:"history"`
	Approvals []jsontext.Value `json:"approvals"`

	// Log are the decisions of the run and of its whole family, in their order, and Head is
	// the hash of the last one.
	Partition string  `json:"partition"`
	Log       []Entry `json:"log"`
	Head      string  `json:"head"`
	// Checkpoint is the text that is signed next to the envelope, without signatures.
	Checkpoint string `json:"checkpoint"`
}

// Text is one version of a definition.
type Text struct {
	Name       string         `json:"name"`
	Version    int64          `json:"version"`
	Definition jsontext.Value `json:"definition"`
	// Set is the set that has made it live, as it was applied then; nil for none.
	Set *Set `json:"set,omitzero"`
}

// Set is the application of a set of definitions.
type Set struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
	// Repo and Commit are where its files were from, as who applied it has said.
	Repo   string `json:"repo,omitzero"`
	Commit string `json:"commit,omitzero"`
	// AppliedBy is the name of who applied it.
	AppliedBy string    `json:"applied_by"`
	AppliedAt time.Time `json:"applied_at"`
	// Bundle is the hex SHA-256 of the signed statement; empty when it was not signed.
	Bundle string `json:"bundle_digest,omitzero"`
}

// String returns the set in words, such as: set shop version 3, git.example.com/shop@abc, applied by ci.
func (s *Set) String() string {
	text := fmt.Sprintf("set %s version %d", s.Name, s.Version)
	if from := s.Repo; from != "" || s.Commit != "" {
		if s.Commit != "" {
			from += "@" + s.Commit
		}
		text += ", " + from
	}
	return text + ", applied by " + s.AppliedBy
}

// Entry is a record of the log.
type Entry struct {
	Sequence int64 `json:"sequence"`
	// CommittedUS is its time in microseconds since 1970, where the text does not have it.
	CommittedUS int64 `json:"committed_us,omitzero"`
	// Record is its text, and Hash that of the chain up to it.
	Record string `json:"record"`
	Hash   string `json:"hash"`
}

// Link is one hash of a chain.
type Link [sha256.Size]byte

func (l Link) String() string { return hex.EncodeToString(l[:]) }

// Anchor begins the chain of a partition; no two begin alike.
func Anchor(namespace, partition string) Link {
	return sha256.Sum256(fmt.Appendf(nil, "interlock decisions\x00%d\x00%s\x00%s", len(namespace), namespace, partition))
}

// Next returns the hash over this one and the entry that follows: its place, its time in
// microseconds unless the text has it, and the text.
func (l Link) Next(e *Entry) Link {
	h := sha256.New()
	h.Write(l[:])
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(e.Sequence))
	h.Write(number[:])
	if !strings.HasPrefix(e.Record, `{"time":`) {
		binary.BigEndian.PutUint64(number[:], uint64(e.CommittedUS))
		h.Write(number[:])
	}
	h.Write([]byte(e.Record))
	var sum Link
	h.Sum(sum[:0])
	return sum
}

// Chain computes the hashes of a log, which must begin at its first record and have no gap.
func Chain(namespace, partition string, log []Entry) ([]Link, error) {
	chain := Anchor(namespace, partition)
	links := make([]Link, 0, len(log))
	for i := range log {
		if want := int64(i + 1); log[i].Sequence != want {
			return nil, fmt.Errorf("record %d of the log comes where record %d must be", log[i].Sequence, want)
		}
		chain = chain.Next(&log[i])
		links = append(links, chain)
	}
	return links, nil
}

// Head returns the last hash of a log, or its anchor.
func Head(namespace, partition string, links []Link) Link {
	if len(links) == 0 {
		return Anchor(namespace, partition)
	}
	return links[len(links)-1]
}

// Root returns the root of the Merkle tree (RFC 6962) whose leaves are the hashes of a
// log.
func Root(links []Link) Link {
	switch n := len(links); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, links[0][:]...))
	default:
		k := 1
		for k*2 < n {
			k *= 2
		}
		left, right := Root(links[:k]), Root(links[k:])
		return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
	}
}

// CheckpointOf returns the body of the checkpoint of a log.
func CheckpointOf(namespace, partition string, links []Link) string {
	root := Root(links)
	return fmt.Sprintf("%s\n%d\n%s\n", Origin(namespace, partition), len(links), base64.StdEncoding.EncodeToString(root[:]))
}

// Origin names a log: a partition is one.
func Origin(namespace, partition string) string {
	return "interlock.run/log/" + namespace + "/" + partition
}

// Payload returns a statement as it is signed.
func Payload(p *Predicate) ([]byte, error) {
	return json.Marshal(&Statement{
		Type: StatementType, PredicateType: PredicateType, Predicate: *p,
		Subject: []Subject{{Name: "interlock:" + p.Namespace + "/" + p.RunID, Digest: Digest{p.Head}}},
	}, json.Deterministic(true))
}

// Read reads a file. It refuses ambiguous files: names twice, unknown names, and other
// base64 than the standard one.
func Read(text []byte) (*File, *Statement, error) {
	var f File
	strict := json.JoinOptions(json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false))
	if err := json.Unmarshal(text, &f, strict); err != nil {
		return nil, nil, fmt.Errorf("it is no receipt: %w", err)
	}
	if !spelled(text, &f) {
		return nil, nil, errors.New("it is no receipt: its base64 is not the standard one")
	}
	if f.PayloadType != PayloadType {
		return nil, nil, fmt.Errorf("its payload is %q, not %q", f.PayloadType, PayloadType)
	}
	var s Statement
	if err := json.Unmarshal(f.Payload, &s, strict); err != nil {
		return nil, nil, fmt.Errorf("its payload is no statement: %w", err)
	}
	switch {
	case s.Type != StatementType || s.PredicateType != PredicateType:
		return nil, nil, fmt.Errorf("it states %q as %q, not %q as %q", s.PredicateType, s.Type, PredicateType, StatementType)
	case s.Predicate.Format != Format:
		return nil, nil, fmt.Errorf("its form is %q, not %q", s.Predicate.Format, Format)
	}
	return &f, &s, nil
}

// spelled reports that the bytes of a file are in the one base64 that they have: others could say
// the same in a file that is another one.
func spelled(text []byte, f *File) bool {
	var written struct {
		Payload    string `json:"payload"`
		Signatures []struct {
			Sig string `json:"sig"`
		} `json:"signatures"`
	}
	if json.Unmarshal(text, &written) != nil || written.Payload != base64.StdEncoding.EncodeToString(f.Payload) {
		return false
	}
	for i, s := range written.Signatures {
		if s.Sig != base64.StdEncoding.EncodeToString(f.Signatures[i].Sig) {
			return false
		}
	}
	return true
}

// Write returns a file as bytes.
func (f *File) Write() ([]byte, error) {
	text, err := json.Marshal(f, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(text, '\n'), err
}
