package receipt

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kinds of signatures of a note.
const (
	noteEd25519     byte = 0x01
	noteCosignature byte = 0x04
)

// LogKey names the key of the log in a checkpoint.
const LogKey = "interlock.run/receipt"

// noteKeyHash distinguishes keys of notes.
func noteKeyHash(name string, kind byte, key ed25519.PublicKey) [4]byte {
	h := sha256.New()
	h.Write([]byte(name + "\n"))
	h.Write([]byte{kind})
	h.Write(key)
	return [4]byte(h.Sum(nil)[:4])
}

func noteLine(name string, kind byte, key ed25519.PublicKey, signature []byte) string {
	hash := noteKeyHash(name, kind, key)
	return "\u2014 " + name + " " + base64.StdEncoding.EncodeToString(append(hash[:], signature...)) + "\n"
}

// Seal signs a predicate and the checkpoint of its log.
func Seal(p *Predicate, key Signer) (*File, error) {
	payload, err := Payload(p)
	if err != nil {
		return nil, err
	}
	signature, err := key.Sign(PreAuth(PayloadType, payload))
	if err != nil {
		return nil, err
	}
	noted, err := key.Sign([]byte(p.Checkpoint))
	if err != nil {
		return nil, err
	}
	return &File{
		PayloadType: PayloadType, Payload: payload, Signatures: []Signature{{KeyID(key.Public()), signature}},
		Checkpoint: p.Checkpoint + "\n" + noteLine(LogKey, noteEd25519, key.Public(), noted),
	}, nil
}

// cosigned returns the text that a witness signs: that it has seen the checkpoint at a
// time.
func cosigned(checkpoint string, at int64) []byte {
	return fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, checkpoint)
}

// Cosign adds the signature of a witness to the checkpoint of a receipt. The name is the
// witness's, without spaces and +.
func (f *File) Cosign(name string, at time.Time, witness Signer) error {
	if name == "" || strings.ContainsAny(name, " +\n\t") {
		return fmt.Errorf("%q is no name of a witness: it has no spaces and no +, such as witness.example.com", name)
	}
	body, _, err := splitNote(f.Checkpoint)
	if err != nil {
		return err
	}
	signature, err := witness.Sign(cosigned(body, at.Unix()))
	if err != nil {
		return err
	}
	stamped := binary.BigEndian.AppendUint64(nil, uint64(at.Unix()))
	f.Checkpoint += noteLine(name, noteCosignature, witness.Public(), append(stamped, signature...))
	return nil
}

// splitNote parts a note from its signatures.
func splitNote(note string) (body string, lines []string, err error) {
	body, rest, ok := strings.Cut(note, "\n\n")
	if !ok || !strings.HasSuffix(note, "\n") {
		return "", nil, errors.New("the checkpoint is no signed note")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n") {
		lines = append(lines, line)
	}
	return body + "\n", lines, nil
}

// Cosignature is one that was checked.
type Cosignature struct {
	Witness string
	At      time.Time
}

// CheckSignatures checks the envelope, the checkpoint and its cosignatures: the receipt must
// be signed by the key, and cosigned by each witness. It says every fault.
func (f *File) CheckSignatures(s *Statement, key ed25519.PublicKey, witnesses []ed25519.PublicKey) (seen []Cosignature, faults []string) {
	switch {
	case len(f.Signatures) != 1:
		faults = append(faults, fmt.Sprintf("it has %d signatures, not one", len(f.Signatures)))
	case f.Signatures[0].KeyID != KeyID(key):
		faults = append(faults, "it is signed with another key")
	case !ed25519.Verify(key, PreAuth(f.PayloadType, f.Payload), f.Signatures[0].Sig):
		faults = append(faults, "the signature of the envelope is not one of its payload by that key")
	}
	body, lines, err := splitNote(f.Checkpoint)
	if err != nil {
		return nil, append(faults, err.Error())
	}
	if body != s.Predicate.Checkpoint {
		faults = append(faults, "the signed checkpoint is another than the one of the statement")
	}
	byLog := false
	found := make([]bool, len(witnesses))
	for _, line := range lines {
		name, hash, signature, err := readNoteLine(line)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		if name == LogKey && hash == noteKeyHash(name, noteEd25519, key) {
			if !ed25519.Verify(key, []byte(body), signature) {
				faults = append(faults, "the signature of the checkpoint is not one of it by that key")
			}
			byLog = true
			continue
		}
		for i, witness := range witnesses {
			if hash != noteKeyHash(name, noteCosignature, witness) {
				continue
			}
			if len(signature) != 8+ed25519.SignatureSize {
				faults = append(faults, fmt.Sprintf("the cosignature of %s is broken", strconv.Quote(name)))
				continue
			}
			at := int64(binary.BigEndian.Uint64(signature))
			if !ed25519.Verify(witness, cosigned(body, at), signature[8:]) {
				faults = append(faults, fmt.Sprintf("the cosignature of %s is not one of this checkpoint", strconv.Quote(name)))
				continue
			}
			found[i] = true
			seen = append(seen, Cosignature{name, time.Unix(at, 0).UTC()})
		}
	}
	if !byLog {
		faults = append(faults, "the checkpoint is not signed with that key")
	}
	for i, ok := range found {
		if !ok {
			faults = append(faults, fmt.Sprintf("witness %d has not cosigned the checkpoint", i+1))
		}
	}
	return seen, faults
}

// readNoteLine reads a line with a signature.
func readNoteLine(line string) (name string, hash [4]byte, signature []byte, err error) {
	rest, ok := strings.CutPrefix(line, "\u2014 ")
	name, text, parted := strings.Cut(rest, " ")
	data, bad := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || !parted || name == "" || bad != nil || len(data) < 5 {
		return "", hash, nil, fmt.Errorf("a line of the checkpoint is no signature: %s", strconv.Quote(line))
	}
	copy(hash[:], data)
	return name, hash, bytes.Clone(data[4:]), nil
}
