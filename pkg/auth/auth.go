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
	"slices"
)

// Role is the set of rights of a principal. The table in rbac.go defines it.
type Role string

// The five roles.
const (
	// Agent drives runs and asks for tool calls.
	Agent Role = "agent"
	// Operator may do all that an agent may, and make the repairs that agents may not.
	Operator Role = "operator"
	// Approver reads, and decides approvals.
	Approver Role = "approver"
	// Observer reads.
	Observer Role = "observer"
	// Runtime runs agents, and is trusted in its reports of their calls: hooks, the MCP
	// gate, a runtime of your own. In all else it is an agent.
	Runtime Role = "runtime"
	// Service is Interlock's own services, acting for themselves: it is given to no
	// person and no agent, and is not shown among the roles.
	Service Role = "service"
)

// Roles returns all roles, in the order in which they are shown.
func Roles() []Role { return []Role{Agent, Operator, Approver, Observer, Runtime} }

// Drives reports whether the role is one of those that stand for agents: they are held to
// the limits of agents.
func (r Role) Drives() bool { return r == Agent || r == Runtime }

// Valid reports whether the role is one of the five, or Service.
func (r Role) Valid() bool { return r == Service || slices.Contains(Roles(), r) }

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

// Observes reports whether a report of the caller was observed (S14.4): it is not an
// agent, or another that is not an agent vouches for the report.
func Observes(ctx context.Context) bool {
	caller, known := FromContext(ctx)
	witness, vouched := ctx.Value(witnessKey{}).(Principal)
	return known && caller.Role.observes() || vouched && witness.Role.observes()
}

func (r Role) observes() bool { return r == Runtime || r == Operator || r == Service }
