package signature

import (
	"crypto/sha256"
	"strings"
	"time"
)

// Life is how long a statement can be used.
const Life = 5 * time.Minute

// Signed is a signature over a statement, with the key that checks it. Its JSON form is stored.
type Signed struct {
	// Statement is the signed text.
	Statement []byte `json:"statement"`
	// Passkey is an assertion, whose challenge is the digest of the statement; nil for SSH.
	Passkey *Assertion `json:"passkey,omitempty"`
	// PasskeyKey is the public key of the passkey, as a COSE key.
	PasskeyKey []byte `json:"passkey_key,omitempty"`
	// RPID and Origins are those that the passkey had to be used for.
	RPID    string   `json:"rp_id,omitempty"`
	Origins []string `json:"origins,omitempty"`
	// SSH is the output of ssh-keygen -Y sign over the statement, and SSHKey the line of the
	// public key.
	SSH    string `json:"ssh,omitempty"`
	SSHKey string `json:"ssh_key,omitempty"`
}

// Check checks a signature by itself: it is one of the statement, by its key. Present reports
// that the person was there: a passkey has verified who, or a security key was touched. Count
// is the counter of the key. The error is a *Mismatch.
func (s *Signed) Check(lastCount uint32) (present bool, count uint32, err error) {
	if (s.Passkey == nil) == (s.SSH == "") {
		return false, 0, mismatch(PartForm, "a signature is either of a passkey or of an SSH key")
	}
	if s.Passkey != nil {
		sum := sha256.Sum256(s.Statement)
		c := &Credential{ID: s.Passkey.CredentialID, Key: s.PasskeyKey, Count: lastCount}
		count, err := VerifyPasskey(s.Passkey, c, s.RPID, s.Origins, sum[:])
		return err == nil, count, err
	}
	key, err := ReadSSHKey(s.SSHKey)
	if err != nil {
		return false, 0, err
	}
	touch, err := VerifySSH([]byte(s.SSH), key, SSHNamespace, s.Statement)
	if err != nil {
		return false, 0, err
	}
	if key.Touches() && touch.Count != 0 && touch.Count <= lastCount {
		return false, 0, mismatch(PartCounter, "the security key counts %d signatures, and has counted %d before: it may have been copied", touch.Count, lastCount)
	}
	return touch.Touched, touch.Count, nil
}

// AtHome reports that the origins of a passkey are addresses of its relying party, as browsers
// have it, and that the deployment is named by it. It holds for an SSH key.
func (s *Signed) AtHome(deployment string) bool {
	for _, origin := range s.Origins {
		_, host, ok := strings.Cut(origin, "://")
		host, _, _ = strings.Cut(host, ":")
		if !ok || host != s.RPID && !strings.HasSuffix(host, "."+s.RPID) || strings.ContainsAny(host, "/@?#[") {
			return false
		}
	}
	return s.Passkey == nil || s.RPID != "" && s.RPID == deployment
}

// Key names the key for people: the fingerprint of an SSH key, or the digest of a passkey.
func (s *Signed) Key() string {
	if s.Passkey == nil {
		if key, err := ReadSSHKey(s.SSHKey); err == nil {
			return "SSH key " + key.Fingerprint()
		}
		return "an SSH key"
	}
	return "passkey " + fingerprint(s.PasskeyKey)
}
