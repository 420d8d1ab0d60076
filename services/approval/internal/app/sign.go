package app

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/signature"
)

// Bounds of statements.
const (
	// StatementTime is how long a statement can be used (S23.21).
	StatementTime = signature.Life
	// MaxSigned is how many approvals one statement can be of: each of them keeps it.
	MaxSigned = 50
	// secretBytes is the size of the secret of an approval.
	secretBytes = 32
)

// Keys are the keys with which people sign.
type Keys interface {
	// Keys returns those of a person: none for a person who is not known.
	Keys(ctx context.Context, namespace, person string) ([]Key, error)
	// Counted notes the counter of a key after a signature. It fails when the key has counted as
	// far before.
	Counted(ctx context.Context, namespace, person string, key Key, count uint32) error
}

// Key is a key of a person.
type Key struct {
	// ID names it among the keys of the person.
	ID string
	// Passkey is nil for an SSH key, and SSH the line of an authorized_keys file.
	Passkey *signature.Credential
	SSH     string
	// Count is the counter that an SSH key of a security key had last.
	Count uint32
	Label string
}

// Signing is the place where people sign.
type Signing struct {
	// Deployment is its host name, RPID the relying party of passkeys, and Origins the addresses
	// of its console. They are empty where there are no passkeys.
	Deployment, RPID string
	Origins          []string
}

// Signature is a signature of a vote, as a caller sends it.
type Signature struct {
	Statement []byte
	// Passkey is nil for a signature of SSH.
	Passkey *signature.Assertion
	SSH     string
}

// Wish is a vote that a caller means to sign.
type Wish struct {
	Approve bool
	Note    string
	Items   []BatchItem
	// Edited and Lease are of a vote on one approval.
	Edited []byte
	Lease  *consent.LeaseTerms
}

// Statement is a statement to sign, with its circumstances.
type Statement struct {
	Text []byte
	// Presence reports that the terms demand it.
	Presence bool
	Keys     []Key
	RPID     string
	Expires  time.Time
	*signature.Statement
}

func newSecret() []byte {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// intent returns a vote as a caller signs it.
func (a *App) intent(caller Caller, approve bool, note string, lease *consent.LeaseTerms) *consent.Intent {
	return &consent.Intent{
		Approve: approve, Note: note, Lease: lease, Person: caller.Principal.Person, Namespace: caller.Namespace, Deployment: a.signing().Deployment,
	}
}

// nonce returns the nonce of a statement of approvals for a person at a time: only their
// secrets make it.
func nonce(records []*Record, person string, at time.Time) string {
	var key []byte
	for _, r := range records {
		key = append(key, r.Secret...)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("interlock approval statement\n" + at.UTC().Format(time.RFC3339) + "\n" + person))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Statement returns the statement that the caller signs for a vote. The vote may still be
// refused when it is cast.
func (a *App) Statement(ctx context.Context, caller Caller, w Wish) (*Statement, error) {
	who := caller.Principal
	if err := bound(who); err != nil {
		return nil, err
	}
	b := Batch{Approve: w.Approve, Note: w.Note, Items: w.Items}
	if err := b.check(); err != nil {
		return nil, err
	}
	if len(w.Items) > MaxSigned {
		return nil, fault.New(fault.InvalidRequest, "one signature is for at most %d approvals, not %d; sign them in parts", MaxSigned, len(w.Items)).
			Violate("/items", document.CodeRange, "too many")
	}
	if len(w.Items) > 1 && (len(w.Edited) > 0 || w.Lease != nil) {
		return nil, fault.New(fault.InvalidRequest, "several approvals have no edited data and no lease; sign them one by one")
	}
	records, err := a.loadBatch(ctx, caller, &b)
	if err != nil {
		return nil, err
	}
	if err := b.alike(records); err != nil {
		return nil, err
	}
	var edited document.Value
	if len(w.Edited) > 0 {
		if edited, err = parse("edited_data", w.Edited, MaxData); err != nil {
			return nil, err
		}
	}
	now := a.now()
	out := &Statement{RPID: a.signing().RPID}
	var items []signature.Item
	for i, r := range records {
		if refusal := signable(r.at(now), approver(who), now, w.Items[i].Digest); refusal != nil {
			return nil, refused(r.at(now), refusal)
		}
		out.Presence = out.Presence || r.Terms.Presence
		items = append(items, r.Item(edited, i > 0))
	}
	if out.Keys, err = a.keysOf(ctx, caller); err != nil {
		return nil, err
	}
	out.Statement = a.intent(caller, w.Approve, w.Note, w.Lease).Statement(items...)
	out.Time = now.Truncate(time.Second)
	out.Nonce = nonce(records, who.Person, out.Time)
	out.Text, out.Expires = out.Statement.Text(), out.Time.Add(StatementTime)
	return out, nil
}

// signable refuses a statement for a caller who could not use it.
func signable(r *Record, by consent.Approver, now time.Time, digest string) *consent.Refusal {
	if may, why := r.MayDecide(by, now); !may {
		code := consent.CodeNotEligible
		if r.Status.Final() {
			code = consent.CodeDecided
		}
		return &consent.Refusal{Code: code, Message: why}
	}
	switch {
	case by.Person == "" || by.Relay != "":
		return &consent.Refusal{Code: consent.CodePerson, Message: "only a registered person signs decisions, with a login of their own; log in with interlock login"}
	case digest != r.Digest:
		return &consent.Refusal{Code: consent.CodeChanged, Message: "approval " + r.ID + " is for a different action than the one that was shown; look at it again"}
	case len(r.Secret) == 0:
		return &consent.Refusal{Code: consent.CodeSignature, Message: "approval " + r.ID + " was asked without a secret, and cannot be signed; let it be asked again"}
	}
	return nil
}

func (a *App) keysOf(ctx context.Context, caller Caller) ([]Key, error) {
	if a.keys == nil || caller.Principal.Person == "" {
		return nil, nil
	}
	keys, err := a.keys.Keys(ctx, caller.Namespace, caller.Principal.Person)
	if err != nil {
		return nil, fault.From(err)
	}
	return keys, nil
}

// proof is a signature that was checked: nil for a vote without one.
type proof struct {
	*signature.Statement
	consent.Signed
}

func (p *proof) signed() *consent.Signed {
	if p == nil {
		return nil
	}
	return &p.Signed
}

// against refuses a signature of another vote than the one that is cast on an approval.
func (p *proof) against(r *Record, in *consent.Intent, edited document.Value) *consent.Refusal {
	if p == nil || p.Statement == nil {
		return nil
	}
	part := r.Matches(p.Statement, in, edited)
	if part == "" {
		return nil
	}
	return &consent.Refusal{
		Code: consent.CodeSignature, Message: "the signature is for another decision: the " + part + " of the signed statement is not that of this vote on approval " + r.ID + "; get the statement again, and sign that",
	}
}

// mismatched refuses a signature, and names the part that does not fit.
func mismatched(part signature.Part, format string, args ...any) error {
	return fault.New(fault.PermissionDenied, format, args...).Meta("code", string(consent.CodeSignature)).Meta("part", string(part))
}

// verified checks the signature of a vote on approvals: it is of a statement that was made here
// for them and for this person, just now, by a key of the person. Whether the statement is of
// this vote is checked as the vote is cast. It returns nil for a vote without a signature.
func (a *App) verified(ctx context.Context, caller Caller, s *Signature, ids ...string) (*proof, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // most votes have none
	}
	who := caller.Principal
	if who.Person == "" || who.Relay != "" {
		return &proof{}, nil // which the core refuses
	}
	st, err := signature.Read(s.Statement)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "%s; get the statement again, and send it as it is", err).Violate("/signature/statement", "INVALID", err.Error())
	}
	records := make([]*Record, len(ids))
	for i, id := range ids {
		if records[i], err = a.load(ctx, approvalKey(caller.Namespace, id)); err != nil {
			return nil, err
		}
		if len(records[i].Secret) == 0 {
			return nil, mismatched(signature.PartForm, "approval %s was asked without a secret, and cannot be signed", document.Quote(id))
		}
	}
	if !slices.EqualFunc(st.Items, ids, func(i signature.Item, id string) bool { return i.ApprovalID == id }) {
		return nil, mismatched(signature.PartChallenge, "the signature is for other approvals, or for these in another order; get the statement again, and sign that")
	}
	repeated := slices.ContainsFunc(records[0].Votes, func(v consent.Vote) bool { return v.Signed != nil && bytes.Equal(v.Signed.Statement, s.Statement) })
	want := nonce(records, who.Person, st.Time)
	switch now := a.now(); {
	case subtle.ConstantTimeCompare([]byte(st.Nonce), []byte(want)) != 1:
		return nil, mismatched(signature.PartChallenge, "the statement was not made here for this person and these approvals; get it again")
	case !repeated && (now.Sub(st.Time) > StatementTime || st.Time.After(now)):
		return nil, mismatched(signature.PartChallenge, "the statement is of %s, and can be used for %s; get it again, and sign that", st.Time.Format(time.RFC3339), StatementTime)
	}
	keys, err := a.keysOf(ctx, caller)
	if err != nil {
		return nil, err
	}
	return a.checked(ctx, caller, s, st, keys, repeated)
}

// checked finds the key of a signature among those of the person, and checks it. A repeated vote
// has counted before.
func (a *App) checked(ctx context.Context, caller Caller, s *Signature, st *signature.Statement, keys []Key, repeated bool) (*proof, error) {
	place := a.signing()
	signed := signature.Signed{Statement: s.Statement, Passkey: s.Passkey, SSH: s.SSH}
	for _, key := range keys {
		last := key.Count
		switch {
		case key.Passkey != nil && s.Passkey != nil && bytes.Equal(key.Passkey.ID, s.Passkey.CredentialID):
			signed.PasskeyKey, signed.RPID, signed.Origins, last = key.Passkey.Key, place.RPID, place.Origins, key.Passkey.Count
		case key.Passkey == nil && s.Passkey == nil && s.SSH != "":
			signed.SSHKey = key.SSH
		default:
			continue
		}
		if repeated {
			last = 0
		}
		present, count, err := signed.Check(last)
		var m *signature.Mismatch
		if errors.As(err, &m) {
			if m.Part == signature.PartCredential {
				continue // another SSH key of the person
			}
			return nil, mismatched(m.Part, "the signature does not count: %s", m.Why)
		}
		if err != nil {
			return nil, fault.From(err)
		}
		if !repeated && count > 0 {
			if err := a.keys.Counted(ctx, caller.Namespace, caller.Principal.Person, key, count); err != nil {
				return nil, fault.From(err)
			}
		}
		return &proof{st, consent.Signed{Signed: signed, Present: present}}, nil
	}
	return nil, mismatched(signature.PartCredential, "the signature is of a key that %s has not registered; register it in the console, or with interlock login", document.Quote(caller.Principal.Person))
}
