package auth

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Human is the person on whose behalf a caller acts. It is not changed after it was made.
type Human struct {
	// Name is unique among people, and Issuer is who vouches for it: an OpenID Connect issuer,
	// or empty for people of this deployment.
	Name, Issuer string
	// Subject is the issuer's own name of the person, which never changes; empty where there is no issuer.
	Subject string
	// Groups are the issuer's groups of the person. They count only if GroupsKnown is set: an
	// issuer can leave out the groups of a person who is in many.
	Groups      []string
	GroupsKnown bool
	// Attributes are the allowed claims: texts, numbers, bools and lists of texts.
	Attributes map[string]any
	// Source says how far the facts can be trusted.
	Source Source
	// AuthenticatedAt is when the person logged in; zero where that is not known. Expires is when the facts end. A person
	// whose facts have ended is unknown, not absent.
	AuthenticatedAt, Expires time.Time
}

// Source is the origin of facts about a person. A later one in the order of Sources is
// trusted more.
type Source string

// The sources of facts about people.
const (
	// Claimed facts come from an agent's token.
	Claimed Source = "claimed"
	// Gateway facts come from a caller that may speak for people.
	Gateway Source = "gateway"
	// Issuer facts come from a verified token of an OpenID Connect issuer.
	Issuer Source = "issuer"
	// Registered facts come from an operator: the person is an object of this deployment, or an
	// entry of the tokens file.
	Registered Source = "operator"
)

// Sources returns the sources, the least trusted first.
func Sources() []Source { return []Source{Claimed, Gateway, Issuer, Registered} }

// AtLeast reports whether facts of this source are trusted as much as those of least. An
// unknown source is trusted less than any other.
func (s Source) AtLeast(least Source) bool {
	at := slices.Index(Sources(), s)
	return at >= 0 && at >= slices.Index(Sources(), least)
}

// Kind is the kind of a token.
type Kind string

// The kinds of tokens.
const (
	// Static tokens are in a tokens file.
	Static Kind = "static"
	// OfSession tokens are bound to a session.
	OfSession Kind = "session"
	// OIDC tokens come from an OpenID Connect issuer.
	OIDC Kind = "oidc"
	// OfPerson tokens are short-lived, for a person who has logged in.
	OfPerson Kind = "person"
)

// Presence is how a person has shown to be there when their token was issued. The empty
// presence does not show it: all who can read a file may hold the token.
type Presence string

// The ways to show presence.
const (
	// ByPasskey is a WebAuthn assertion with user verification.
	ByPasskey Presence = "passkey"
	// ByTouch is a signature of a FIDO security key that needed a touch, as SSH makes it.
	ByTouch Presence = "touch"
	// ByPassphrase is a passphrase typed at a terminal.
	ByPassphrase Presence = "passphrase"
	// ByIssuer is a log-in at an OpenID Connect issuer.
	ByIssuer Presence = "oidc"
)

// Namespaces is a set of namespaces as one comparable text; make it with NamespacesOf.
type Namespaces string

// AllNamespaces is every namespace, present and future.
const AllNamespaces Namespaces = "*"

// NamespacesOf returns the set of the names; one that is "*" makes it AllNamespaces.
func NamespacesOf(names ...string) Namespaces {
	if slices.Contains(names, string(AllNamespaces)) {
		return AllNamespaces
	}
	return Namespaces(strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), " "))
}

// Has reports whether the set has the namespace. The empty set has none.
func (n Namespaces) Has(namespace string) bool {
	if n == AllNamespaces {
		return namespace != ""
	}
	return namespace != "" && slices.Contains(n.List(), namespace)
}

// List returns the names, sorted; for AllNamespaces, its only name is "*".
func (n Namespaces) List() []string { return strings.Fields(string(n)) }

// Only returns the one namespace of a set of one; empty for any other set.
func (n Namespaces) Only() string {
	if names := n.List(); len(names) == 1 && n != AllNamespaces {
		return names[0]
	}
	return ""
}

// Humans is an Authenticator that knows the person of a token, also of one without rights here.
type Humans interface {
	// Human returns the person of a token: ErrUnauthenticated for one that it does not know, or that is
	// no person's.
	Human(ctx context.Context, token string) (*Human, error)
}

// HumanOf returns the person that a token proves, for a caller who acts on their behalf. An authenticator that is no Humans
// knows people by their tokens of the kind OfPerson.
func HumanOf(ctx context.Context, a Authenticator, token string) (*Human, error) {
	if a == nil {
		return nil, ErrUnauthenticated
	}
	if knows, ok := a.(Humans); ok {
		return knows.Human(ctx, token)
	}
	p, err := a.Authenticate(ctx, token)
	if err != nil {
		return nil, err
	}
	if p.Kind != OfPerson || p.Human == nil {
		return nil, Refused("it is the token of %q, which is no person's; send one of an OpenID Connect issuer, or of `interlock login`", p.Name)
	}
	return p.Human, nil
}
