package main

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
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"
)

// vote is one vote of an approval, with its signature if it has one.
type vote struct {
	By        string    `json:"by"`
	Approve   bool      `json:"approve"`
	Note      string    `json:"note"`
	Time      time.Time `json:"time"`
	Person    bool      `json:"person"`
	Signature *signed   `json:"signature"`
}

// signed is a signature over a statement, with the key that checks it.
type signed struct {
	Statement string `json:"statement"`
	Passkey   *struct {
		CredentialID      string `json:"credential_id"`
		AuthenticatorData string `json:"authenticator_data"`
		ClientDataJSON    string `json:"client_data_json"`
		Signature         string `json:"signature"`
	} `json:"passkey"`
	PasskeyPublicKey string   `json:"passkey_public_key"`
	RPID             string   `json:"rp_id"`
	Origins          []string `json:"origins"`
	SSH              string   `json:"ssh"`
	SSHPublicKey     string   `json:"ssh_public_key"`
	Present          bool     `json:"present"`
}

// stated is the statement that a person has signed.
type stated struct {
	Format     string `json:"format"`
	Deployment string `json:"deployment"`
	Namespace  string `json:"namespace"`
	Decision   string `json:"decision"`
	Items      []struct {
		ApprovalID      string `json:"approval_id"`
		Kind            string `json:"kind"`
		Digest          string `json:"digest"`
		Terms           string `json:"terms_digest"`
		RunID           string `json:"run_id"`
		RunVersion      int64  `json:"run_version"`
		Workflow        string `json:"workflow"`
		WorkflowVersion int64  `json:"workflow_version"`
		State           string `json:"state"`
		Tool            string `json:"tool"`
		Event           string `json:"event"`
		Shown           string `json:"shown"`
	} `json:"items"`
	Note   string          `json:"note_digest"`
	Lease  json.RawMessage `json:"lease"`
	Person string          `json:"person"`
	Nonce  string          `json:"nonce"`
	Time   time.Time       `json:"time"`
}

// signatures checks the signature of every vote of an approval, by the keys of the people alone.
func (c *checker) signatures(a *entry, raw []byte) {
	for _, v := range a.Votes {
		if v.Signature == nil {
			continue
		}
		key, problem := v.Signature.check()
		if problem == "" {
			problem = v.fits(a, raw, c.s.Predicate.Namespace)
		}
		c.want(problem == "", "the signature of %q on approval %s does not hold: %s", v.By, a.ApprovalID, problem)
		verb := "rejected"
		if v.Approve {
			verb = "approved"
		}
		c.shows = append(c.shows, fmt.Sprintf("%s %s approval %s, signed with %s", v.By, verb, a.ApprovalID, key))
	}
}

// fits describes in which part the statement of a vote is not of this approval; empty for none.
func (v *vote) fits(a *entry, raw []byte, namespace string) string {
	var s stated
	text := []byte(v.Signature.Statement)
	if err := strict(text, &s); err != nil {
		return "the statement cannot be read: " + err.Error()
	}
	var value any
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.UseNumber()
	if reader.Decode(&value) != nil || !bytes.Equal(canonical(value), text) {
		return "the statement is not in canonical form"
	}
	decision, note := "reject", ""
	if v.Approve {
		decision = "approve"
	}
	if v.Note != "" {
		sum := sha256.Sum256([]byte(v.Note))
		note = hex.EncodeToString(sum[:])
	}
	var subject struct {
		Subject json.RawMessage `json:"subject"`
	}
	if json.Unmarshal(raw, &subject) != nil {
		return "the approval cannot be read"
	}
	digests := []string{digestOf(a.Kind, subject.Subject, a.Data)}
	if len(a.EditedData) > 0 {
		digests = append(digests, digestOf(a.Kind, subject.Subject, a.EditedData))
	}
	at := -1
	for i, item := range s.Items {
		if item.ApprovalID == a.ApprovalID {
			if at >= 0 {
				return "the statement names the approval twice"
			}
			at = i
		}
	}
	switch {
	case s.Format != "interlock.run/approval/v1":
		return "the statement is of another format"
	case s.Decision != decision:
		return "the person has signed another decision"
	case s.Person != v.By || !v.Person:
		return "another person has signed"
	case s.Namespace != namespace:
		return "the statement is of another namespace"
	case s.Note != note:
		return "the person has signed another note"
	case at < 0:
		return "the statement is of other approvals"
	case s.Items[at].RunID != a.RunID || s.Items[at].Kind != a.Kind:
		return "the statement is of another run"
	case v.Time.Before(s.Time) || v.Time.Sub(s.Time) > 5*time.Minute:
		return "the statement is of another time than the vote"
	case !slices.Contains(digests, s.Items[at].Digest) || v.Approve && s.Items[at].Digest != a.Digest && len(a.EditedData) == 0:
		return "the person has signed another action"
	case v.Signature.Passkey != nil && v.Signature.RPID != s.Deployment:
		return "the passkey was used for another deployment"
	}
	return ""
}

// digestOf is that of an action: of its kind, subject and data.
func digestOf(kind string, subject, data json.RawMessage) string {
	action := map[string]any{"kind": kind}
	for name, text := range map[string]json.RawMessage{"subject": subject, "data": data} {
		if len(text) == 0 {
			continue
		}
		var v any
		reader := json.NewDecoder(bytes.NewReader(text))
		reader.UseNumber()
		if reader.Decode(&v) != nil {
			return ""
		}
		action[name] = v
	}
	sum := sha256.Sum256(canonical(action))
	return hex.EncodeToString(sum[:])
}

// check checks a signature by its public key, and names that.
func (s *signed) check() (key, problem string) {
	if (s.Passkey == nil) == (s.SSH == "") {
		return "", "it is neither of a passkey nor of an SSH key"
	}
	if s.Passkey == nil {
		return s.ssh()
	}
	var parts [4][]byte
	for i, text := range []string{s.PasskeyPublicKey, s.Passkey.AuthenticatorData, s.Passkey.ClientDataJSON, s.Passkey.Signature} {
		var err error
		if parts[i], err = base64.RawURLEncoding.Strict().DecodeString(text); err != nil {
			return "", "it is no base64url"
		}
	}
	cose, data, client, sig := parts[0], parts[1], parts[2], parts[3]
	var browser struct {
		Type        string `json:"type"`
		Challenge   string `json:"challenge"`
		Origin      string `json:"origin"`
		CrossOrigin bool   `json:"crossOrigin"`
	}
	if unique(json.NewDecoder(bytes.NewReader(client))) != nil || json.Unmarshal(client, &browser) != nil {
		return "", "the client data cannot be read"
	}
	digest, rp, sum := sha256.Sum256([]byte(s.Statement)), sha256.Sum256([]byte(s.RPID)), sha256.Sum256(client)
	u, err := url.Parse(browser.Origin)
	switch {
	case browser.Type != "webauthn.get" || browser.CrossOrigin:
		return "", "the client data is of something else"
	case browser.Challenge != base64.RawURLEncoding.EncodeToString(digest[:]):
		return "", "the passkey has signed another statement"
	case err != nil || s.RPID == "" || u.Hostname() != s.RPID && !strings.HasSuffix(u.Hostname(), "."+s.RPID) || !slices.Contains(s.Origins, browser.Origin):
		return "", "the passkey was used elsewhere"
	case len(data) < 37 || !bytes.Equal(data[:32], rp[:]):
		return "", "the passkey was used for another relying party"
	case data[32]&5 != 5 || !s.Present:
		return "", "the passkey has not verified the person"
	case !verify(cose, append(data, sum[:]...), sig):
		return "", "it is not one by that passkey"
	}
	return fmt.Sprintf("passkey %s at %s", fingerprint(cose), browser.Origin), ""
}

func fingerprint(key []byte) string {
	sum := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// verify checks a signature by a COSE key: a map with the kind of the key (1), its algorithm (3)
// and its numbers (-1 to -3).
func verify(cose, message, sig []byte) bool {
	numbers, blobs := map[int]int{}, map[int][]byte{}
	r := cose
	next := func() (major byte, n int, ok bool) {
		if len(r) == 0 {
			return 0, 0, false
		}
		major, info := r[0]>>5, int(r[0]&31)
		r = r[1:]
		size := map[int]int{24: 1, 25: 2}[info]
		if info > 25 || len(r) < size {
			return 0, 0, false
		}
		if size == 0 {
			return major, info, true
		}
		for _, b := range r[:size] {
			n = n<<8 | int(b)
		}
		r = r[size:]
		return major, n, true
	}
	major, count, ok := next()
	if !ok || major != 5 {
		return false
	}
	for range count {
		major, name, ok := next()
		if !ok || major > 1 {
			return false
		}
		if major == 1 {
			name = -1 - name
		}
		kind, n, ok := next()
		switch {
		case !ok || kind > 2 || kind == 2 && n > len(r):
			return false
		case kind == 0:
			numbers[name] = n
		case kind == 1:
			numbers[name] = -1 - n
		default:
			blobs[name], r = r[:n], r[n:]
		}
	}
	sum := sha256.Sum256(message)
	switch kty, alg := numbers[1], numbers[3]; {
	case len(r) > 0:
		return false
	case kty == 2 && alg == -7 && numbers[-1] == 1:
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, blobs[-2], blobs[-3]))
		return err == nil && ecdsa.VerifyASN1(key, sum[:], sig)
	case kty == 1 && alg == -8 && numbers[-1] == 6 && len(blobs[-2]) == ed25519.PublicKeySize:
		return ed25519.Verify(blobs[-2], message, sig)
	case kty == 3 && alg == -257:
		return verifyRSA(blobs[-1], blobs[-2], crypto.SHA256, sum[:], sig)
	}
	return false
}

func verifyRSA(n, e []byte, hash crypto.Hash, sum, sig []byte) bool {
	exponent := new(big.Int).SetBytes(e)
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n)}
	if key.N.BitLen() < 2048 || key.N.BitLen() > 16384 || !exponent.IsInt64() || exponent.Int64() > 1<<31-1 {
		return false
	}
	key.E = int(exponent.Int64())
	return rsa.VerifyPKCS1v15(key, hash, sum, sig) == nil
}

// cut takes a text with its length from the front; ok is false when there is none.
func cut(r *[]byte, ok *bool) []byte {
	if len(*r) < 4 || uint64(binary.BigEndian.Uint32(*r)) > uint64(len(*r)-4) {
		*ok = false
		return nil
	}
	n := int(binary.BigEndian.Uint32(*r))
	part := (*r)[4 : 4+n]
	*r = (*r)[4+n:]
	return part
}

// ssh checks a signature of ssh-keygen -Y sign.
func (s *signed) ssh() (key, problem string) {
	fields := strings.Fields(s.SSHPublicKey)
	block, _ := pem.Decode([]byte(s.SSH))
	if len(fields) < 2 || block == nil || block.Type != "SSH SIGNATURE" || !bytes.HasPrefix(block.Bytes, []byte("SSHSIG\x00\x00\x00\x01")) {
		return "", "it is no signature of SSH"
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	ok := err == nil
	r := block.Bytes[10:]
	named, space, reserved, hash, inner := cut(&r, &ok), cut(&r, &ok), cut(&r, &ok), cut(&r, &ok), cut(&r, &ok)
	var sum []byte
	switch string(hash) {
	case "sha512":
		h := sha512.Sum512([]byte(s.Statement))
		sum = h[:]
	case "sha256":
		h := sha256.Sum256([]byte(s.Statement))
		sum = h[:]
	default:
		ok = false
	}
	if !ok || string(space) != "interlock-approval" || !bytes.Equal(named, blob) {
		return "", "it is of another key or for another purpose"
	}
	message := []byte("SSHSIG")
	for _, part := range [][]byte{space, reserved, hash, sum} {
		message = append(binary.BigEndian.AppendUint32(message, uint32(len(part))), part...)
	}
	k := blob
	kind := string(cut(&k, &ok))
	format, raw := string(cut(&inner, &ok)), cut(&inner, &ok)
	present, good := false, false
	security := func() {
		app := sha256.Sum256(cut(&k, &ok))
		if len(inner) != 5 {
			ok = false
			return
		}
		h := sha256.Sum256(message)
		message, present = slices.Concat(app[:], inner, h[:]), inner[0]&1 == 1
	}
	switch kind {
	case "ssh-ed25519", "sk-ssh-ed25519@openssh.com":
		public := cut(&k, &ok)
		if strings.HasPrefix(kind, "sk-") {
			security()
		}
		good = ok && format == kind && len(public) == ed25519.PublicKeySize && ed25519.Verify(public, message, raw)
	case "ecdsa-sha2-nistp256", "sk-ecdsa-sha2-nistp256@openssh.com":
		_, point := cut(&k, &ok), cut(&k, &ok)
		if strings.HasPrefix(kind, "sk-") {
			security()
		}
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		x, y := new(big.Int).SetBytes(cut(&raw, &ok)), new(big.Int).SetBytes(cut(&raw, &ok))
		h := sha256.Sum256(message)
		good = ok && err == nil && format == kind && ecdsa.Verify(public, h[:], x, y)
	case "ssh-rsa":
		e, n := cut(&k, &ok), cut(&k, &ok)
		h := sha512.Sum512(message)
		good = ok && format == "rsa-sha2-512" && verifyRSA(n, e, crypto.SHA512, h[:], raw)
	}
	if !good || present != s.Present {
		return "", "it is not one by that key"
	}
	return "SSH key " + fingerprint(blob), ""
}
