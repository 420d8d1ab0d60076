package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"google.golang.org/grpc/metadata"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

const (
	// askLife is how long a page waits for what the service of people says of itself.
	askLife = 2 * time.Second
	// renewBefore is how long before the end of a person's tokens the next are got.
	renewBefore = 10 * time.Minute
)

// raw is bytes that pages write in base64url without padding, as WebAuthn does.
type raw []byte

// MarshalText implements encoding.TextMarshaler.
func (b raw) MarshalText() ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *raw) UnmarshalText(text []byte) error {
	var err error
	*b, err = base64.RawURLEncoding.Strict().AppendDecode(nil, text)
	return err
}

// challenge is what a passkey signs.
type challenge struct {
	ID        string   `json:"challenge_id"`
	Challenge raw      `json:"challenge"`
	RPID      string   `json:"rp_id"`
	Origins   []string `json:"origins"`
}

// assertion is a passkey's proof.
type assertion struct {
	ChallengeID       string `json:"challenge_id"`
	CredentialID      raw    `json:"credential_id"`
	AuthenticatorData raw    `json:"authenticator_data"`
	ClientDataJSON    raw    `json:"client_data_json"`
	Signature         raw    `json:"signature"`
}

// registration is a code and a key: a passkey, or a passphrase.
type registration struct {
	Code              string `json:"code"`
	Person            string `json:"person"`
	Label             string `json:"label"`
	Passphrase        string `json:"passphrase"`
	ChallengeID       string `json:"challenge_id"`
	ClientDataJSON    raw    `json:"client_data_json"`
	AttestationObject raw    `json:"attestation_object"`
}

// credential returns the key to register.
func (g registration) credential() *identityv1.NewCredential {
	k := &identityv1.NewCredential{Label: g.Label}
	if g.Passphrase != "" {
		k.Key = &identityv1.NewCredential_Passphrase{Passphrase: g.Passphrase}
		return k
	}
	k.ChallengeId = g.ChallengeID
	k.Key = &identityv1.NewCredential_Passkey{Passkey: &identityv1.PasskeyAttestation{
		ClientDataJson: g.ClientDataJSON, AttestationObject: g.AttestationObject,
	}}
	return k
}

// challenge gives a page what a passkey is to sign.
func (c *console) challenge(w http.ResponseWriter, r *http.Request) {
	if !c.ours(r) {
		refuse(w, http.StatusForbidden, codeCrossOrigin, crossOrigin)
		return
	}
	given, err := c.People.BeginLogin(r.Context(), &identityv1.BeginLoginRequest{})
	if err != nil {
		f := fault.From(err)
		refuse(w, f.HTTPStatus(), string(f.Reason), f.Message)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(challenge{ // the client went away: no reader is left
		ID: given.GetChallengeId(), Challenge: given.GetChallenge(), RPID: given.GetRpId(), Origins: given.GetOrigins(),
	})
}

// peopleHere reports whether people log in here, and the pages that may ask for their passkeys.
func (c *console) peopleHere(ctx context.Context) (here bool, origins []string) {
	if c.People == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askLife)
	defer cancel()
	given, err := c.People.BeginLogin(ctx, &identityv1.BeginLoginRequest{})
	return err == nil, given.GetOrigins()
}

// enter begins the session of a person, by a proof or by a code and a new key.
func (c *console) enter(ctx context.Context, s *session, given credentials) error {
	if c.People == nil {
		return fault.New(fault.FailedPrecondition, "people cannot log in at this server; give a token")
	}
	l, err := c.prove(ctx, given)
	if err != nil {
		return err
	}
	return s.of(l)
}

// prove returns the log-in of what a person has given.
func (c *console) prove(ctx context.Context, given credentials) (*identityv1.Login, error) {
	switch {
	case given.Register != nil && c.ReadOnly:
		return nil, fault.New(fault.PermissionDenied, "this console is read-only (--console-read-only), and registers nobody; use `interlock login --code CODE`")
	case given.Register != nil:
		resp, err := c.People.Register(ctx, &identityv1.RegisterRequest{
			Code: given.Register.Code, Person: given.Register.Person, Credential: given.Register.credential(),
		})
		return resp.GetLogin(), err
	case given.Passkey != nil:
		p := given.Passkey
		resp, err := c.People.FinishLogin(ctx, &identityv1.FinishLoginRequest{ChallengeId: p.ChallengeID, Proof: &identityv1.FinishLoginRequest_Passkey{
			Passkey: &identityv1.PasskeyAssertion{
				CredentialId: p.CredentialID, AuthenticatorData: p.AuthenticatorData, ClientDataJson: p.ClientDataJSON, Signature: p.Signature,
			},
		}})
		return resp.GetLogin(), err
	}
	begun, err := c.People.BeginLogin(ctx, &identityv1.BeginLoginRequest{})
	if err != nil {
		return nil, err
	}
	resp, err := c.People.FinishLogin(ctx, &identityv1.FinishLoginRequest{ChallengeId: begun.GetChallengeId(), Proof: &identityv1.FinishLoginRequest_Passphrase{
		Passphrase: &identityv1.PassphraseProof{Person: given.Person, Passphrase: given.Passphrase},
	}})
	return resp.GetLogin(), err
}

// of makes a session that of a person's log-in.
func (s *session) of(l *identityv1.Login) error {
	s.Name, s.Tokens = l.GetPerson(), map[auth.Role]string{}
	for _, given := range l.GetTokens() {
		s.Tokens[auth.Role(given.GetRole())] = given.GetToken()
	}
	s.Expires = l.GetExpiresAt().AsTime()
	if ends := l.GetEndsAt().AsTime(); ends.Before(s.Until) {
		s.Until = ends
	}
	if s.token(false) == "" {
		return fault.New(fault.PermissionDenied, "you have no role that the console can use; an operator gives you one")
	}
	return nil
}

// renewed returns a person's session with tokens that last, and gives it to the browser: pages that
// are open go on until the log-in ends. It is not ok when the person or the key is gone.
func (c *console) renewed(w http.ResponseWriter, r *http.Request, s session) (_ session, ok bool) {
	now := c.now()
	if c.People == nil || s.Expires.IsZero() || s.Expires.Sub(now) > renewBefore || !s.Expires.Before(s.Until) {
		return s, true
	}
	ctx := metadata.AppendToOutgoingContext(r.Context(), "authorization", "Bearer "+s.token(false))
	resp, err := c.People.RenewLogin(ctx, &identityv1.RenewLoginRequest{})
	next := s
	if err == nil {
		err = next.of(resp.GetLogin())
	}
	if err == nil {
		err = c.keep(w, r, next)
	}
	if err == nil {
		return next, true
	}
	if reason := fault.ReasonOf(err); reason == fault.Unauthenticated || reason == fault.PermissionDenied {
		c.ended.end(s.id(), s.Until, now)
		c.setCookie(w, r, "", -1)
		return session{}, false
	}
	c.Logger.LogAttrs(r.Context(), slog.LevelWarn, "renew a person's session of the console", slog.Any("error", err))
	return s, true // its tokens still count for a while
}
