package signature_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/pkg/signature/signaturetest"
)

const (
	rp     = "interlock.example.com"
	origin = "https://interlock.example.com"
)

var challenge = sha256.New().Sum([]byte("what is approved"))

// part returns the part that an error names; empty without an error.
func part(t *testing.T, err error) signature.Part {
	t.Helper()
	var m *signature.Mismatch
	if err != nil && !errors.As(err, &m) {
		t.Fatalf("%v is no mismatch", err)
	}
	if m == nil {
		return ""
	}
	return m.Part
}

func TestPasskeys(t *testing.T) {
	t.Parallel()
	for name, algorithm := range map[string]int64{"ES256": signature.ES256, "EdDSA": signature.EdDSA, "RS256": signature.RS256} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := signaturetest.NewPasskey(t, rp, origin, algorithm)
			c, err := signature.ReadRegistration(p.Register(challenge), rp, []string{origin}, challenge)
			if err != nil {
				t.Fatal(err)
			}
			if c.Count != 1 {
				t.Errorf("a new passkey has counted %d", c.Count)
			}
			count, err := signature.VerifyPasskey(p.Sign(challenge), c, rp, []string{"https://other", origin}, challenge)
			if err != nil || count != 2 {
				t.Errorf("counted %d, %v", count, err)
			}
			p.Count = 0
			kept := p.Credential()
			if _, err := signature.VerifyPasskey(p.Sign(challenge), &kept, rp, []string{origin}, challenge); err != nil {
				t.Errorf("a passkey without a counter: %v", err)
			}
		})
	}
}

// TestPasskeyAttacks changes one part of an assertion at a time.
func TestPasskeyAttacks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before func(p *signaturetest.Passkey)
		after  func(a *signature.Assertion, c *signature.Credential)
		want   signature.Part
	}{
		{name: "none"},
		{name: "another origin", before: func(p *signaturetest.Passkey) { p.Origin = "https://interlock.example.org" }, want: signature.PartOrigin},
		{name: "no origin", before: func(p *signaturetest.Passkey) { p.Origin = "" }, want: signature.PartOrigin},
		{name: "another relying party", before: func(p *signaturetest.Passkey) { p.RPID = "example.com" }, want: signature.PartRP},
		{name: "a registration", before: func(p *signaturetest.Passkey) { p.Type = "webauthn.create" }, want: signature.PartType},
		{name: "nobody there", before: func(p *signaturetest.Passkey) { p.Flags = signaturetest.Verified }, want: signature.PartPresence},
		{name: "nobody verified", before: func(p *signaturetest.Passkey) { p.Flags = signaturetest.Present }, want: signature.PartPresence},
		{name: "a copied passkey", after: func(_ *signature.Assertion, c *signature.Credential) { c.Count = 7 }, want: signature.PartCounter},
		{name: "a counter that was reset", before: func(p *signaturetest.Passkey) { p.Count = 0 }, after: func(_ *signature.Assertion, c *signature.Credential) { c.Count = 1 }, want: signature.PartCounter},
		{name: "the id of another", after: func(a *signature.Assertion, _ *signature.Credential) { a.CredentialID = []byte("other") }, want: signature.PartCredential},
		{name: "no id", after: func(a *signature.Assertion, c *signature.Credential) { a.CredentialID, c.ID = nil, nil }, want: signature.PartCredential},
		{name: "flags set later", before: func(p *signaturetest.Passkey) { p.Flags = signaturetest.Present }, after: func(a *signature.Assertion, _ *signature.Credential) {
			a.AuthenticatorData[32] |= signaturetest.Verified
		}, want: signature.PartSignature},
		{name: "an origin set later", before: func(p *signaturetest.Passkey) { p.Origin = "https://evil" }, after: func(a *signature.Assertion, _ *signature.Credential) {
			a.ClientDataJSON = []byte(strings.Replace(string(a.ClientDataJSON), "https://evil", origin, 1))
		}, want: signature.PartSignature},
		{name: "two origins", after: func(a *signature.Assertion, _ *signature.Credential) {
			a.ClientDataJSON = []byte(strings.Replace(string(a.ClientDataJSON), "{", `{"origin":"https://evil",`, 1))
		}, want: signature.PartForm},
		{name: "a frame", after: func(a *signature.Assertion, _ *signature.Credential) {
			a.ClientDataJSON = []byte(strings.Replace(string(a.ClientDataJSON), `"crossOrigin":false`, `"crossOrigin":true`, 1))
		}, want: signature.PartOrigin},
		{name: "no signature", after: func(a *signature.Assertion, _ *signature.Credential) { a.Signature = nil }, want: signature.PartSignature},
		{name: "short data", after: func(a *signature.Assertion, _ *signature.Credential) { a.AuthenticatorData = a.AuthenticatorData[:36] }, want: signature.PartForm},
		{name: "the key of another", after: func(_ *signature.Assertion, c *signature.Credential) {
			other := signaturetest.NewPasskey(t, rp, origin, signature.ES256).Credential()
			c.Key = other.Key
		}, want: signature.PartSignature},
		{name: "a broken key", after: func(_ *signature.Assertion, c *signature.Credential) { c.Key = c.Key[:len(c.Key)-1] }, want: signature.PartKey},
		{name: "a key and more", after: func(_ *signature.Assertion, c *signature.Credential) { c.Key = append(c.Key, 0) }, want: signature.PartKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := signaturetest.NewPasskey(t, rp, origin, signature.ES256)
			kept := p.Credential()
			if c.before != nil {
				c.before(p)
			}
			a := p.Sign(challenge)
			if c.after != nil {
				c.after(a, &kept)
			}
			_, err := signature.VerifyPasskey(a, &kept, rp, []string{origin}, challenge)
			if got := part(t, err); got != c.want {
				t.Errorf("refused for %q (%v), want %q", got, err, c.want)
			}
		})
	}
	p := signaturetest.NewPasskey(t, rp, origin, signature.ES256)
	kept := p.Credential()
	for _, other := range [][]byte{nil, {}, challenge[1:], []byte("other")} {
		if _, err := signature.VerifyPasskey(p.Sign(challenge), &kept, rp, []string{origin}, other); part(t, err) != signature.PartChallenge {
			t.Errorf("the challenge %q: %v", other, err)
		}
	}
	if _, err := signature.VerifyPasskey(p.Sign(nil), &kept, rp, []string{origin}, nil); part(t, err) != signature.PartChallenge {
		t.Errorf("no challenge: %v", err)
	}
}

func TestRegistrationsAreOfTheChallenge(t *testing.T) {
	t.Parallel()
	p := signaturetest.NewPasskey(t, rp, origin, signature.ES256)
	broken := p.Register(challenge)
	broken.AttestationObject = broken.AttestationObject[:len(broken.AttestationObject)-1]
	assertion := p.Sign(challenge)
	for name, c := range map[string]struct {
		r    *signature.Registration
		want signature.Part
	}{
		"another challenge": {p.Register([]byte("other")), signature.PartChallenge},
		"cut off":           {broken, signature.PartForm},
		"an assertion":      {&signature.Registration{ClientDataJSON: assertion.ClientDataJSON, AttestationObject: assertion.AuthenticatorData}, signature.PartType},
		"no object":         {&signature.Registration{ClientDataJSON: broken.ClientDataJSON}, signature.PartForm},
	} {
		if _, err := signature.ReadRegistration(c.r, rp, []string{origin}, challenge); part(t, err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	p.Flags = signaturetest.Present
	if _, err := signature.ReadRegistration(p.Register(challenge), rp, []string{origin}, challenge); part(t, err) != signature.PartPresence {
		t.Errorf("nobody was verified: %v", err)
	}
}

func TestSSH(t *testing.T) {
	t.Parallel()
	message := []byte("what is approved")
	for _, kind := range []string{"ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa", "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := signaturetest.NewSSH(t, kind)
			key, err := signature.ReadSSHKey(s.Public())
			if err != nil {
				t.Fatal(err)
			}
			sig := s.Sign(signature.SSHNamespace, message)
			touch, err := signature.VerifySSH(sig, key, signature.SSHNamespace, message)
			if err != nil {
				t.Fatal(err)
			}
			security := strings.HasPrefix(kind, "sk-")
			if touch.Touched != security || touch.Verified || key.Touches() != security {
				t.Errorf("%s: %+v", kind, touch)
			}
			other, err := signature.ReadSSHKey(signaturetest.NewSSH(t, kind).Public())
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]struct {
				sig       []byte
				key       *signature.SSHKey
				namespace string
				message   string
				want      signature.Part
			}{
				"another message":    {sig, key, signature.SSHNamespace, "other", signature.PartSignature},
				"another namespace":  {sig, key, "file", string(message), signature.PartNamespace},
				"no namespace":       {s.Sign("", message), key, "", string(message), signature.PartNamespace},
				"the key of another": {sig, other, signature.SSHNamespace, string(message), signature.PartCredential},
				"no signature":       {nil, key, signature.SSHNamespace, string(message), signature.PartForm},
				"two signatures":     {append(sig, sig...), key, signature.SSHNamespace, string(message), signature.PartForm},
			} {
				if _, err := signature.VerifySSH(c.sig, c.key, c.namespace, []byte(c.message)); part(t, err) != c.want {
					t.Errorf("%s: %v, want %q", name, err, c.want)
				}
			}
			s.Flags = 0
			if touch, err := signature.VerifySSH(s.Sign(signature.SSHNamespace, message), key, signature.SSHNamespace, message); err != nil || touch.Touched {
				t.Errorf("without a touch: %+v, %v", touch, err)
			}
		})
	}
}

// TestSSHIsReadAsOpenSSHWritesIt checks signatures of ssh-keygen, where it is installed.
func TestSSHIsReadAsOpenSSHWritesIt(t *testing.T) {
	t.Parallel()
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Fatal("ssh-keygen is not installed: run `make deps`, or apt-get install openssh-client")
	}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "key")
			if out, err := exec.Command(keygen, "-q", "-t", kind, "-N", "", "-f", file).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			line, err := os.ReadFile(file + ".pub")
			if err != nil {
				t.Fatal(err)
			}
			key, err := signature.ReadSSHKey(string(line))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(keygen, "-Y", "sign", "-n", signature.SSHNamespace, "-f", file)
			cmd.Stdin = strings.NewReader("what is approved")
			sig, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := signature.VerifySSH(sig, key, signature.SSHNamespace, []byte("what is approved")); err != nil {
				t.Error(err)
			}
			shown, err := exec.Command(keygen, "-l", "-f", file).Output()
			if err != nil || !strings.Contains(string(shown), key.Fingerprint()) {
				t.Errorf("%s has no %s (%v)", shown, key.Fingerprint(), err)
			}
		})
	}
}

func TestSSHKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	blob := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	good := signaturetest.NewSSH(t, "ssh-ed25519").Public()
	for name, line := range map[string]string{
		"empty": "", "no key": "ssh-ed25519", "a type that is not the key's": strings.Replace(good, "ssh-ed25519", "ssh-rsa", 1),
		"dss": "ssh-dss " + blob("\x00\x00\x00\x07ssh-dss"), "cut off": "ssh-ed25519 " + blob("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20xx"),
		"a length of 4 GiB": "ssh-ed25519 " + blob("\xff\xff\xff\xffssh"),
	} {
		if _, err := signature.ReadSSHKey(line); part(t, err) != signature.PartKey {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func statement() *signature.Statement {
	return &signature.Statement{
		Deployment: rp, Namespace: "default", Decision: signature.Approve, Person: "ann", Nonce: "n", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Items: []signature.Item{
			{ApprovalID: "apr_1", Kind: "tool_call", Digest: "d", Terms: "t", RunID: "run_1", RunVersion: 9007199254740993, State: "work", Tool: "Bash", Shown: "Bash\n<b>ls</b> \u2028 é"},
			{ApprovalID: "apr_2", Kind: "transition", Digest: "e", Terms: "t", Event: "SHIP", Shown: "SHIP"},
		},
	}
}

// TestStatements changes every part of a statement: the digest changes, and Differs names it.
func TestStatements(t *testing.T) {
	t.Parallel()
	s := statement()
	read, err := signature.Read(s.Text())
	if err != nil {
		t.Fatal(err)
	}
	if read.Digest() != s.Digest() || read.Differs(s) != "" || string(read.Text()) != string(s.Text()) {
		t.Errorf("%s is not %s", read.Text(), s.Text())
	}
	for want, change := range map[string]func(s *signature.Statement){
		"deployment": func(s *signature.Statement) { s.Deployment = "x" }, "namespace": func(s *signature.Statement) { s.Namespace = "x" },
		"decision": func(s *signature.Statement) { s.Decision = signature.Reject }, "person": func(s *signature.Statement) { s.Person = "x" },
		"note": func(s *signature.Statement) { s.Note = signature.NoteDigest("x") }, "lease": func(s *signature.Statement) { s.Lease = &signature.Lease{Calls: 2} },
		"number of approvals": func(s *signature.Statement) { s.Items = s.Items[:1] }, "nonce": func(s *signature.Statement) { s.Nonce = "x" },
		"time": func(s *signature.Statement) { s.Time = s.Time.Add(time.Second) }, "approval": func(s *signature.Statement) { s.Items[0], s.Items[1] = s.Items[1], s.Items[0] },
		"kind": func(s *signature.Statement) { s.Items[1].Kind = "x" }, "run": func(s *signature.Statement) { s.Items[0].RunID = "x" },
		"version of the run": func(s *signature.Statement) { s.Items[0].RunVersion++ }, "workflow": func(s *signature.Statement) { s.Items[0].Workflow = "x" },
		"version of the workflow": func(s *signature.Statement) { s.Items[0].WorkflowVersion++ }, "state": func(s *signature.Statement) { s.Items[0].State = "x" },
		"tool": func(s *signature.Statement) { s.Items[0].Tool = "x" }, "event": func(s *signature.Statement) { s.Items[1].Event = "x" },
		"action": func(s *signature.Statement) { s.Items[1].Digest = "x" }, "terms": func(s *signature.Statement) { s.Items[1].Terms = "x" },
		"text shown": func(s *signature.Statement) { s.Items[1].Shown = "x" },
	} {
		other := statement()
		change(other)
		if got := s.Differs(other); got != want {
			t.Errorf("another %s is named %q", want, got)
		}
		if s.Digest() == other.Digest() {
			t.Errorf("another %s has the same digest", want)
		}
	}
	text := string(s.Text())
	for name, bad := range map[string]string{
		"not canonical": " " + text, "no JSON": "x", "an unknown member": strings.Replace(text, "{", `{"a":1,`, 1),
		"another format": strings.Replace(text, "/v1", "/v2", 1), "another decision": strings.Replace(text, `"approve"`, `"maybe"`, 1),
		"a member twice": strings.Replace(text, `"decision":"approve"`, `"decision":"reject","decision":"approve"`, 1),
	} {
		if _, err := signature.Read([]byte(bad)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// FuzzReaders reads chance as keys, registrations and signatures.
func FuzzReaders(f *testing.F) {
	p := signaturetest.NewPasskey(f, rp, origin, signature.ES256)
	f.Add(p.Register(challenge).AttestationObject)
	f.Add(p.Credential().Key)
	s := signaturetest.NewSSH(f, "sk-ssh-ed25519@openssh.com")
	f.Add(s.Sign("x", nil))
	f.Add([]byte(s.Public()))
	client := p.Register(challenge).ClientDataJSON
	key, err := signature.ReadSSHKey(s.Public())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = signature.CheckKey(data)
		_, _ = signature.ReadRegistration(&signature.Registration{ClientDataJSON: client, AttestationObject: data}, rp, []string{origin}, challenge)
		_, _ = signature.ReadSSHKey(string(data))
		if _, err := signature.VerifySSH(data, key, "x", []byte("another message")); err == nil {
			t.Error("chance has signed")
		}
	})
}
