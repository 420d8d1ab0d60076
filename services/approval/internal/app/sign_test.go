package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/pkg/signature/signaturetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

const (
	rpID   = "interlock.example.com"
	origin = "https://interlock.example.com"
)

// ring has the keys of people.
type ring struct {
	mu   sync.Mutex
	keys map[string][]app.Key
}

func (k *ring) Keys(_ context.Context, _, person string) ([]app.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var keys []app.Key
	for _, key := range k.keys[person] {
		if key.Passkey != nil {
			key.Passkey = new(*key.Passkey)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (k *ring) Counted(_ context.Context, _, person string, key app.Key, count uint32) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.keys[person] {
		switch mine := &k.keys[person][i]; {
		case mine.Passkey != nil && key.Passkey != nil && bytes.Equal(mine.Passkey.ID, key.Passkey.ID):
			if mine.Passkey.Count >= count {
				return errors.New("it has counted as far")
			}
			mine.Passkey.Count = count
		case mine.SSH != "" && mine.SSH == key.SSH:
			mine.Count = count
		}
	}
	return nil
}

func person(name string, change ...func(*auth.Principal)) app.Caller {
	p := auth.Principal{Name: name, Person: name, Role: auth.Approver, Kind: auth.OfPerson}
	for _, c := range change {
		c(&p)
	}
	return app.Caller{Namespace: "default", Principal: p}
}

// signer is a person with a passkey and a security key of SSH.
type signer struct {
	app.Caller
	passkey *signaturetest.Passkey
	ssh     *signaturetest.SSH
}

// signing gives the rig people with keys.
func (r *rig) people(names ...string) map[string]*signer {
	r.Helper()
	all, keys := map[string]*signer{}, &ring{keys: map[string][]app.Key{}}
	for _, name := range names {
		s := &signer{
			person(name), signaturetest.NewPasskey(r, rpID, origin, signature.ES256), signaturetest.NewSSH(r, "sk-ssh-ed25519@openssh.com"),
		}
		all[name] = s
		c := s.passkey.Credential()
		keys.keys[name] = []app.Key{{Passkey: &c}, {SSH: signaturetest.NewSSH(r, "ssh-ed25519").Public()}, {SSH: s.ssh.Public()}}
	}
	r.keys, r.signing = keys, app.Signing{Deployment: rpID, RPID: rpID, Origins: []string{origin}}
	r.App = r.replica(r.store)
	return all
}

// present asks a question that takes presence.
func (r *rig) present(change ...func(*app.Question)) *app.Record {
	r.Helper()
	return r.ask(func(q *app.Question) {
		q.Terms.Presence = true
		for _, c := range change {
			c(q)
		}
	})
}

// statement returns the statement of a vote on an approval.
func (r *rig) statement(by app.Caller, a *app.Record, v app.Vote) *app.Statement {
	r.Helper()
	st, err := r.Statement(context.Background(), by, app.Wish{
		Approve: v.Approve, Note: v.Note, Edited: v.Edited, Lease: v.Lease, Items: []app.BatchItem{{ID: a.ID, Digest: a.Digest}},
	})
	if err != nil {
		r.Fatal(err)
	}
	return st
}

// signed returns a vote with the signature of a passkey.
func (r *rig) signed(by *signer, a *app.Record, v app.Vote) app.Vote {
	r.Helper()
	st := r.statement(by.Caller, a, v)
	digest := st.Digest()
	v.Signature = &app.Signature{Statement: st.Text, Passkey: by.passkey.Sign(digest[:])}
	return v
}

// TestSignedVotes signs with a passkey and with a security key of SSH, and checks what is kept
// without the deployment (S23.20, S23.22).
func TestSignedVotes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		ann := r.people("ann")["ann"]
		a := r.present()
		v := r.signed(ann, a, app.Vote{Approve: true, Note: "go", Key: "k"})
		got := r.vote(ann.Caller, a.ID, v)
		if got.Status != consent.Granted || got.Votes[0].Name != "ann" || !got.Votes[0].Person {
			t.Errorf("it is %s by %+v", got.Status, got.Votes)
		}
		again := r.vote(ann.Caller, a.ID, v) // the same request, with the counter that was seen
		if again.Version != got.Version {
			t.Errorf("a repeated vote changed version %d to %d", got.Version, again.Version)
		}
		kept := r.is(a.ID, consent.Granted).Votes[0].Signed
		st, err := signature.Read(kept.Statement)
		if err != nil {
			t.Fatal(err)
		}
		if present, _, err := kept.Check(0); err != nil || !present {
			t.Errorf("present %t, %v", present, err)
		}
		if st.Person != "ann" || st.Deployment != rpID || st.Items[0].Digest != a.Digest || st.Items[0].Terms != a.Terms.Digest() ||
			!strings.Contains(st.Items[0].Shown, `"build": 9007199254740993`) || !strings.Contains(st.Items[0].Shown, "| Ship it?\n") {
			t.Errorf("signed was %s", kept.Statement)
		}

		b := r.present(func(q *app.Question) { q.Subject = []byte(`{"run_id":"run_2","event":"SHIP"}`) })
		text := r.statement(ann.Caller, b, app.Vote{}).Text
		got = r.vote(ann.Caller, b.ID, app.Vote{Signature: &app.Signature{Statement: text, SSH: string(ann.ssh.Sign(signature.SSHNamespace, text))}})
		if got.Status != consent.Rejected || !got.Votes[0].Signed.Present || got.Votes[0].Signed.SSHKey == "" {
			t.Errorf("it is %s by %+v", got.Status, got.Votes)
		}
	})
}

// TestSignaturesThatAreNotDemanded are kept, too; one that does not fit is refused.
func TestSignaturesThatAreNotDemanded(t *testing.T) {
	t.Parallel()
	r := here(t)
	ann := r.people("ann")["ann"]
	a := r.ask(nil)
	v := r.signed(ann, a, app.Vote{Approve: true})
	other := v
	other.Note = "another"
	_, err := r.Decide(context.Background(), ann.Caller, a.ID, other)
	r.refused(err, fault.PermissionDenied, "code", "SIGNATURE_MISMATCH")
	if got := r.vote(ann.Caller, a.ID, r.signed(ann, a, app.Vote{Approve: true})); got.Votes[0].Signed == nil {
		t.Error("the signature is not kept")
	}
	b := r.ask(nil)
	if got := r.vote(ann.Caller, b.ID, app.Vote{Approve: true}); got.Status != consent.Granted {
		t.Errorf("without a signature it is %s", got.Status)
	}
}

// TestAttacksOnSignatures tries signatures that must not count (S23.21, S23.22, S23.23).
func TestAttacksOnSignatures(t *testing.T) {
	t.Parallel()
	type scene struct {
		*rig
		ann, bob *signer
		a        *app.Record
	}
	approve := app.Vote{Approve: true}
	for _, c := range []struct {
		name string
		// vote returns who votes, and how.
		vote func(s *scene) (app.Caller, app.Vote)
		want string // the code, or the part of the signature
	}{
		{"no signature", func(s *scene) (app.Caller, app.Vote) { return s.ann.Caller, approve }, "PRESENCE_REQUIRED"},
		{"no signature by an operator", func(s *scene) (app.Caller, app.Vote) {
			return person("ann", func(p *auth.Principal) { p.Role = auth.Operator }), approve
		}, "APPROVER_NOT_ELIGIBLE"},
		{"no signature with a login by passkey", func(s *scene) (app.Caller, app.Vote) {
			return person("ann", func(p *auth.Principal) { p.Presence = auth.ByPasskey }), approve
		}, "PRESENCE_REQUIRED"},
		{"a token of nobody", func(s *scene) (app.Caller, app.Vote) { return alice, approve }, "PERSON_REQUIRED"},
		{"a token of nobody, with a signature", func(s *scene) (app.Caller, app.Vote) { return alice, s.signed(s.ann, s.a, approve) }, "PERSON_REQUIRED"},
		{"a relay", func(s *scene) (app.Caller, app.Vote) {
			return person("ann", func(p *auth.Principal) { p.Relay = "slackbot" }), approve
		}, "PRESENCE_REQUIRED"},
		{"a relay with a signature", func(s *scene) (app.Caller, app.Vote) {
			return person("ann", func(p *auth.Principal) { p.Relay, p.Identity = "slackbot", "slack:T1/U1" }), s.signed(s.ann, s.a, approve)
		}, "PRESENCE_REQUIRED"},
		{"the signature of another person", func(s *scene) (app.Caller, app.Vote) { return s.bob.Caller, s.signed(s.ann, s.a, approve) }, "challenge"},
		{"the key of another person", func(s *scene) (app.Caller, app.Vote) {
			st := s.statement(s.ann.Caller, s.a, approve)
			digest := st.Digest()
			return s.ann.Caller, app.Vote{Approve: true, Signature: &app.Signature{Statement: st.Text, Passkey: s.bob.passkey.Sign(digest[:])}}
		}, "credential"},
		{"the key of another person under the id of the own", func(s *scene) (app.Caller, app.Vote) {
			s.bob.passkey.ID = s.ann.passkey.ID
			st := s.statement(s.ann.Caller, s.a, approve)
			digest := st.Digest()
			return s.ann.Caller, app.Vote{Approve: true, Signature: &app.Signature{Statement: st.Text, Passkey: s.bob.passkey.Sign(digest[:])}}
		}, "signature"},
		{"on another approval", func(s *scene) (app.Caller, app.Vote) {
			other := s.present(func(q *app.Question) { q.Subject = []byte(`{"run_id":"run_2","event":"SHIP"}`) })
			return s.ann.Caller, s.signed(s.ann, other, approve)
		}, "challenge"},
		{"a rejection as an approval", func(s *scene) (app.Caller, app.Vote) {
			v := s.signed(s.ann, s.a, app.Vote{})
			v.Approve = true
			return s.ann.Caller, v
		}, "SIGNATURE_MISMATCH"},
		{"another note", func(s *scene) (app.Caller, app.Vote) {
			v := s.signed(s.ann, s.a, app.Vote{Approve: true, Note: "only staging"})
			v.Note = ""
			return s.ann.Caller, v
		}, "SIGNATURE_MISMATCH"},
		{"edited afterwards", func(s *scene) (app.Caller, app.Vote) {
			v := s.signed(s.ann, s.a, approve)
			v.Edited = []byte(`{"build":1}`)
			return s.ann.Caller, v
		}, "SIGNATURE_MISMATCH"},
		{"a lease afterwards", func(s *scene) (app.Caller, app.Vote) {
			call := s.present(func(q *app.Question) {
				q.Kind, q.Editable = consent.ToolCall, false
				q.Subject = []byte(`{"run_id":"run_1","run_version":3,"state":"work","capability":"bash","tool":"Bash"}`)
				q.Data, q.Why = []byte(`{"command":"git push"}`), app.Why{Policy: "p", PolicyVersion: 1, Rule: "/ask/0", State: "work", Entry: 3}
			})
			v := s.signed(s.ann, call, approve)
			v.Lease = &consent.LeaseTerms{Pattern: "git push", Calls: 100}
			s.a = call
			return s.ann.Caller, v
		}, "SIGNATURE_MISMATCH"},
		{"another origin", func(s *scene) (app.Caller, app.Vote) {
			s.ann.passkey.Origin = "https://interlock.example.com.evil"
			return s.ann.Caller, s.signed(s.ann, s.a, approve)
		}, "origin"},
		{"another relying party", func(s *scene) (app.Caller, app.Vote) {
			s.ann.passkey.RPID = "evil"
			return s.ann.Caller, s.signed(s.ann, s.a, approve)
		}, "rp_id"},
		{"a person who was not verified", func(s *scene) (app.Caller, app.Vote) {
			s.ann.passkey.Flags = signaturetest.Present
			return s.ann.Caller, s.signed(s.ann, s.a, approve)
		}, "presence"},
		{"a counter that goes back", func(s *scene) (app.Caller, app.Vote) {
			other := s.ask(nil)
			s.ann.passkey.Count = 9
			s.vote(s.ann.Caller, other.ID, s.signed(s.ann, other, approve))
			s.ann.passkey.Count = 9
			return s.ann.Caller, s.signed(s.ann, s.a, approve)
		}, "counter"},
		{"an old statement", func(s *scene) (app.Caller, app.Vote) {
			v := s.signed(s.ann, s.a, approve)
			s.clock.Advance(app.StatementTime + time.Second)
			return s.ann.Caller, v
		}, "challenge"},
		{"an old statement with a new time", func(s *scene) (app.Caller, app.Vote) {
			st := s.statement(s.ann.Caller, s.a, approve)
			s.clock.Advance(app.StatementTime + time.Second)
			st.Time = s.clock.Now()
			digest := st.Digest()
			return s.ann.Caller, app.Vote{Approve: true, Signature: &app.Signature{Statement: st.Statement.Text(), Passkey: s.ann.passkey.Sign(digest[:])}}
		}, "challenge"},
		{"a statement of one's own making", func(s *scene) (app.Caller, app.Vote) {
			st := s.statement(s.ann.Caller, s.a, approve)
			st.Items[0].Shown = "something harmless"
			digest := st.Digest()
			return s.ann.Caller, app.Vote{Approve: true, Signature: &app.Signature{Statement: st.Statement.Text(), Passkey: s.ann.passkey.Sign(digest[:])}}
		}, "SIGNATURE_MISMATCH"},
		{"a stripped assertion", func(s *scene) (app.Caller, app.Vote) {
			v := s.signed(s.ann, s.a, approve)
			v.Signature.Passkey.Signature = nil
			return s.ann.Caller, v
		}, "signature"},
		{"a statement without an assertion", func(s *scene) (app.Caller, app.Vote) {
			v := s.signed(s.ann, s.a, approve)
			v.Signature.Passkey = nil
			return s.ann.Caller, v
		}, "credential"},
		{"a passkey and an SSH key at once", func(s *scene) (app.Caller, app.Vote) {
			v := s.signed(s.ann, s.a, approve)
			v.Signature.SSH = string(s.ann.ssh.Sign(signature.SSHNamespace, v.Signature.Statement))
			return s.ann.Caller, v
		}, "form"},
		{"no touch", func(s *scene) (app.Caller, app.Vote) {
			s.ann.ssh.Flags = 0
			text := s.statement(s.ann.Caller, s.a, approve).Text
			return s.ann.Caller, app.Vote{Approve: true, Signature: &app.Signature{Statement: text, SSH: string(s.ann.ssh.Sign(signature.SSHNamespace, text))}}
		}, "PRESENCE_REQUIRED"},
		{"a signature for another program", func(s *scene) (app.Caller, app.Vote) {
			text := s.statement(s.ann.Caller, s.a, approve).Text
			return s.ann.Caller, app.Vote{Approve: true, Signature: &app.Signature{Statement: text, SSH: string(s.ann.ssh.Sign("git", text))}}
		}, "namespace"},
		{"another namespace", func(s *scene) (app.Caller, app.Vote) {
			st := s.statement(s.ann.Caller, s.a, approve)
			st.Namespace = "other"
			digest := st.Digest()
			return s.ann.Caller, app.Vote{Approve: true, Signature: &app.Signature{Statement: st.Statement.Text(), Passkey: s.ann.passkey.Sign(digest[:])}}
		}, "SIGNATURE_MISMATCH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := here(t)
			people := r.people("ann", "bob")
			s := &scene{rig: r, ann: people["ann"], bob: people["bob"], a: r.present()}
			by, v := c.vote(s)
			_, err := s.Decide(context.Background(), by, s.a.ID, v)
			e := s.refused(err, fault.PermissionDenied)
			if got := e.Metadata["code"]; got != c.want && e.Metadata["part"] != c.want {
				t.Errorf("refused for %q %q (%v), want %q", got, e.Metadata["part"], e, c.want)
			}
			if got := s.is(s.a.ID, consent.Pending); len(got.Votes) != 0 {
				t.Errorf("it has votes: %+v", got.Votes)
			}
		})
	}
}

// TestTermsCannotBeWeakened asks the same again without presence: it is another question, and
// the first keeps its terms (S23.23).
func TestTermsCannotBeWeakened(t *testing.T) {
	t.Parallel()
	r := here(t)
	ann := r.people("ann")["ann"]
	a := r.present()
	q := question()
	q.ID = a.ID
	if _, _, err := r.Create(context.Background(), engine, q); err == nil {
		t.Error("the same id was asked with weaker terms")
	}
	q.ID, q.Reuse = "", true
	weaker, created, err := r.Create(context.Background(), engine, q)
	if err != nil || !created || weaker.ID == a.ID {
		t.Fatalf("%t %v", created, err)
	}
	r.vote(ann.Caller, weaker.ID, app.Vote{Approve: true})
	_, err = r.Decide(context.Background(), ann.Caller, a.ID, app.Vote{Approve: true})
	r.refused(err, fault.PermissionDenied, "code", "PRESENCE_REQUIRED")
	st := r.statement(ann.Caller, a, app.Vote{Approve: true})
	st.Items[0].Terms = weaker.Terms.Digest()
	digest := st.Digest()
	_, err = r.Decide(context.Background(), ann.Caller, a.ID, app.Vote{Approve: true, Signature: &app.Signature{Statement: st.Statement.Text(), Passkey: ann.passkey.Sign(digest[:])}})
	r.refused(err, fault.PermissionDenied, "code", "SIGNATURE_MISMATCH")
}

// TestSignedBatches signs a list: every vote keeps it, and another order is another list (S23.25).
func TestSignedBatches(t *testing.T) {
	t.Parallel()
	r := here(t)
	people := r.people("ann")
	ann := people["ann"]
	var items []app.BatchItem
	for i := range 3 {
		a := r.present(func(q *app.Question) {
			q.Subject = fmt.Appendf(nil, `{"run_id":"run_%d","workflow":"w","workflow_version":1,"state":"s","event":"SHIP"}`, i)
			q.RunID = fmt.Sprintf("run_%d", i)
		})
		items = append(items, app.BatchItem{ID: a.ID, Digest: a.Digest})
	}
	st, err := r.Statement(context.Background(), ann.Caller, app.Wish{Approve: true, Items: items})
	if err != nil {
		t.Fatal(err)
	}
	sign := func() *app.Signature {
		digest := st.Digest()
		return &app.Signature{Statement: st.Text, Passkey: ann.passkey.Sign(digest[:])}
	}
	swapped := []app.BatchItem{items[1], items[0], items[2]}
	for name, b := range map[string]app.Batch{
		"another order":   {Approve: true, Items: swapped, Signature: sign()},
		"fewer":           {Approve: true, Items: items[:2], Signature: sign()},
		"one, as a batch": {Approve: true, Items: items[:1], Signature: sign()},
		"a rejection":     {Items: items, Signature: sign()},
		"another note":    {Approve: true, Note: "x", Items: items, Signature: sign()},
	} {
		if _, err := r.DecideAll(context.Background(), ann.Caller, b); fault.From(err).Metadata["code"] != "SIGNATURE_MISMATCH" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = r.DecideAll(context.Background(), ann.Caller, app.Batch{Approve: true, Items: items})
	r.refused(err, fault.PermissionDenied, "code", "PRESENCE_REQUIRED")
	all, err := r.DecideAll(context.Background(), ann.Caller, app.Batch{Approve: true, Items: items, Signature: sign()})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range all {
		if got.Status != consent.Granted || !bytes.Equal(got.Votes[0].Signed.Statement, st.Text) {
			t.Errorf("%s is %s", got.ID, got.Status)
		}
		if part := got.Matches(st.Statement, &consent.Intent{Approve: true, Person: "ann", Namespace: "default", Deployment: rpID}, document.Value{}); part != "" {
			t.Errorf("the statement does not match in %s", part)
		}
	}
}

// TestVotesAreOfPeople counts a person once under all tokens (S23.24).
func TestVotesAreOfPeople(t *testing.T) {
	t.Parallel()
	r := here(t)
	two := func(q *app.Question) { q.Terms.Required = 2 }
	phone := person("ann", func(p *auth.Principal) { p.Name = "ann-phone" })
	laptop := person("ann", func(p *auth.Principal) { p.Name = "ann-laptop" })
	a := r.ask(two)
	if got := r.vote(phone, a.ID, app.Vote{Approve: true}); got.Votes[0].Name != "ann" || got.Votes[0].Principal != "ann-phone" {
		t.Errorf("the vote is of %+v", got.Votes[0])
	}
	_, err := r.Decide(context.Background(), laptop, a.ID, app.Vote{Approve: true})
	r.refused(err, fault.FailedPrecondition, "code", "ALREADY_VOTED")
	if got := r.vote(bob, a.ID, app.Vote{Approve: true}); got.Status != consent.Granted {
		t.Errorf("it is %s", got.Status)
	}

	distinct := r.ask(func(q *app.Question) { two(q); q.Terms.Distinct = true })
	_, err = r.Decide(context.Background(), bob, distinct.ID, app.Vote{Approve: true})
	r.refused(err, fault.PermissionDenied, "code", "PERSON_REQUIRED")

	own := r.ask(func(q *app.Question) { q.Asker.Person = "ann" })
	_, err = r.Decide(context.Background(), phone, own.ID, app.Vote{Approve: true})
	r.refused(err, fault.PermissionDenied, "code", "APPROVER_IS_ASKER")
	named := r.ask(func(q *app.Question) { q.Terms.Eligible.Names = []string{"ann"} })
	if got := r.vote(phone, named.ID, app.Vote{Approve: true}); got.Status != consent.Granted {
		t.Errorf("it is %s", got.Status)
	}
}
