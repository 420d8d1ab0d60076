package receipts_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/pkg/signature/signaturetest"
	"github.com/interlock-run/interlock/services/internal/receipts"
)

// TestSignedReceipt signs the vote of a real receipt with keys of a person. Both checkers say who
// has approved with which key; and the deployment itself, with its key, cannot change what was
// approved (S23.26).
func TestSignedReceipt(t *testing.T) {
	t.Parallel()
	const rp, origin = "interlock.example.com", "https://interlock.example.com"
	genuine := genuineReceipt(t)
	key := keyOf(t, "deployment")
	check := independent(t)
	url64 := base64.RawURLEncoding.EncodeToString
	value := func(v any) document.Value {
		parsed, problem := document.Parse(mustJSON(t, v), document.Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		return parsed
	}
	p, ssh := signaturetest.NewPasskey(t, rp, origin, signature.ES256), signaturetest.NewSSH(t, "sk-ssh-ed25519@openssh.com")
	sign := func(m *tamperer, byPasskey bool) {
		a := m.one("approvals", 0)
		v := m.vote()
		asker := a["asker"].(object)
		session, _ := asker["session_id"].(string)
		root, _ := asker["root_session_id"].(string)
		message, _ := a["message"].(string)
		at, err := time.Parse(time.RFC3339, a["created_at"].(string))
		if err != nil {
			t.Fatal(err)
		}
		opened, err := consent.Open(consent.Request{
			ID: a["approval_id"].(string), Message: message, Asker: consent.Asker{Principal: asker["principal"].(string), SessionID: session, RootSession: root},
			Action: consent.Action{Kind: consent.Transition, Subject: value(a["subject"]), Data: value(a["data"])}, Terms: termsOf(t, m),
		}, at)
		if err != nil {
			t.Fatal(err)
		}
		voted, err := time.Parse(time.RFC3339, v["time"].(string))
		if err != nil {
			t.Fatal(err)
		}
		v["by"], v["person"], v["principal"] = "ann", true, "approver"
		in := &consent.Intent{Approve: true, Note: v["note"].(string), Person: "ann", Namespace: "default", Deployment: rp}
		st := in.Statement(opened.Approval.Item(document.Value{}, false))
		st.Nonce, st.Time = "nonce", voted.Truncate(time.Second)
		text, digest := st.Text(), st.Digest()
		if !byPasskey {
			v["signature"] = object{"statement": string(text), "ssh": string(ssh.Sign(signature.SSHNamespace, text)), "ssh_public_key": ssh.Public(), "present": true}
			return
		}
		s, c := p.Sign(digest[:]), p.Credential()
		v["signature"] = object{
			"statement": string(text), "passkey_public_key": url64(c.Key), "rp_id": rp, "origins": []any{origin}, "present": true,
			"passkey": object{"credential_id": url64(s.CredentialID), "authenticator_data": url64(s.AuthenticatorData), "client_data_json": url64(s.ClientDataJSON), "signature": url64(s.Signature)},
		}
	}
	hands := func(byPasskey bool, do func(*tamperer)) []byte {
		m := &tamperer{t: t, key: key, resign: key}
		if err := json.Unmarshal(genuine, &m.file); err != nil {
			t.Fatal(err)
		}
		m.payload = decoded(t, m.file["payload"])
		sign(m, byPasskey)
		if do != nil {
			do(m)
		}
		return m.write()
	}
	for byPasskey, named := range map[bool]string{true: "passkey SHA256:", false: "SSH key SHA256:"} {
		text := hands(byPasskey, nil)
		checked, err := receipts.Check(text, key.Public(), nil)
		if err != nil || len(checked.Faults) > 0 {
			t.Fatal(err, checked.Faults)
		}
		if said := strings.Join(checked.Sentences(), "\n"); !strings.Contains(said, "ann approved approval apr_") || !strings.Contains(said, "signed with "+named) {
			t.Errorf("it does not say who has signed:\n%s", said)
		}
		if out, ok := check(text, false); !ok || !strings.Contains(out, "ann approved approval apr_") || !strings.Contains(out, "signed with "+named) {
			t.Errorf("receiptcheck: %s", out)
		}
		for name, do := range map[string]func(*tamperer){
			"another person": func(m *tamperer) { m.vote()["by"] = "bob" },
			"another note":   func(m *tamperer) { m.vote()["note"] = "stop" },
			"another time":   func(m *tamperer) { m.vote()["time"] = "2020-01-01T00:00:00Z" },
			"other data":     func(m *tamperer) { m.one("approvals", 0)["data"] = object{"target": "staging"} },
			"another digest": func(m *tamperer) { m.one("approvals", 0)["digest"] = strings.Repeat("0", 64) },
			"another statement": func(m *tamperer) {
				s := m.vote()["signature"].(object)
				s["statement"] = strings.Replace(s["statement"].(string), `"person":"ann"`, `"person":"bob"`, 1)
			},
			"another form": func(m *tamperer) { s := m.vote()["signature"].(object); s["statement"] = " " + s["statement"].(string) },
			"no key": func(m *tamperer) {
				s := m.vote()["signature"].(object)
				delete(s, "passkey_public_key")
				delete(s, "ssh_public_key")
			},
			"no signature": func(m *tamperer) { s := m.vote()["signature"].(object); delete(s, "passkey"); delete(s, "ssh") },
			"no presence":  func(m *tamperer) { m.vote()["signature"].(object)["present"] = false },
		} {
			bad := hands(byPasskey, do)
			if checked, err := receipts.Check(bad, key.Public(), nil); err == nil && len(checked.Faults) == 0 {
				t.Errorf("%s: interlock has not found it", name)
			}
			if out, ok := check(bad, false); ok {
				t.Errorf("%s: the independent checker has not found it: %s", name, out)
			}
		}
	}
}

// termsOf returns the terms that the approval of a receipt was asked under.
func termsOf(t *testing.T, m *tamperer) consent.Terms {
	t.Helper()
	terms := m.one("approvals", 0)["terms"].(object)
	out := consent.Terms{Required: int(terms["required"].(float64)), DenyThreshold: int(terms["deny_threshold"].(float64))}
	out.TTL = time.Duration(terms["expires_seconds"].(float64)) * time.Second
	eligible := terms["eligible"].(object)
	for name, to := range map[string]*[]string{"roles": &out.Eligible.Roles, "names": &out.Eligible.Names} {
		list, _ := eligible[name].([]any)
		for _, v := range list {
			*to = append(*to, v.(string))
		}
	}
	return out
}
