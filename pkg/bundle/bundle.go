// Package bundle signs sets of definitions, and checks such signatures (S26.8). A bundle is a statement of the objects of a
// set, in a DSSE envelope signed with Ed25519. It is pure: text in, text out.
package bundle

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/receipt"
)

// File is the name of the bundle in the folder of a set.
const File = "interlock.bundle.json"

// PayloadType is the type of the statements that are signed.
const PayloadType = "application/vnd.interlock.set+json"

// MaxBytes bounds a bundle.
const MaxBytes = 1 << 20

// Statement lists the objects of a set.
type Statement struct {
	Set string `json:"set"`
	// Namespace is the one that the set is for.
	Namespace string `json:"namespace"`
	// Serial grows with each statement about the set: an older one is not applied any more.
	Serial int64 `json:"serial"`
	// NotAfter is the last moment at which it is applied.
	NotAfter time.Time `json:"not_after"`
	Objects  []Object  `json:"objects"`
}

// Object is a workflow, process or policy of the set.
type Object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Digests are the hex SHA-256 of the canonical definition; with several, each is that of the file in some deployment.
	Digests []string `json:"digests"`
	// Attachments of a policy, as KIND:NAME, when the set owns them.
	Attachments *[]string `json:"attachments,omitempty"`
}

func (o Object) String() string { return o.Kind + " " + o.Name }

// envelope is a DSSE envelope.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	// KeyID is for people. Only the keys of the server decide which signature counts.
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// Sign returns the bundle of a statement.
func Sign(s *Statement, key receipt.Signer) ([]byte, error) {
	slices.SortFunc(s.Objects, func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	signed, err := key.Sign(receipt.PreAuth(PayloadType, payload))
	if err != nil {
		return nil, err
	}
	file, err := json.MarshalIndent(envelope{PayloadType, payload, []signature{{receipt.KeyID(key.Public()), signed}}}, "", "  ")
	return append(file, '\n'), err
}

// Keys are the public keys of those who may sign; a bundle needs a signature by one.
type Keys []ed25519.PublicKey

// ReadKeys reads the PEM of public keys.
func ReadKeys(texts ...[]byte) (keys Keys, err error) {
	for _, text := range texts {
		key, err := receipt.ReadPublic(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Open returns the statement of a bundle, and its digest, after it has checked the signature.
func (k Keys) Open(file []byte) (s *Statement, digest string, err error) {
	if len(file) == 0 {
		return nil, "", errors.New("there is no bundle")
	}
	if len(file) > MaxBytes {
		return nil, "", fmt.Errorf("the bundle has %d bytes, of at most %d", len(file), MaxBytes)
	}
	var e envelope
	if err := strictly(file, &e); err != nil {
		return nil, "", fmt.Errorf("it is no bundle: %w", err)
	}
	if e.PayloadType != PayloadType {
		return nil, "", fmt.Errorf("its payload is a %q, and not the statement of a set", e.PayloadType)
	}
	message := receipt.PreAuth(PayloadType, e.Payload)
	if !slices.ContainsFunc(e.Signatures, func(s signature) bool {
		return slices.ContainsFunc(k, func(key ed25519.PublicKey) bool { return ed25519.Verify(key, message, s.Sig) })
	}) {
		return nil, "", errors.New("no signature of it is by a key that is accepted here")
	}
	s = &Statement{}
	if err := strictly(e.Payload, s); err != nil {
		return nil, "", fmt.Errorf("its statement cannot be read: %w", err)
	}
	sum := sha256.Sum256(e.Payload)
	return s, hex.EncodeToString(sum[:]), nil
}

// strictly decodes one JSON document without unknown fields.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more than one document")
	}
	return nil
}

// Fits reports why a statement does not count for a set now; nil when it does.
func (s *Statement) Fits(namespace, set string, now time.Time) error {
	switch {
	case s.Set != set || s.Namespace != namespace:
		return fmt.Errorf("it is about set %q of namespace %q, and not about set %q of namespace %q", s.Set, s.Namespace, set, namespace)
	case s.Serial < 1:
		return fmt.Errorf("its serial is %d, and the least is 1", s.Serial)
	case now.After(s.NotAfter):
		return fmt.Errorf("it was valid until %s; sign the set again", s.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// Differs compares the objects of a statement with those that a set gets, each with one digest. It returns every difference.
func (s *Statement) Differs(gets []Object) (differences []string) {
	said := make(map[string]Object, len(s.Objects))
	for _, o := range s.Objects {
		said[o.String()] = o
	}
	for _, o := range gets {
		signed, ok := said[o.String()]
		delete(said, o.String())
		switch {
		case !ok:
			differences = append(differences, o.String()+" is not signed")
		case len(o.Digests) != 1 || !slices.Contains(signed.Digests, o.Digests[0]):
			differences = append(differences, o.String()+" has another content than the signed one")
		case !sameAttachments(o.Attachments, signed.Attachments):
			differences = append(differences, o.String()+" gets other attachments than the signed ones")
		}
	}
	for name := range said {
		differences = append(differences, name+" is signed, and missing")
	}
	slices.Sort(differences)
	return differences
}

func sameAttachments(a, b *[]string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(slices.Sorted(slices.Values(*a)), slices.Sorted(slices.Values(*b)))
}
