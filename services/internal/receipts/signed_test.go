package receipts

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/pkg/signature/signaturetest"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

func object(t *testing.T, text string) document.Value {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	return v
}

func url64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// TestSignaturesAreCheckedWithoutTheDeployment changes every part of a signed vote: the check
// needs no key of the deployment to find it (S23.26).
func TestSignaturesAreCheckedWithoutTheDeployment(t *testing.T) {
	t.Parallel()
	const rp, origin = "interlock.example.com", "https://interlock.example.com"
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ask := func(change func(r *consent.Request)) *consent.Approval {
		r := consent.Request{
			ID: "apr_1", Asker: consent.Asker{Principal: "agent"}, Message: "Ship it?", Terms: consent.Terms{Presence: true},
			Action: consent.Action{Kind: consent.Transition, Subject: object(t, `{"run_id":"run_1","run_version":3,"workflow":"w","state":"s","event":"SHIP"}`), Data: object(t, `{"image":"web:42"}`)},
		}
		if change != nil {
			change(&r)
		}
		opened, err := consent.Open(r, now)
		if err != nil {
			t.Fatal(err)
		}
		return opened.Approval
	}
	asked := ask(nil)
	intent := &consent.Intent{Approve: true, Note: "go", Person: "ann", Namespace: "default", Deployment: rp}
	st := intent.Statement(asked.Item(document.Value{}, false))
	st.Nonce, st.Time = "nonce", now
	p := signaturetest.NewPasskey(t, rp, origin, signature.ES256)
	digest := st.Digest()
	a := p.Sign(digest[:])
	credential := p.Credential()
	ssh := signaturetest.NewSSH(t, "sk-ecdsa-sha2-nistp256@openssh.com")
	byPasskey := func() *jsonview.Vote {
		return &jsonview.Vote{By: "ann", Role: "approver", Approve: true, Note: "go", Time: now, Person: true, Signature: &jsonview.VoteSignature{
			Statement: string(st.Text()), PasskeyPublicKey: url64(credential.Key), RPID: rp, Origins: []string{origin}, Present: true,
			Passkey: &jsonview.PasskeyAssertion{
				CredentialID: url64(a.CredentialID), AuthenticatorData: url64(a.AuthenticatorData), ClientDataJSON: url64(a.ClientDataJSON), Signature: url64(a.Signature),
			},
		}}
	}
	bySSH := func() *jsonview.Vote {
		v := byPasskey()
		v.Signature = &jsonview.VoteSignature{
			Statement: v.Signature.Statement, SSH: string(ssh.Sign(signature.SSHNamespace, st.Text())), SSHPublicKey: ssh.Public(), Present: true,
		}
		return v
	}
	other := signaturetest.NewPasskey(t, rp, origin, signature.ES256).Credential()
	for name, c := range map[string]struct {
		vote   func() *jsonview.Vote
		change func(v *jsonview.Vote)
		before *consent.Approval
		holds  bool
	}{
		"a passkey":             {vote: byPasskey, holds: true},
		"a security key":        {vote: bySSH, holds: true},
		"another person":        {vote: byPasskey, change: func(v *jsonview.Vote) { v.By = "bob" }},
		"no person":             {vote: byPasskey, change: func(v *jsonview.Vote) { v.Person = false }},
		"a rejection":           {vote: byPasskey, change: func(v *jsonview.Vote) { v.Approve = false }},
		"another note":          {vote: byPasskey, change: func(v *jsonview.Vote) { v.Note = "stop" }},
		"another time":          {vote: byPasskey, change: func(v *jsonview.Vote) { v.Time = now.Add(time.Hour) }},
		"before the statement":  {vote: byPasskey, change: func(v *jsonview.Vote) { v.Time = now.Add(-time.Hour) }},
		"another key":           {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.PasskeyPublicKey = url64(other.Key) }},
		"another key of SSH":    {vote: bySSH, change: func(v *jsonview.Vote) { v.Signature.SSHPublicKey = signaturetest.NewSSH(t, ssh.Kind).Public() }},
		"another relying party": {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.RPID = "evil.example.com" }},
		"another origin":        {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.Origins = []string{"https://evil.example.com"} }},
		"an origin elsewhere":   {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.Origins = append(v.Signature.Origins, "https://evil.example.com") }},
		"no presence":           {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.Present = false }},
		"a changed statement": {vote: byPasskey, change: func(v *jsonview.Vote) {
			v.Signature.Statement = strings.Replace(v.Signature.Statement, "Ship", "Skip", 1)
		}},
		"a changed signature": {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.Passkey.Signature = url64(a.Signature[1:]) }},
		"changed client data": {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.Passkey.ClientDataJSON += "AA" }},
		"no assertion":        {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.Passkey = nil }},
		"no base64":           {vote: byPasskey, change: func(v *jsonview.Vote) { v.Signature.Passkey.Signature = "=" }},
		"other data":          {vote: byPasskey, before: ask(func(r *consent.Request) { r.Action.Data = object(t, `{"image":"web:43"}`) })},
		"another approval":    {vote: byPasskey, before: ask(func(r *consent.Request) { r.ID = "apr_2" })},
		"another question":    {vote: byPasskey, before: ask(func(r *consent.Request) { r.Message = "Skip it?" })},
		"another asker":       {vote: byPasskey, before: ask(func(r *consent.Request) { r.Asker.Principal = "other" })},
		"weaker terms":        {vote: byPasskey, before: ask(func(r *consent.Request) { r.Terms.Presence = false })},
		"another version of run": {vote: bySSH, before: ask(func(r *consent.Request) {
			r.Action.Subject = object(t, `{"run_id":"run_1","run_version":4,"workflow":"w","state":"s","event":"SHIP"}`)
		})},
	} {
		v, before := c.vote(), asked
		if c.change != nil {
			c.change(v)
		}
		if c.before != nil {
			before = c.before
		}
		check := &Checked{Statement: &receipt.Statement{}, signed: map[string][]signedVote{}}
		check.Statement.Predicate.Namespace = "default"
		signed := check.signature(&jsonview.Approval{ApprovalID: "apr_1"}, before, v, document.Value{})
		if got := signed != nil && len(check.Faults) == 0; got != c.holds {
			t.Errorf("%s: holds %t, %q", name, got, check.Faults)
		}
		if text := strings.Join(check.signers(&jsonview.Approval{ApprovalID: "apr_1"}), ""); strings.Contains(text, "ann approved approval apr_1, signed with ") != c.holds {
			t.Errorf("%s: said %q", name, text)
		}
	}
}
