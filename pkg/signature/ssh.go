package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"math/big"
	"strconv"
	"strings"
)

// SSHNamespace is that of signatures of approvals: ssh-keygen -Y sign -n interlock-approval.
const SSHNamespace = "interlock-approval"

// The kinds of SSH keys, by the names that OpenSSH gives them. The last two are of FIDO security keys.
const (
	sshEd25519   = "ssh-ed25519"
	sshRSA       = "ssh-rsa"
	sshECDSA     = "ecdsa-sha2-"
	skSSHEd25519 = "sk-ssh-ed25519@openssh.com"
	skSSHECDSA   = "sk-ecdsa-sha2-nistp256@openssh.com"
)

// SSHKey is a public key of SSH.
type SSHKey struct {
	// Kind is the type as OpenSSH names it, and Blob the key in its wire form.
	Kind string
	Blob []byte

	ec  *ecdsa.PublicKey
	ed  ed25519.PublicKey
	rsa *rsa.PublicKey
	// application is that of a security key.
	application string
}

// ReadSSHKey reads a line of an authorized_keys file or of a .pub file, without options.
func ReadSSHKey(line string) (*SSHKey, error) {
	kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	blob, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(blob) == 0 {
		return nil, mismatch(PartKey, "it is no public key of SSH: give a line such as %q", "ssh-ed25519 AAAA... name")
	}
	key, err := ReadSSHBlob(blob)
	if err != nil {
		return nil, err
	}
	if key.Kind != kind {
		return nil, mismatch(PartKey, "the line says %s, and the key is of type %s", strconv.Quote(kind), strconv.Quote(key.Kind))
	}
	return key, nil
}

// String returns the line of an authorized_keys file.
func (k *SSHKey) String() string { return k.Kind + " " + base64.StdEncoding.EncodeToString(k.Blob) }

// Fingerprint returns the name of the key, as ssh-add -l shows it: "SHA256:...".
func (k *SSHKey) Fingerprint() string {
	return fingerprint(k.Blob)
}

func fingerprint(key []byte) string {
	sum := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Touches reports that the key is of a security key, which can ask for a touch.
func (k *SSHKey) Touches() bool { return k.application != "" }

// ReadSSHBlob reads a public key in its wire form.
func ReadSSHBlob(blob []byte) (*SSHKey, error) {
	r := &wire{data: blob}
	key := &SSHKey{Kind: r.text(), Blob: bytes.Clone(blob)}
	switch kind := key.Kind; {
	case kind == sshEd25519 || kind == skSSHEd25519:
		key.ed = r.bytes()
		if len(key.ed) != ed25519.PublicKeySize {
			r.bad = true
		}
	case kind == sshRSA:
		e, n := r.bytes(), r.bytes()
		if key.rsa = rsaKey(n, e); key.rsa == nil {
			return nil, mismatch(PartKey, "the RSA key is too short or too odd: use one of %d bits or more", leastRSA)
		}
	case strings.HasPrefix(kind, sshECDSA) || kind == skSSHECDSA:
		name, point := r.text(), r.bytes()
		curve, known := map[string]elliptic.Curve{"nistp256": elliptic.P256(), "nistp384": elliptic.P384(), "nistp521": elliptic.P521()}[name]
		if !known || kind != sshECDSA+name && (kind != skSSHECDSA || name != "nistp256") {
			r.bad = true
			break
		}
		var err error
		if key.ec, err = ecdsa.ParseUncompressedPublicKey(curve, point); err != nil {
			r.bad = true
		}
	default:
		return nil, mismatch(PartKey, "an SSH key of type %s cannot sign approvals; use ed25519, ecdsa, rsa, sk-ssh-ed25519 or sk-ecdsa", strconv.Quote(kind))
	}
	if strings.HasPrefix(key.Kind, "sk-") {
		key.application = r.text()
		r.bad = r.bad || key.application == ""
	}
	if r.bad || len(r.data) > 0 {
		return nil, mismatch(PartKey, "the SSH key is broken")
	}
	return key, nil
}

// Touch has the claims of a security key about the person.
type Touch struct {
	// Touched reports that a person has touched it, and Verified that it has verified who.
	Touched, Verified bool
	// Count is the counter of the security key.
	Count uint32
}

// VerifySSH checks that a key has signed a message for a namespace, in the form of
// ssh-keygen -Y sign. It returns the touch of a security key; a key in a file has none. The
// error is a *Mismatch.
func VerifySSH(armored []byte, key *SSHKey, namespace string, message []byte) (Touch, error) {
	block, rest := pem.Decode(armored)
	if block == nil || block.Type != "SSH SIGNATURE" || len(bytes.TrimSpace(rest)) > 0 {
		return Touch{}, mismatch(PartForm, "it is no signature of ssh-keygen -Y sign: it begins with -----BEGIN SSH SIGNATURE-----")
	}
	after, magic := bytes.CutPrefix(block.Bytes, []byte("SSHSIG"))
	r := &wire{data: after}
	version, blob, space, reserved, hash := r.number(), r.bytes(), r.text(), r.text(), r.text()
	signature := r.bytes()
	switch {
	case !magic || r.bad || version != 1 || len(r.data) > 0:
		return Touch{}, mismatch(PartForm, "the signature of SSH is broken")
	case !bytes.Equal(blob, key.Blob):
		return Touch{}, mismatch(PartCredential, "the signature is of another SSH key than %s", key.Fingerprint())
	case space != namespace || namespace == "":
		return Touch{}, mismatch(PartNamespace, "the signature is for %s, not %q: sign with -n %s", strconv.Quote(space), namespace, namespace)
	}
	var sum []byte
	switch hash {
	case "sha256":
		h := sha256.Sum256(message)
		sum = h[:]
	case "sha512":
		h := sha512.Sum512(message)
		sum = h[:]
	default:
		return Touch{}, mismatch(PartForm, "the signature hashes with %s; use sha512 or sha256", strconv.Quote(hash))
	}
	signed := []byte("SSHSIG")
	for _, part := range [][]byte{[]byte(space), []byte(reserved), []byte(hash), sum} {
		signed = append(binary.BigEndian.AppendUint32(signed, uint32(len(part))), part...) //nolint:gosec // parts of a signature
	}
	return key.verify(signed, signature)
}

// verify checks the inner signature, over the text that SSH signs.
func (k *SSHKey) verify(signed, signature []byte) (touch Touch, err error) {
	r := &wire{data: signature}
	format, raw := r.text(), r.bytes()
	if k.Touches() {
		flags := r.octet()
		touch = Touch{Touched: flags&flagPresent != 0, Verified: flags&flagVerified != 0, Count: r.number()}
		application, sum := sha256.Sum256([]byte(k.application)), sha256.Sum256(signed)
		signed = append(binary.BigEndian.AppendUint32(append(application[:], flags), touch.Count), sum[:]...)
	}
	if r.bad || len(r.data) > 0 {
		return Touch{}, mismatch(PartForm, "the signature of SSH is broken")
	}
	var good bool
	switch {
	case k.ed != nil:
		good = format == k.Kind && len(raw) == ed25519.SignatureSize && ed25519.Verify(k.ed, signed, raw)
	case k.ec != nil:
		good = format == k.Kind && verifyECDSA(k.ec, signed, raw)
	case k.rsa != nil && format == "rsa-sha2-512":
		sum := sha512.Sum512(signed)
		good = rsa.VerifyPKCS1v15(k.rsa, crypto.SHA512, sum[:], raw) == nil
	case k.rsa != nil && format == "rsa-sha2-256":
		sum := sha256.Sum256(signed)
		good = rsa.VerifyPKCS1v15(k.rsa, crypto.SHA256, sum[:], raw) == nil
	}
	if !good {
		return Touch{}, mismatch(PartSignature, "the signature is not one of this text by the SSH key %s", k.Fingerprint())
	}
	return touch, nil
}

// verifyECDSA checks a signature of RFC 5656: two numbers, under the hash of the curve.
func verifyECDSA(key *ecdsa.PublicKey, signed, raw []byte) bool {
	w := &wire{data: raw}
	r, s := new(big.Int).SetBytes(w.bytes()), new(big.Int).SetBytes(w.bytes())
	if w.bad || len(w.data) > 0 {
		return false
	}
	var sum []byte
	switch size := key.Curve.Params().BitSize; {
	case size <= 256:
		h := sha256.Sum256(signed)
		sum = h[:]
	case size <= 384:
		h := sha512.Sum384(signed)
		sum = h[:]
	default:
		h := sha512.Sum512(signed)
		sum = h[:]
	}
	return ecdsa.Verify(key, sum, r, s)
}

// wire reads the wire form of SSH (RFC 4251). It is bad once something was missing.
type wire struct {
	data []byte
	bad  bool
}

func (w *wire) take(n int) []byte {
	if w.bad || n > len(w.data) {
		w.bad = true
		return nil
	}
	part := w.data[:n]
	w.data = w.data[n:]
	return part
}

func (w *wire) octet() byte {
	if b := w.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (w *wire) number() uint32 {
	if b := w.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (w *wire) bytes() []byte {
	n := w.number()
	if uint64(n) > uint64(len(w.data)) {
		w.bad = true
		return nil
	}
	return w.take(int(n))
}

func (w *wire) text() string { return string(w.bytes()) }
