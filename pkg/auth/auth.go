// Package auth identifies callers and their rights: principals, the five roles, static
// tokens, and one table of which role may call which RPC. Tokens of sessions and of
// OpenID Connect issuers are in packages of their own.
//
// It denies every unknown token, role or RPC. It never logs or returns a token.
package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
)

// Role is the set of rights of a principal. The table in rbac.go defines it.
type Role = tokenfile.Role

// The roles: see package tokenfile.
const (
	Agent    = tokenfile.Agent
	Operator = tokenfile.Operator
	Approver = tokenfile.Approver
	Observer = tokenfile.Observer
	Runtime  = tokenfile.Runtime
	Relay    = tokenfile.Relay
	Root     = tokenfile.Root
	Service  = tokenfile.Service
)

// Roles returns all roles, in the order in which they are shown.
func Roles() []Role { return tokenfile.Roles() }

// GivenRoles returns the roles that an operator or an issuer can give: those of Roles, and Root, which no file gets
// by itself.
func GivenRoles() []Role { return append(Roles(), Root) }

// LocalRoles returns the roles that neither decide nor change rules: their tokens may be in a file
// that an agent's user can read (S23.2).
func LocalRoles() []Role { return tokenfile.LocalRoles() }

// Principal is an authenticated caller.
type Principal struct {
	// Name is unique among principals; history and approvals record it.
	Name string
	Role Role
	// Session, when not empty, is the only session that it may act in, and Branch,
	// when not empty, the only branch of that session's run.
	Session, Branch string
	// Parent, when not empty, is a session that the principal's own is below, whether or not it
	// was created there.
	Parent string
	// Namespace, when not empty, is the only namespace that it may call in. A
	// principal with a session has one: a session's name means another session in
	// another namespace.
	Namespace string
	// Namespaces are those that it may call in when Namespace is empty. A principal with
	// neither may call in each: services, and anonymous callers.
	Namespaces Namespaces
	// Kind is the kind of its token, and TokenID names the token without revealing it.
	Kind    Kind
	TokenID string
	// IssuedAt is when the token was made; zero where that is not known.
	IssuedAt time.Time
	// Expires is when the token ends; zero where that is not known.
	Expires time.Time
	// Person, when not empty, is the person that the caller is: votes are the person's, under
	// every token and identity. Presence is how the person has shown to be there.
	Person   string
	Presence Presence
	// Credential is the id of the key that the person has logged in with; empty where none is known.
	Credential string
	// ReadOnly: it calls only RPCs that Reads reports.
	ReadOnly bool
	// Relay, when not empty, is the program that passed on the person's request, and Identity
	// the name by which it knows the person: "slack:T01/U02".
	Relay, Identity string
	// Root: it may act on the whole deployment, and in every namespace.
	Root bool
	// Human is on whose behalf it acts; nil where that is not known.
	Human *Human
	// SpeaksFor: the people whom it names as those on whose behalf it acts are so by its word (Gateway). Of others, such
	// a name is a claim.
	SpeaksFor bool
}

// Rooted returns the principal with what the role root means: it is an operator of every namespace. A principal
// that is bound to a session or a namespace, or whose word another passes on, is an operator there, and not root.
func (p Principal) Rooted() Principal {
	if p.Role != Root {
		return p
	}
	p.Role = Operator
	if p.Session == "" && p.Parent == "" && p.Namespace == "" && p.Relay == "" {
		p.Root, p.Namespaces = true, AllNamespaces
	}
	return p
}

// Title returns the name of the principal's role, which is root for root.
func (p Principal) Title() Role {
	if p.Root {
		return Root
	}
	return p.Role
}

// MayCallIn reports whether the principal may call in a namespace.
func (p Principal) MayCallIn(namespace string) bool {
	switch {
	case p.Namespace != "":
		return namespace == p.Namespace
	case p.Namespaces != "":
		return p.Namespaces.Has(namespace)
	default:
		return true
	}
}

// HomeNamespace returns the namespace of a request that names none; empty for the default one.
func (p Principal) HomeNamespace() string {
	if p.Namespace != "" {
		return p.Namespace
	}
	return p.Namespaces.Only()
}

// ErrUnauthenticated means that the credentials are not known.
var ErrUnauthenticated = errors.New("auth: unknown credentials")

// Refused returns ErrUnauthenticated with a reason that its caller may see, for tokens of
// a known kind. It must not quote the token.
func Refused(format string, args ...any) error {
	return &Refusal{Why: fmt.Sprintf(format, args...)}
}

// Refusal is the error of Refused.
type Refusal struct {
	// Why is a clause for the caller: "it has expired; mint another".
	Why string
}

// Error implements error.
func (r *Refusal) Error() string { return "auth: the token is refused: " + r.Why }

// Is makes it an ErrUnauthenticated.
func (r *Refusal) Is(target error) bool { return target == ErrUnauthenticated }

// Authenticator identifies the caller that presents a bearer token. An error that is
// ErrUnauthenticated means an unknown token; any other error means that the check failed.
// Both deny. It is safe for concurrent use.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Principal, error)
}

type principalKey struct{}

// WithPrincipal returns ctx with its caller.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the caller; ok is false when the caller was not authenticated.
func FromContext(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(principalKey{}).(Principal)
	return p, ok
}

type witnessKey struct{}

// WithWitness returns ctx with a principal that vouches for the reports of the caller.
func WithWitness(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, witnessKey{}, p)
}

// Vouched reports whether a report of the caller counts as observed (S14.4): it is not an
// agent, or another that is not an agent vouches for the report.
func Vouched(ctx context.Context) bool {
	caller, known := FromContext(ctx)
	witness, vouched := ctx.Value(witnessKey{}).(Principal)
	return known && vouches(caller.Role) || vouched && vouches(witness.Role)
}

func vouches(r Role) bool { return r == Runtime || r == Operator || r == Service }
