package jsonview

import (
	"fmt"
	"strings"
	"time"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
)

// PersonSpec is the part of a person that operators register (S23.10).
type PersonSpec struct {
	Name       string            `json:"name" doc:"Unique name; it cannot change."`
	Roles      []string          `json:"roles" doc:"operator, approver, observer and root."`
	Namespaces []string          `json:"namespaces,omitzero" doc:"Namespaces that the person may call in; * is each. default by default."`
	Groups     []string          `json:"groups,omitzero" doc:"Groups, for conditions of policies."`
	Attributes map[string]string `json:"attributes,omitempty" doc:"Facts, for conditions of policies."`
	Identities []string          `json:"identities,omitzero" doc:"Names elsewhere: slack:T01/U02, oidc:ISSUER/SUBJECT, github:LOGIN. No two people have the same."`
}

// RegisteredPerson decides, operates or looks on.
type RegisteredPerson struct {
	PersonSpec
	Keys         []PersonKey `json:"keys" doc:"Keys by which the person logs in."`
	InvitedUntil time.Time   `json:"invited_until,omitzero" doc:"When the code of an invitation ends that was not used; absent without one."`
	Version      int64       `json:"version" doc:"Also the ETag."`
	CreatedAt    time.Time   `json:"created_at"`
	UpdatedAt    time.Time   `json:"updated_at"`
}

// PersonKey is a key of a person. No secret is in it.
type PersonKey struct {
	KeyID      string    `json:"key_id" doc:"Id of the passkey in base64url, SHA256:... of an SSH key, or passphrase."`
	Kind       string    `json:"kind" doc:"passkey, ssh_key or passphrase."`
	Presence   bool      `json:"presence" doc:"Whether it shows that the person is there."`
	Label      string    `json:"label,omitzero" doc:"The person's name of it."`
	PublicKey  string    `json:"public_key,omitzero" doc:"As base64url: COSE of a passkey, the wire form of SSH."`
	SignCount  int64     `json:"sign_count,omitzero" doc:"How often it has signed, as far as it counts."`
	CreatedAt  time.Time `json:"created_at"`
	LastUsedAt time.Time `json:"last_used_at,omitzero"`
}

// Invitation is a code by which a person registers a key once.
type Invitation struct {
	Code      string    `json:"code" doc:"For the person alone; it is shown this once."`
	ExpiresAt time.Time `json:"expires_at"`
	Person    string    `json:"person" doc:"Name of the invited person."`
}

// Login has the tokens of a person who has logged in (S23.11).
type Login struct {
	Person    string      `json:"person"`
	Tokens    []RoleToken `json:"tokens" doc:"One for each role of the person. Keep them in memory only."`
	ExpiresAt time.Time   `json:"expires_at" doc:"When the tokens end: after at most 15 minutes."`
	EndsAt    time.Time   `json:"ends_at" doc:"When no token can be renewed any more."`
	Presence  string      `json:"presence" doc:"How the person has shown to be there: passkey, touch, passphrase, or empty."`
}

// RoleToken is a token of a role.
type RoleToken struct {
	Role  string `json:"role"`
	Token string `json:"token"`
}

// PersonOf returns the JSON of a person.
func PersonOf(p *identityv1.Person) RegisteredPerson {
	return RegisteredPerson{
		PersonSpec: PersonSpecOf(p.GetSpec()), Keys: Each(p.GetCredentials(), personKeyOf), InvitedUntil: Time(p.GetInvitedUntil()),
		Version: p.GetVersion(), CreatedAt: Time(p.GetCreatedAt()), UpdatedAt: Time(p.GetUpdatedAt()),
	}
}

// PersonSpecOf returns the JSON of the registered part of a person.
func PersonSpecOf(s *identityv1.PersonSpec) PersonSpec {
	return PersonSpec{
		Name: s.GetName(), Roles: s.GetRoles(), Namespaces: s.GetNamespaces(), Groups: s.GetGroups(),
		Attributes: s.GetAttributes(), Identities: s.GetIdentities(),
	}
}

// Proto returns the registered part of a person, of a contract.
func (s PersonSpec) Proto() *identityv1.PersonSpec {
	return &identityv1.PersonSpec{
		Name: s.Name, Roles: s.Roles, Namespaces: s.Namespaces, Groups: s.Groups, Attributes: s.Attributes, Identities: s.Identities,
	}
}

func personKeyOf(c *identityv1.Credential) PersonKey {
	return PersonKey{
		KeyID: c.GetCredentialId(), Kind: strings.ToLower(strings.TrimPrefix(c.GetKind().String(), "CREDENTIAL_KIND_")), Presence: c.GetPresence(),
		Label: c.GetLabel(), PublicKey: base64URL(c.GetPublicKey()), SignCount: c.GetSignCount(),
		CreatedAt: Time(c.GetCreatedAt()), LastUsedAt: Time(c.GetLastUsedAt()),
	}
}

// InvitationOf returns the JSON of an invitation.
func InvitationOf(r *identityv1.InvitePersonResponse) Invitation {
	return Invitation{Code: r.GetCode(), ExpiresAt: Time(r.GetExpiresAt()), Person: r.GetPerson().GetSpec().GetName()}
}

// LoginOf returns the JSON of a log-in.
func LoginOf(l *identityv1.Login) Login {
	return Login{
		Person: l.GetPerson(), ExpiresAt: Time(l.GetExpiresAt()), EndsAt: Time(l.GetEndsAt()), Presence: l.GetPresence(),
		Tokens: Each(l.GetTokens(), func(t *identityv1.RoleToken) RoleToken { return RoleToken{t.GetRole(), t.GetToken()} }),
	}
}

// Challenge is what a key signs to log in.
type Challenge struct {
	ChallengeID string    `json:"challenge_id" doc:"It goes back with the answer."`
	Challenge   string    `json:"challenge" doc:"The 32 bytes to sign, as base64url without padding."`
	RPID        string    `json:"rp_id,omitzero" doc:"Relying party of passkeys; absent where this server has none."`
	Origins     []string  `json:"origins,omitzero" doc:"The pages that may ask for passkeys."`
	ExpiresAt   time.Time `json:"expires_at"`
}

// ChallengeOf returns the JSON of a challenge.
func ChallengeOf(c *identityv1.BeginLoginResponse) Challenge {
	return Challenge{
		ChallengeID: c.GetChallengeId(), Challenge: base64URL(c.GetChallenge()), RPID: c.GetRpId(), Origins: c.GetOrigins(), ExpiresAt: Time(c.GetExpiresAt()),
	}
}

// NewKey is a key to register: one of a passkey, an SSH key and a passphrase.
type NewKey struct {
	Label        string      `json:"label,omitzero" doc:"The person's name of it."`
	SSHPublicKey string      `json:"ssh_public_key,omitzero" doc:"A line of an authorized_keys file."`
	Passphrase   string      `json:"passphrase,omitzero" doc:"At least 12 characters. It replaces the one before."`
	Passkey      *NewPasskey `json:"passkey,omitzero"`
}

// NewPasskey is the answer of a browser to navigator.credentials.create. Its bytes are base64url without padding.
type NewPasskey struct {
	ChallengeID       string `json:"challenge_id" doc:"That of POST /v1/login."`
	ClientDataJSON    string `json:"client_data_json"`
	AttestationObject string `json:"attestation_object"`
}

// Proto returns the key, of a contract.
func (k NewKey) Proto() (*identityv1.NewCredential, error) {
	out := &identityv1.NewCredential{Label: k.Label}
	switch {
	case k.Passkey != nil:
		client, err := FromBase64URL(k.Passkey.ClientDataJSON)
		if err != nil {
			return nil, fmt.Errorf("client_data_json: %w", err)
		}
		object, err := FromBase64URL(k.Passkey.AttestationObject)
		if err != nil {
			return nil, fmt.Errorf("attestation_object: %w", err)
		}
		out.ChallengeId = k.Passkey.ChallengeID
		out.Key = &identityv1.NewCredential_Passkey{Passkey: &identityv1.PasskeyAttestation{ClientDataJson: client, AttestationObject: object}}
	case k.SSHPublicKey != "":
		out.Key = &identityv1.NewCredential_SshPublicKey{SshPublicKey: k.SSHPublicKey}
	default:
		out.Key = &identityv1.NewCredential_Passphrase{Passphrase: k.Passphrase}
	}
	return out, nil
}
