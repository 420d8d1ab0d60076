package app

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Relays say which programs pass on decisions of people, and how far they are trusted.
type Relays struct {
	// Max is the highest danger of approvals that they decide.
	Max consent.Danger
	// Link is where people reach the gateway; empty for no links.
	Link string

	prefixes map[string][]string
}

// List lets a relay speak for the identities that begin with a prefix.
func (r *Relays) List(name, prefix string) {
	if r.prefixes == nil {
		r.prefixes = map[string][]string{}
	}
	r.prefixes[name] = append(r.prefixes[name], prefix)
}

// listed reports that a relay may speak for an identity.
func (r *Relays) listed(name, identity string) bool {
	return slices.ContainsFunc(r.prefixes[name], func(prefix string) bool {
		return strings.HasPrefix(identity, prefix) && len(identity) > len(prefix)
	})
}

// Person is a registered person, as far as votes go.
type Person struct {
	Name       string
	Roles      []auth.Role
	Namespaces auth.Namespaces
}

// People knows the people of this deployment.
type People interface {
	// ByIdentity returns the person that has an identity; nil if there is none.
	ByIdentity(ctx context.Context, identity string) (*Person, error)
}

// The codes of refusals to a relay.
const (
	codeRelayUnknown    = "RELAY_NOT_LISTED"
	codeIdentityForeign = "IDENTITY_NOT_LISTED"
	codeIdentityUnknown = "IDENTITY_UNKNOWN"
	codeDanger          = "DANGER_ABOVE_RELAY"
)

// Acting returns the caller whose vote it is: of a relay, the person that it speaks for (S23.35). In every doubt
// it refuses.
func (a *App) Acting(ctx context.Context, caller Caller, id, identity string) (Caller, error) {
	who := caller.Principal
	switch {
	case who.Role != auth.Relay && identity == "":
		return caller, nil
	case who.Role != auth.Relay:
		return Caller{}, fault.New(fault.PermissionDenied, "only a token of the role relay decides as an identity; you decide as yourself: leave out as_identity")
	case identity == "":
		return Caller{}, fault.New(fault.InvalidRequest, "a relay makes no decision by itself: give as_identity with the identity of the person who decides").
			Violate("/as_identity", document.CodeRequired, "must not be empty")
	}
	if err := a.checkRelay(who); err != nil {
		return Caller{}, err
	}
	if !a.relays.listed(who.Name, identity) {
		return Caller{}, fault.New(fault.PermissionDenied, "the relay %s may not speak for %s: --relay lists what it may", document.Quote(who.Name), document.Quote(identity)).
			Meta("code", codeIdentityForeign)
	}
	r, err := a.load(ctx, approvalKey(caller.Namespace, id))
	if err != nil {
		return Caller{}, err
	}
	if r.Terms.Danger.Above(a.relays.Max) {
		return Caller{}, a.elsewhere(r, codeDanger, "the danger of approval "+r.ID+" is above what relays decide")
	}
	if r.Terms.Presence {
		return Caller{}, a.elsewhere(r, string(consent.CodePresence), "approval "+r.ID+" takes a signature by a person who is there")
	}
	person, err := a.person(ctx, identity)
	if err != nil {
		return Caller{}, err
	}
	if person == nil || !person.Namespaces.Has(caller.Namespace) {
		return Caller{}, fault.New(fault.PermissionDenied, "no registered person has the identity %s; an operator adds it: interlock person identity add NAME %s", document.Quote(identity), identity).
			Meta("code", codeIdentityUnknown)
	}
	caller.Principal = auth.Principal{
		Name: person.Name, Role: a.voting(r, person), Namespace: caller.Namespace, Kind: who.Kind, TokenID: who.TokenID,
		Person: person.Name, Relay: who.Name, Identity: identity,
	}
	return caller, nil
}

// checkRelay refuses a relay that no setting lists, and one whose token is bound to a session.
func (a *App) checkRelay(who auth.Principal) error {
	if len(a.relays.prefixes[who.Name]) == 0 || who.Session != "" {
		return fault.New(fault.PermissionDenied, "no --relay of the approval service lists %s, so it reads and decides no approvals", document.Quote(who.Name)).
			Meta("code", codeRelayUnknown)
	}
	return nil
}

func (a *App) person(ctx context.Context, identity string) (*Person, error) {
	if a.people == nil {
		return nil, nil
	}
	person, err := a.people.ByIdentity(ctx, identity)
	if err != nil {
		return nil, fault.From(err)
	}
	return person, nil
}

// voting returns the role of a person in which they may decide the approval, or the first that decides at all.
func (a *App) voting(r *Record, person *Person) auth.Role {
	roles := slices.DeleteFunc([]auth.Role{auth.Approver, auth.Operator}, func(role auth.Role) bool { return !has(person, role) })
	for _, role := range roles {
		if r.EligibleAt(a.now(), consent.Approver{Name: person.Name, Role: string(role)}) {
			return role
		}
	}
	if len(roles) > 0 {
		return roles[0]
	}
	return auth.Observer
}

// has reports that a person has a role. Who is root is an operator.
func has(person *Person, role auth.Role) bool {
	return slices.Contains(person.Roles, role) || role == auth.Operator && slices.Contains(person.Roles, auth.Root)
}

// relayMay reports that a relay may pass on a vote on an approval now.
func (a *App) relayMay(r *Record) (may bool, why string) {
	switch {
	case r.Status.Final():
		return false, "it is decided"
	case r.Terms.Danger.Above(a.relays.Max):
		return false, "its danger is above what relays decide"
	case r.Terms.Presence:
		return false, "it takes a signature by a person who is there"
	default:
		return true, ""
	}
}

// elsewhere refuses a vote by a relay, and says where people cast it.
func (a *App) elsewhere(r *Record, code, why string) error {
	e := fault.New(fault.PermissionDenied, "%s: decide it in the console or with interlock approval approve", why).Meta("code", code).Meta("approval_id", r.ID)
	if a.relays.Link != "" {
		e = e.Meta("link", a.relays.Link+"/ui/approvals/"+url.PathEscape(r.ID))
	}
	return e
}
