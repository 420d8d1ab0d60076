package rpc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/people"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/pkg/store"
	app "github.com/interlock-run/interlock/services/approval/internal/people"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// credentialKinds are the core's words in the contract's.
var credentialKinds = protomap.LowerEnums[people.Kind, identityv1.CredentialKind](identityv1.CredentialKind_value, "CREDENTIAL_KIND_")

// People serves PersonService and LoginService.
type People struct {
	identityv1.UnimplementedPersonServiceServer
	identityv1.UnimplementedLoginServiceServer
	App *app.App
}

func personProto(p *people.Person) *identityv1.Person {
	out := &identityv1.Person{
		Spec: &identityv1.PersonSpec{
			Name: p.Name, Roles: words(p.Roles), Namespaces: p.Namespaces, Groups: p.Groups, Attributes: p.Attributes, Identities: p.Identities,
		},
		Version: p.Version, CreatedAt: timestamppb.New(p.CreatedAt), UpdatedAt: timestamppb.New(p.UpdatedAt),
	}
	if p.Invitation != nil {
		out.InvitedUntil = timestamppb.New(p.Invitation.Until)
	}
	for i := range p.Credentials {
		c := &p.Credentials[i]
		out.Credentials = append(out.Credentials, &identityv1.Credential{
			CredentialId: c.ID, Kind: credentialKinds[c.Kind], PublicKey: c.PublicKey, SignCount: int64(c.SignCount), Presence: c.Presence != "",
			Label: c.Label, CreatedAt: timestamppb.New(c.CreatedAt), LastUsedAt: stamp(c.LastUsedAt),
		})
	}
	return out
}

func words[T ~string](all []T) (out []string) {
	for _, one := range all {
		out = append(out, string(one))
	}
	return out
}

func personSpec(s *identityv1.PersonSpec) people.Spec {
	out := people.Spec{
		Name: s.GetName(), Namespaces: s.GetNamespaces(), Groups: s.GetGroups(), Attributes: s.GetAttributes(), Identities: s.GetIdentities(),
	}
	for _, role := range s.GetRoles() {
		out.Roles = append(out.Roles, auth.Role(role))
	}
	return out
}

func principalOf(ctx context.Context) auth.Principal {
	p, _ := auth.FromContext(ctx)
	return p
}

// CreatePerson implements PersonService.
func (s *People) CreatePerson(ctx context.Context, req *identityv1.CreatePersonRequest) (*identityv1.CreatePersonResponse, error) {
	p, err := s.App.Create(ctx, principalOf(ctx), personSpec(req.GetSpec()))
	if err != nil {
		return nil, err
	}
	return &identityv1.CreatePersonResponse{Person: personProto(p)}, nil
}

// GetPerson implements PersonService.
func (s *People) GetPerson(ctx context.Context, req *identityv1.GetPersonRequest) (*identityv1.GetPersonResponse, error) {
	p, err := s.App.Get(ctx, principalOf(ctx), req.GetName())
	if err != nil {
		return nil, err
	}
	return &identityv1.GetPersonResponse{Person: personProto(p)}, nil
}

// ListPeople implements PersonService.
func (s *People) ListPeople(ctx context.Context, req *identityv1.ListPeopleRequest) (*identityv1.ListPeopleResponse, error) {
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPageSize
	}
	found, next, err := s.App.List(ctx, principalOf(ctx), req.GetPageToken(), size)
	if err != nil {
		return nil, err
	}
	resp := &identityv1.ListPeopleResponse{NextPageToken: next}
	for _, p := range found {
		resp.People = append(resp.People, personProto(p))
	}
	return resp, nil
}

// UpdatePerson implements PersonService.
func (s *People) UpdatePerson(ctx context.Context, req *identityv1.UpdatePersonRequest) (*identityv1.UpdatePersonResponse, error) {
	p, err := s.App.Update(ctx, principalOf(ctx), personSpec(req.GetSpec()), req.GetExpectedVersion())
	if err != nil {
		return nil, err
	}
	return &identityv1.UpdatePersonResponse{Person: personProto(p)}, nil
}

// DeletePerson implements PersonService.
func (s *People) DeletePerson(ctx context.Context, req *identityv1.DeletePersonRequest) (*identityv1.DeletePersonResponse, error) {
	if err := s.App.Delete(ctx, principalOf(ctx), req.GetName(), req.GetExpectedVersion()); err != nil {
		return nil, err
	}
	return &identityv1.DeletePersonResponse{}, nil
}

// InvitePerson implements PersonService.
func (s *People) InvitePerson(ctx context.Context, req *identityv1.InvitePersonRequest) (*identityv1.InvitePersonResponse, error) {
	code, p, err := s.App.Invite(ctx, principalOf(ctx), req.GetName())
	if err != nil {
		return nil, err
	}
	out := personProto(p)
	return &identityv1.InvitePersonResponse{Code: code, ExpiresAt: out.GetInvitedUntil(), Person: out}, nil
}

// AddCredential implements PersonService.
func (s *People) AddCredential(ctx context.Context, req *identityv1.AddCredentialRequest) (*identityv1.AddCredentialResponse, error) {
	p, err := s.App.AddKey(ctx, principalOf(ctx), req.GetName(), newKeyOf(req.GetCredential()))
	if err != nil {
		return nil, err
	}
	return &identityv1.AddCredentialResponse{Person: personProto(p)}, nil
}

// RemoveCredential implements PersonService.
func (s *People) RemoveCredential(ctx context.Context, req *identityv1.RemoveCredentialRequest) (*identityv1.RemoveCredentialResponse, error) {
	p, err := s.App.RemoveKey(ctx, principalOf(ctx), req.GetName(), req.GetCredentialId())
	if err != nil {
		return nil, err
	}
	return &identityv1.RemoveCredentialResponse{Person: personProto(p)}, nil
}

func newKeyOf(c *identityv1.NewCredential) app.NewKey {
	k := app.NewKey{ChallengeID: c.GetChallengeId(), Label: c.GetLabel(), SSHKey: c.GetSshPublicKey(), Passphrase: c.GetPassphrase()}
	if made := c.GetPasskey(); made != nil {
		k.Passkey = &signature.Registration{ClientDataJSON: made.GetClientDataJson(), AttestationObject: made.GetAttestationObject()}
	}
	return k
}

// BeginLogin implements LoginService.
func (s *People) BeginLogin(context.Context, *identityv1.BeginLoginRequest) (*identityv1.BeginLoginResponse, error) {
	c, err := s.App.Begin()
	if err != nil {
		return nil, err
	}
	return &identityv1.BeginLoginResponse{
		ChallengeId: c.ID, Challenge: c.Text, RpId: c.Site.RPID, Origins: c.Site.Origins, ExpiresAt: timestamppb.New(c.Expires),
	}, nil
}

// FinishLogin implements LoginService.
func (s *People) FinishLogin(ctx context.Context, req *identityv1.FinishLoginRequest) (*identityv1.FinishLoginResponse, error) {
	proof := app.Proof{
		SSHKey: req.GetSsh().GetPublicKey(), SSHSignature: req.GetSsh().GetSignature(),
		Person: req.GetPassphrase().GetPerson(), Passphrase: req.GetPassphrase().GetPassphrase(),
	}
	if given := req.GetPasskey(); given != nil {
		proof.Passkey = &signature.Assertion{
			CredentialID: given.GetCredentialId(), AuthenticatorData: given.GetAuthenticatorData(), ClientDataJSON: given.GetClientDataJson(), Signature: given.GetSignature(),
		}
	}
	l, err := s.App.Finish(ctx, req.GetChallengeId(), proof)
	if err != nil {
		return nil, err
	}
	return &identityv1.FinishLoginResponse{Login: loginProto(l)}, nil
}

// GetInvitation implements LoginService.
func (s *People) GetInvitation(ctx context.Context, req *identityv1.GetInvitationRequest) (*identityv1.GetInvitationResponse, error) {
	person, until, err := s.App.Invited(ctx, req.GetCode())
	if err != nil {
		return nil, err
	}
	return &identityv1.GetInvitationResponse{Person: person, ExpiresAt: stamp(until)}, nil
}

// Register implements LoginService.
func (s *People) Register(ctx context.Context, req *identityv1.RegisterRequest) (*identityv1.RegisterResponse, error) {
	l, err := s.App.Register(ctx, req.GetCode(), req.GetPerson(), newKeyOf(req.GetCredential()))
	if err != nil {
		return nil, err
	}
	return &identityv1.RegisterResponse{Login: loginProto(l)}, nil
}

// RenewLogin implements LoginService.
func (s *People) RenewLogin(ctx context.Context, req *identityv1.RenewLoginRequest) (*identityv1.RenewLoginResponse, error) {
	l, err := s.App.Renew(ctx, principalOf(ctx), app.Wanted{Role: auth.Role(req.GetRole()), TTL: req.GetTtl().AsDuration(), ReadOnly: req.GetReadOnly()})
	if err != nil {
		return nil, err
	}
	return &identityv1.RenewLoginResponse{Login: loginProto(l)}, nil
}

func loginProto(l app.Login) *identityv1.Login {
	out := &identityv1.Login{Person: l.Person, ExpiresAt: timestamppb.New(l.Expires), EndsAt: timestamppb.New(l.Ends), Presence: string(l.Presence)}
	for _, t := range l.Tokens {
		out.Tokens = append(out.Tokens, &identityv1.RoleToken{Role: string(t.Role), Token: t.Token})
	}
	return out
}

// PersonEvent implements the Announcer of people.
func (Announcer) PersonEvent(namespace, actor string, c app.Change, at time.Time) (store.Event, error) {
	namespaces := c.Person.Namespaces
	if slices.Contains(namespaces, namespace) {
		namespaces = []string{namespace} // the tenant does not learn of the person's others
	}
	changed := &eventv1.PersonChanged{Roles: words(c.Person.Roles), Namespaces: namespaces, Identities: bus.ClipAll(c.Person.Identities)}
	if k := c.Key; k != nil {
		changed.CredentialId, changed.CredentialKind, changed.Label = k.ID, string(k.Kind), k.Label
	}
	event, err := bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: app.KindPerson, EntityId: c.Person.Name, Type: c.Type,
		Version: c.Person.Version, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_PersonChanged{PersonChanged: changed},
	})
	event.Key = app.Book // where all people are, and so in the order of all their changes
	return event, err
}
