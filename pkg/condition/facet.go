package condition

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Facts give a condition the values of one call that it compares. The one who decides makes them for each call and
// shares them among the state, the policies, the lease and the evidence, so that each facet is
// computed once.
type Facts interface {
	// Input returns the arguments of the call, an Object; ok is false when they cannot be
	// read, and then every pointer is in doubt.
	Input() (input document.Value, ok bool)
	// Facet returns the values of one facet. A facet that the implementation does
	// not know is not Known.
	Facet(Facet) Set
}

// Facet names one side of a call, such as the files that it writes (S21.5).
type Facet string

// The facets. Those with a dot are parts of one program's or language's facet.
const (
	// Reads, Writes and Files are the files that a call reads, changes, or either.
	Reads  Facet = "reads"
	Writes Facet = "writes"
	Files  Facet = "files"
	// Host, Port, Scheme, Method and URLPath are those of every URL; IP has the hosts that are
	// addresses.
	Host    Facet = "host"
	Port    Facet = "port"
	Scheme  Facet = "scheme"
	Method  Facet = "method"
	URLPath Facet = "path"
	IP      Facet = "ip"
	// Command has every simple command of a command line.
	Command Facet = "command"
	// CommandShown has the simple commands and redirections that the text of a line shows. What the line hides puts it in no doubt, so
	// it cannot allow.
	CommandShown Facet = "command.shown"
	// SQLKinds are select, insert, update, delete, merge, ddl, grant, call, copy, set,
	// transaction and other, of all statements.
	SQLKinds      Facet = "sql.kinds"
	SQLTables     Facet = "sql.tables"
	SQLFunctions  Facet = "sql.functions"
	SQLStatements Facet = "sql.statements"
	GitVerb       Facet = "git.verb"
	GitRefs       Facet = "git.refs"
	GitRemote     Facet = "git.remote"
	GitForce      Facet = "git.force"
	GitDelete     Facet = "git.delete"
	K8sVerb       Facet = "k8s.verb"
	K8sResource   Facet = "k8s.resource"
	K8sNamespace  Facet = "k8s.namespace"
	K8sName       Facet = "k8s.name"
	K8sContext    Facet = "k8s.context"
	// Recipients and Senders are addresses of mail.
	Recipients Facet = "recipients"
	Senders    Facet = "senders"
	// Money is an exact amount in the major unit of one currency.
	Money Facet = "money"
	// Time has the names of the windows that the time of the decision is in.
	Time Facet = "time"
	// CallerName, CallerRole and CallerNamespace are those of the token.
	CallerName      Facet = "caller.name"
	CallerRole      Facet = "caller.role"
	CallerNamespace Facet = "caller.namespace"
	// CallerToken is the kind of its token, CallerVia how the call came, and CallerBound says whether the token is of one session.
	CallerToken Facet = "caller.token"
	CallerVia   Facet = "caller.via"
	CallerBound Facet = "caller.bound"
	// HumanName and the following are of the person on whose behalf the call is made; see also humanAttribute.
	HumanName   Facet = "human.name"
	HumanIssuer Facet = "human.issuer"
	HumanGroups Facet = "human.groups"
	HumanSource Facet = "human.source"
	// HumanAge is how many seconds ago that person logged in.
	HumanAge Facet = "human.authenticated_age"
	// AgentName and AgentVersion are of the agent that the session has started from.
	AgentName    Facet = "agent.name"
	AgentVersion Facet = "agent.version"
	// SessionDepth is 0 for a session that no other has started.
	SessionDepth Facet = "session.depth"
	SessionRoot  Facet = "session.root"
	// RunState and RunWorkflow are where the run is.
	RunState    Facet = "state"
	RunWorkflow Facet = "workflow"
)

// humanAttribute begins the facets of attributes of the human, which the deployment names.
const humanAttribute = "human.attributes."

// sessionLabel begins the facets of labels of the session.
const sessionLabel = "session.labels."

// Label returns the name of the session's label that a facet is; ok is false for any other facet.
func (f Facet) Label() (name string, ok bool) {
	name, ok = strings.CutPrefix(string(f), sessionLabel)
	return name, ok && name != ""
}

// Attribute returns the name of the human's attribute that a facet is; ok is false for any other facet.
func (f Facet) Attribute() (name string, ok bool) {
	name, ok = strings.CutPrefix(string(f), humanAttribute)
	return name, ok && name != ""
}

// member reports a facet of which one value that matches is enough everywhere: whoever is in a group may be in others too.
func (f Facet) member() bool {
	_, attribute := f.Attribute()
	return attribute || f == HumanGroups
}

// Set has the values of a facet of one call. The zero Set is not known: every comparison with
// it is in doubt.
type Set struct {
	// Known is false when it cannot be said which values there are; Why says why, for people,
	// without a full stop. Values are then those that are certain: one that a restriction names
	// is enough for it.
	Known  bool
	Why    string
	Values []Element
}

// Element is one value of a Set.
type Element struct {
	// Value is a String, Number or Bool by the type of the facet. Paths are clean and relative
	// to the workspace, outside of it absolute; hosts are lower-case without a trailing dot.
	Value document.Value
	// Also are other readings of the same value: the real name of a path with links, the IPv4
	// address in an IPv6 address. A restriction matches if one reading does, an allowance needs
	// all.
	Also []document.Value
	// Full are readings for restrictions alone. Those of a path in the workspace are its absolute names, each behind //: which
	// folder the workspace is may be what an agent says. Those of a command are the ones that it may run in a container.
	Full []document.Value
	// Below is true for a folder that stands for everything under it.
	Below bool
	// Unsure is true when the value may not be part of the set. Restrictions look at it,
	// allowances do not.
	Unsure bool
	// Signed is true for an amount of money that may be below 0.
	Signed bool
}

// Unknown returns the Set of a facet that cannot be said.
func Unknown(why string) Set { return Set{Why: why} }

// KnownSet returns a Set of texts that is complete; of none, it is empty.
func KnownSet(values ...string) Set {
	s := Set{Known: true}
	for _, v := range values {
		s.Values = append(s.Values, Element{Value: document.StringValue(v)})
	}
	return s
}
