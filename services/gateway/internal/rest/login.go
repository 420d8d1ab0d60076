package rest

import (
	"net/http"
	"reflect"
	"time"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// LoginAnswer is the answer to a challenge: one of ssh, passphrase and passkey.
type LoginAnswer struct {
	ChallengeID string                     `json:"challenge_id" doc:"That of POST /v1/login."`
	SSH         *LoginSSH                  `json:"ssh,omitzero"`
	Passphrase  *LoginPassphrase           `json:"passphrase,omitzero"`
	Passkey     *jsonview.PasskeyAssertion `json:"passkey,omitzero" doc:"The answer of a page of this server."`
}

// LoginSSH is the output of ssh-keygen -Y sign -n interlock-login over the bytes of the challenge.
type LoginSSH struct {
	PublicKey string `json:"public_key" doc:"A line of an authorized_keys file."`
	Signature string `json:"signature" doc:"The signature, armored."`
}

// LoginPassphrase is the passphrase of a person.
type LoginPassphrase struct {
	Person     string `json:"person"`
	Passphrase string `json:"passphrase"`
}

// InvitationRequest is a code.
type InvitationRequest struct {
	Code string `json:"code" doc:"As it was shown."`
}

// Invited is whom a code is for.
type Invited struct {
	Person    string    `json:"person" doc:"Empty for the first person, who chooses the name."`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"When the code ends; absent for that of the first person."`
}

// KeyRegistration takes a key for a code, once.
type KeyRegistration struct {
	Code   string          `json:"code" doc:"That of an invitation, or of the first person."`
	Person string          `json:"person,omitzero" doc:"Name of the first person, who chooses it; an invitation is for one person, and needs none."`
	Key    jsonview.NewKey `json:"key"`
}

// RenewRequest asks for tokens.
type RenewRequest struct {
	Role string `json:"role,omitzero" doc:"The only role to get a token for; each by default."`
}

// logins serves the routes by which people log in. All but the renewal need no token.
type logins struct {
	login identityv1.LoginServiceClient
}

func (h *logins) routes(add func(route)) {
	one := answers[jsonview.Login](http.StatusOK)
	add(route{
		method: http.MethodPost, path: "/v1/login", id: "beginLogin", summary: "Get a challenge to log in with a key",
		about:   "It counts once and for two minutes.",
		answers: answers[jsonview.Challenge](http.StatusOK), serve: h.begin,
	})
	add(route{
		method: http.MethodPost, path: "/v1/login/answer", id: "answerLogin", summary: "Log in: tokens of at most 15 minutes for an answer to a challenge",
		about: "All refused log-ins are the same 401. 429 when too many passphrases were wrong.",
		body:  jsonBody, request: reflect.TypeFor[LoginAnswer](), answers: one, serve: taking(h.answer),
	})
	add(route{
		method: http.MethodPost, path: "/v1/login/invitation", id: "getInvitation", summary: "Read whom a code is for",
		about: "It does not use the code up.",
		body:  jsonBody, request: reflect.TypeFor[InvitationRequest](), answers: answers[Invited](http.StatusOK), serve: taking(h.invitation),
	})
	add(route{
		method: http.MethodPost, path: "/v1/login/register", id: "registerKey", summary: "Register a key by a code, and log in with it",
		about: "The code counts once. The answer names the person whom the code is for.",
		body:  jsonBody, request: reflect.TypeFor[KeyRegistration](), answers: one, serve: taking(h.register),
	})
	add(route{
		method: http.MethodPost, path: "/v1/login/renew", id: "renewLogin", summary: "Get the next tokens for one that still counts",
		about: "For people, until 8 hours after the log-in, while the person, the role and the key are there.",
		body:  optionalJSON, request: reflect.TypeFor[RenewRequest](), answers: one, serve: taking(h.renew),
	})
}

func (h *logins) begin(c *call) (*answer, error) {
	resp, err := h.login.BeginLogin(c.ctx, &identityv1.BeginLoginRequest{})
	return shown(resp, err, jsonview.ChallengeOf)
}

func (h *logins) answer(c *call, in LoginAnswer) (*answer, error) {
	req := &identityv1.FinishLoginRequest{ChallengeId: in.ChallengeID}
	switch {
	case in.ChallengeID == "":
		return nil, missing(requirement{"/challenge_id", false})
	case in.SSH != nil && in.Passphrase == nil && in.Passkey == nil:
		req.Proof = &identityv1.FinishLoginRequest_Ssh{Ssh: &identityv1.SSHSignature{PublicKey: in.SSH.PublicKey, Signature: in.SSH.Signature}}
	case in.Passphrase != nil && in.SSH == nil && in.Passkey == nil:
		req.Proof = &identityv1.FinishLoginRequest_Passphrase{
			Passphrase: &identityv1.PassphraseProof{Person: in.Passphrase.Person, Passphrase: in.Passphrase.Passphrase},
		}
	case in.Passkey != nil && in.SSH == nil && in.Passphrase == nil:
		a, err := in.Passkey.Assertion()
		if err != nil {
			return nil, badBody(fault.InvalidRequest, inBody("/passkey", document.CodeType, "the assertion cannot be read: "+err.Error()))
		}
		req.Proof = &identityv1.FinishLoginRequest_Passkey{Passkey: &identityv1.PasskeyAssertion{
			CredentialId: a.CredentialID, AuthenticatorData: a.AuthenticatorData, ClientDataJson: a.ClientDataJSON, Signature: a.Signature,
		}}
	default:
		return nil, badBody(fault.InvalidRequest, inBody("", document.CodeRequired, "give one answer: ssh, passphrase or passkey"))
	}
	resp, err := h.login.FinishLogin(c.ctx, req)
	return shown(resp.GetLogin(), err, jsonview.LoginOf)
}

func (h *logins) invitation(c *call, in InvitationRequest) (*answer, error) {
	if err := missing(requirement{"/code", in.Code != ""}); err != nil {
		return nil, err
	}
	resp, err := h.login.GetInvitation(c.ctx, &identityv1.GetInvitationRequest{Code: in.Code})
	return shown(resp, err, func(r *identityv1.GetInvitationResponse) Invited {
		return Invited{Person: r.GetPerson(), ExpiresAt: jsonview.Time(r.GetExpiresAt())}
	})
}

func (h *logins) register(c *call, in KeyRegistration) (*answer, error) {
	if err := missing(requirement{"/code", in.Code != ""}); err != nil {
		return nil, err
	}
	key, err := credential("/key", in.Key)
	if err != nil {
		return nil, err
	}
	resp, err := h.login.Register(c.ctx, &identityv1.RegisterRequest{Code: in.Code, Person: in.Person, Credential: key})
	return shown(resp.GetLogin(), err, jsonview.LoginOf)
}

func (h *logins) renew(c *call, in RenewRequest) (*answer, error) {
	resp, err := h.login.RenewLogin(c.ctx, &identityv1.RenewLoginRequest{Role: in.Role})
	return shown(resp.GetLogin(), err, jsonview.LoginOf)
}
