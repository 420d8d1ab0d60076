package signature

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// Credential is a passkey as the server knows it.
type Credential struct {
	ID []byte
	// Key is the public key as a COSE key.
	Key []byte
	// Count is the counter of signatures that was seen last; 0 for none.
	Count uint32
}

// Assertion is the answer of a passkey to a challenge.
type Assertion struct {
	CredentialID      []byte `json:"credential_id"`
	AuthenticatorData []byte `json:"authenticator_data"`
	ClientDataJSON    []byte `json:"client_data_json"`
	Signature         []byte `json:"signature"`
}

// Flags of authenticator data.
const (
	flagPresent    = 1 << 0
	flagVerified   = 1 << 2
	flagCredential = 1 << 6
)

// The types of client data.
const (
	typeGet    = "webauthn.get"
	typeCreate = "webauthn.create"
)

// clientData are the checked members of client data. Browsers may add others.
type clientData struct {
	Type        string `json:"type"`
	Challenge   string `json:"challenge"`
	Origin      string `json:"origin"`
	CrossOrigin bool   `json:"crossOrigin"`
}

// VerifyPasskey checks that the passkey of a credential has signed the challenge, at one of the
// origins, with a person there whom it has verified. It returns the counter of the passkey, to
// be kept. The error is a *Mismatch.
func VerifyPasskey(a *Assertion, c *Credential, rpID string, origins []string, challenge []byte) (count uint32, err error) {
	if len(a.CredentialID) == 0 || !bytes.Equal(a.CredentialID, c.ID) {
		return 0, mismatch(PartCredential, "the assertion is of another passkey")
	}
	key, err := readKey(c.Key)
	if err != nil {
		return 0, err
	}
	if err := checkClient(a.ClientDataJSON, typeGet, origins, challenge); err != nil {
		return 0, err
	}
	if count, err = checkAuthenticator(a.AuthenticatorData, rpID); err != nil {
		return 0, err
	}
	sum := sha256.Sum256(a.ClientDataJSON)
	if !key.verifies(append(slices.Clip(a.AuthenticatorData), sum[:]...), a.Signature) {
		return 0, mismatch(PartSignature, "the signature is not one of this assertion by the passkey")
	}
	if (count != 0 || c.Count != 0) && count <= c.Count {
		return 0, mismatch(PartCounter, "the passkey counts %d signatures, and has counted %d before: it may have been copied; remove it and register another", count, c.Count)
	}
	return count, nil
}

func checkClient(text []byte, kind string, origins []string, challenge []byte) error {
	var client clientData
	if err := json.Unmarshal(text, &client); err != nil {
		return mismatch(PartForm, "the client data is no JSON of a browser")
	}
	want := base64.RawURLEncoding.EncodeToString(challenge)
	switch {
	case client.Type != kind:
		return mismatch(PartType, "the client data is of type %s, not %q", strconv.Quote(client.Type), kind)
	case len(challenge) == 0 || subtle.ConstantTimeCompare([]byte(client.Challenge), []byte(want)) != 1:
		return mismatch(PartChallenge, "the passkey has signed something else: the challenge is another one")
	case !slices.Contains(origins, client.Origin) || client.Origin == "":
		return mismatch(PartOrigin, "the passkey was used at %s, and this deployment is at %s", strconv.Quote(client.Origin), strings.Join(origins, ", "))
	case client.CrossOrigin:
		return mismatch(PartOrigin, "the passkey was used in a frame of another site")
	}
	return nil
}

// leastAuthenticator is the hash of the relying party, the flags and the counter.
const leastAuthenticator = 32 + 1 + 4

func checkAuthenticator(data []byte, rpID string) (count uint32, err error) {
	if len(data) < leastAuthenticator {
		return 0, mismatch(PartForm, "the authenticator data has %d bytes: at least %d are needed", len(data), leastAuthenticator)
	}
	rp := sha256.Sum256([]byte(rpID))
	flags := data[32]
	switch {
	case rpID == "" || !bytes.Equal(data[:32], rp[:]):
		return 0, mismatch(PartRP, "the passkey was used for another relying party than %s", strconv.Quote(rpID))
	case flags&flagPresent == 0:
		return 0, mismatch(PartPresence, "the passkey saw no person there")
	case flags&flagVerified == 0:
		return 0, mismatch(PartPresence, "the passkey did not verify the person by a PIN, a finger or a face")
	}
	return binary.BigEndian.Uint32(data[33:37]), nil
}

// Registration is the answer of a browser when a passkey was made.
type Registration struct {
	ClientDataJSON    []byte
	AttestationObject []byte
}

// ReadRegistration checks that a passkey was made for the challenge, at one of the origins, with
// a person there whom it has verified, and returns it. The maker of the passkey is not known:
// attestations are not checked. The error is a *Mismatch.
func ReadRegistration(r *Registration, rpID string, origins []string, challenge []byte) (*Credential, error) {
	if err := checkClient(r.ClientDataJSON, typeCreate, origins, challenge); err != nil {
		return nil, err
	}
	v, rest, err := readCBOR(r.AttestationObject, 0)
	object, _ := v.(map[any]any)
	data, _ := object["authData"].([]byte)
	if err != nil || len(rest) > 0 || data == nil {
		return nil, mismatch(PartForm, "the attestation is no CBOR of a browser")
	}
	count, err := checkAuthenticator(data, rpID)
	if err != nil {
		return nil, err
	}
	// A model's id, the length of the credential's id, the id and the key follow.
	rest = data[leastAuthenticator:]
	if data[32]&flagCredential == 0 || len(rest) < 18 {
		return nil, mismatch(PartForm, "the attestation has no credential")
	}
	size := int(binary.BigEndian.Uint16(rest[16:18]))
	rest = rest[18:]
	if size == 0 || size > 1023 || len(rest) < size {
		return nil, mismatch(PartForm, "the id of the credential has %d bytes: it must have 1 to 1023", size)
	}
	id, rest := rest[:size], rest[size:]
	_, after, err := readCBOR(rest, 0)
	if err != nil {
		return nil, mismatch(PartKey, "the public key of the credential is no COSE key")
	}
	key := rest[:len(rest)-len(after)]
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return &Credential{ID: bytes.Clone(id), Key: bytes.Clone(key), Count: count}, nil
}
