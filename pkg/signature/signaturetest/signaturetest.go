// Package signaturetest has a passkey and an SSH key in software, for tests. Their fields let
// them act as those of an attacker.
package signaturetest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"testing"

	"github.com/interlock-run/interlock/pkg/signature"
)

// Passkey is a software authenticator with one passkey. It verifies its person, unless
// Flags say otherwise.
type Passkey struct {
	tb testing.TB
	ID []byte
	// RPID and Origin are the party that it is used for, and the place.
	RPID, Origin string
	// Flags are those of its authenticator data, but for the credential's.
	Flags byte
	// Count is the counter of its next signature.
	Count uint32
	// Type, when not empty, replaces the type of the client data.
	Type string

	key crypto.Signer
}

// Present and Verified are flags: a person was there, and was verified.
const (
	Present  byte = 1 << 0
	Verified byte = 1 << 2
)

// NewPasskey makes a passkey of an algorithm of package signature.
func NewPasskey(tb testing.TB, rpID, origin string, algorithm int64) *Passkey {
	tb.Helper()
	p := &Passkey{tb: tb, ID: make([]byte, 16), RPID: rpID, Origin: origin, Flags: Present | Verified, Count: 1}
	_, _ = rand.Read(p.ID)
	p.key = newKey(tb, algorithm)
	return p
}

func newKey(tb testing.TB, algorithm int64) crypto.Signer {
	tb.Helper()
	var key crypto.Signer
	var err error
	switch algorithm {
	case signature.ES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case signature.EdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case signature.RS256:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		tb.Fatalf("no key of algorithm %d", algorithm)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// Credential returns the part of the passkey that a server keeps.
func (p *Passkey) Credential() signature.Credential {
	return signature.Credential{ID: p.ID, Key: p.cose()}
}

func (p *Passkey) cose() []byte {
	var b []byte
	switch key := p.key.Public().(type) {
	case *ecdsa.PublicKey:
		point, err := key.Bytes()
		if err != nil {
			p.tb.Fatal(err)
		}
		b = append(b, 0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32)
		b = append(b, point[1:33]...)
		b = append(b, 0x22, 0x58, 32)
		return append(b, point[33:]...)
	case ed25519.PublicKey:
		b = append(b, 0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 32)
		return append(b, key...)
	case *rsa.PublicKey:
		n := key.N.Bytes()
		b = append(b, 0xa4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59)
		b = binary.BigEndian.AppendUint16(b, uint16(len(n))) //nolint:gosec // 256
		b = append(b, n...)
		return append(b, 0x21, 0x43, 0x01, 0x00, 0x01)
	default:
		p.tb.Fatalf("no COSE key of a %T", key)
		return nil
	}
}

func (p *Passkey) client(kind string, challenge []byte) []byte {
	if p.Type != "" {
		kind = p.Type
	}
	text, err := json.Marshal(map[string]any{
		"type": kind, "challenge": base64.RawURLEncoding.EncodeToString(challenge), "origin": p.Origin, "crossOrigin": false,
	})
	if err != nil {
		p.tb.Fatal(err)
	}
	return text
}

func (p *Passkey) authenticator(flags byte) []byte {
	rp := sha256.Sum256([]byte(p.RPID))
	data := binary.BigEndian.AppendUint32(append(rp[:], flags), p.Count)
	if p.Count > 0 {
		p.Count++
	}
	return data
}

// Register answers navigator.credentials.create.
func (p *Passkey) Register(challenge []byte) *signature.Registration {
	p.tb.Helper()
	data := append(p.authenticator(p.Flags|1<<6), make([]byte, 16)...)
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(p.ID))), p.ID...) //nolint:gosec // 16
	data = append(data, p.cose()...)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59"), byte(len(data)>>8), byte(len(data))) //nolint:gosec // some hundred bytes
	return &signature.Registration{ClientDataJSON: p.client("webauthn.create", challenge), AttestationObject: append(object, data...)}
}

// Sign answers navigator.credentials.get.
func (p *Passkey) Sign(challenge []byte) *signature.Assertion {
	p.tb.Helper()
	a := &signature.Assertion{CredentialID: p.ID, AuthenticatorData: p.authenticator(p.Flags), ClientDataJSON: p.client("webauthn.get", challenge)}
	sum := sha256.Sum256(a.ClientDataJSON)
	a.Signature = sign(p.tb, p.key, append(append([]byte{}, a.AuthenticatorData...), sum[:]...), crypto.SHA256)
	return a
}

// sign signs a message, hashed as the key needs it.
func sign(tb testing.TB, key crypto.Signer, message []byte, hash crypto.Hash) []byte {
	tb.Helper()
	if _, pure := key.(ed25519.PrivateKey); pure {
		hash = 0
	} else {
		h := hash.New()
		h.Write(message)
		message = h.Sum(nil)
	}
	raw, err := key.Sign(rand.Reader, message, hash)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// SSH is an SSH key in software: one in a file, or one that says it is of a security key.
type SSH struct {
	tb   testing.TB
	Kind string
	// Flags are those of a security key.
	Flags byte
	Count uint32

	key crypto.Signer
}

// application is that of SSH's security keys.
const application = "ssh:"

// NewSSH makes a key of a kind, such as "sk-ssh-ed25519@openssh.com".
func NewSSH(tb testing.TB, kind string) *SSH {
	tb.Helper()
	s := &SSH{tb: tb, Kind: kind, Flags: Present, Count: 1}
	switch kind {
	case "ssh-ed25519", "sk-ssh-ed25519@openssh.com":
		s.key = newKey(tb, signature.EdDSA)
	case "ecdsa-sha2-nistp256", "sk-ecdsa-sha2-nistp256@openssh.com":
		s.key = newKey(tb, signature.ES256)
	case "ssh-rsa":
		s.key = newKey(tb, signature.RS256)
	default:
		tb.Fatalf("no SSH key of kind %s", kind)
	}
	return s
}

func (s *SSH) security() bool { return s.Kind[:3] == "sk-" }

func text(dst []byte, part []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(part))), part...) //nolint:gosec // parts of a key
}

func mpint(dst []byte, n *big.Int) []byte {
	b := n.Bytes()
	if len(b) > 0 && b[0] >= 0x80 {
		b = append([]byte{0}, b...)
	}
	return text(dst, b)
}

func (s *SSH) blob() []byte {
	b := text(nil, []byte(s.Kind))
	switch key := s.key.Public().(type) {
	case ed25519.PublicKey:
		b = text(b, key)
	case *ecdsa.PublicKey:
		point, err := key.Bytes()
		if err != nil {
			s.tb.Fatal(err)
		}
		b = text(text(b, []byte("nistp256")), point)
	case *rsa.PublicKey:
		b = mpint(mpint(b, big.NewInt(int64(key.E))), key.N)
	}
	if s.security() {
		b = text(b, []byte(application))
	}
	return b
}

// Public returns the line of its .pub file.
func (s *SSH) Public() string {
	return s.Kind + " " + base64.StdEncoding.EncodeToString(s.blob()) + " test"
}

// Sign answers ssh-keygen -Y sign -n namespace.
func (s *SSH) Sign(namespace string, message []byte) []byte {
	s.tb.Helper()
	sum := sha512.Sum512(message)
	signed := []byte("SSHSIG")
	for _, part := range [][]byte{[]byte(namespace), nil, []byte("sha512"), sum[:]} {
		signed = text(signed, part)
	}
	out := binary.BigEndian.AppendUint32([]byte("SSHSIG"), 1)
	for _, part := range [][]byte{s.blob(), []byte(namespace), nil, []byte("sha512"), s.inner(signed)} {
		out = text(out, part)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: out})
}

func (s *SSH) inner(signed []byte) []byte {
	format, hash := s.Kind, crypto.SHA256
	if s.Kind == "ssh-rsa" {
		format, hash = "rsa-sha2-512", crypto.SHA512
	}
	if s.security() {
		app, sum := sha256.Sum256([]byte(application)), sha256.Sum256(signed)
		signed = append(binary.BigEndian.AppendUint32(append(app[:], s.Flags), s.Count), sum[:]...)
	}
	raw := sign(s.tb, s.key, signed, hash)
	if _, curve := s.key.(*ecdsa.PrivateKey); curve {
		raw = numbers(s.tb, raw)
	}
	b := text(text(nil, []byte(format)), raw)
	if s.security() {
		b = binary.BigEndian.AppendUint32(append(b, s.Flags), s.Count)
		s.Count++
	}
	return b
}

// numbers returns the two numbers of an ASN.1 signature as SSH writes them.
func numbers(tb testing.TB, der []byte) []byte {
	tb.Helper()
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &pair); err != nil {
		tb.Fatal(err)
	}
	return mpint(mpint(nil, pair.R), pair.S)
}
