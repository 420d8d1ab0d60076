package tokenfile

import "slices"

// Role is the set of rights of a principal. Package auth has the table of them.
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
	// Relay passes on what people decide elsewhere, such as in a chat: it reads approvals, and decides
	// only as an identity of a person.
	Relay Role = "relay"
	// Root is an operator in every namespace, and the only one who acts on the whole deployment. A
	// principal with it has the role Operator, and Root set: see Principal.Rooted.
	Root Role = "root"
	// Service is Interlock's own services, acting for themselves: it is given to no
	// person and no agent, and is not shown among the roles.
	Service Role = "service"
)

// Roles returns all roles, in the order in which they are shown.
func Roles() []Role { return []Role{Agent, Operator, Approver, Observer, Runtime} }

// LocalRoles returns the roles that neither decide nor change rules: their tokens may be in a file
// that an agent's user can read (S23.2).
func LocalRoles() []Role { return []Role{Agent, Observer, Runtime} }

// Local reports whether the role is one of LocalRoles.
func (r Role) Local() bool { return slices.Contains(LocalRoles(), r) }

// Drives reports whether the role is one of those that stand for agents: they are held to
// the limits of agents.
func (r Role) Drives() bool { return r == Agent || r == Runtime }

// Valid reports whether the role is one of the five, Root, Relay or Service.
func (r Role) Valid() bool {
	return r == Root || r == Relay || r == Service || slices.Contains(Roles(), r)
}
