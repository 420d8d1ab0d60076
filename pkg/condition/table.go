package condition

import (
	"maps"
	"slices"
	"strings"
)

// Type says how the values of a facet are compared, and so which operators it has.
type Type uint8

// The types of facets. NoType is that of a facet that does not exist.
const (
	NoType Type = iota
	// PathType has files and folders, compared with globs.
	PathType
	// HostType has hosts, compared with names and with *.example.com for the hosts below it.
	HostType
	// NetworkType has IP addresses, compared with addresses, CIDRs and names of networks.
	NetworkType
	// NameType has texts, compared with patterns in which * is any text.
	NameType
	// SchemaType has names in a schema, compared as those of NameType.
	SchemaType
	// WordType has words of a fixed form, compared exactly.
	WordType
	// RefType has full names of git refs, compared with globs.
	RefType
	// RouteType has paths of URLs, compared with patterns in which * is any text.
	RouteType
	// CommandType has simple commands, compared with entries of allowed_commands.
	CommandType
	// MailType has addresses of mail, compared with addresses and *@example.com.
	MailType
	// NumberType has numbers, AmountType an amount of money, which is in doubt below 0.
	NumberType
	AmountType
	BoolType
	// WindowType has the names of the windows that the time is in.
	WindowType
)

// facets is the table of the language: a facet that is not in it does not exist.
var facets = map[Facet]Type{
	Reads: PathType, Writes: PathType, Files: PathType,
	Host: HostType, Port: NumberType, Scheme: WordType, Method: WordType, URLPath: RouteType, IP: NetworkType,
	Command: CommandType, CommandShown: CommandType,
	SQLKinds: WordType, SQLTables: SchemaType, SQLFunctions: SchemaType, SQLStatements: NumberType,
	GitVerb: WordType, GitRefs: RefType, GitRemote: NameType, GitForce: BoolType, GitDelete: BoolType,
	K8sVerb: WordType, K8sResource: NameType, K8sNamespace: NameType, K8sName: NameType, K8sContext: NameType,
	Recipients: MailType, Senders: MailType,
	Money:      AmountType,
	Time:       WindowType,
	CallerName: NameType, CallerRole: WordType, CallerNamespace: NameType,
	CallerToken: WordType, CallerVia: WordType, CallerBound: BoolType,
	HumanName: NameType, HumanIssuer: WordType, HumanGroups: WordType, HumanSource: WordType, HumanAge: NumberType,
	AgentName: NameType, AgentVersion: NumberType,
	SessionDepth: NumberType, SessionRoot: NameType,
	RunState: NameType, RunWorkflow: NameType,
}

// Facets returns every facet, sorted.
func Facets() []Facet { return slices.Sorted(maps.Keys(facets)) }

// Type returns the type of the facet, NoType for one that does not exist.
func (f Facet) Type() Type {
	if _, ok := f.Attribute(); ok {
		return NameType
	}
	if _, ok := f.Label(); ok {
		return NameType
	}
	return facets[f]
}

// words are the values that a facet of WordType can have, where they are few; a literal that is none
// of them never matches.
var words = map[Facet][]string{
	Scheme: {"http", "https", "ws", "wss", "ssh", "git", "ftp", "file"},
	Method: {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"},
	SQLKinds: {
		"select", "insert", "update", "delete", "merge", "ddl", "grant", "call", "copy", "set", "transaction", "other",
	},
	CallerToken: {"static", "session", "oidc", "person"},
	CallerVia:   {"hook", "mcp", "rest", "grpc", "authzen", "ext_authz"},
	HumanSource: {"claimed", "gateway", "issuer", "operator"},
	CallerRole:  {"agent", "operator", "approver", "observer", "runtime", "service"},
}

// operator is the name of one comparison in a matcher.
type operator uint8

const (
	noOperator operator = iota
	opEq
	opNeq
	opGt
	opGte
	opLt
	opLte
	opIn
	opContains
	opLike
	opWithin
	opLength
	opBytes
	opCount
	opExists
	opNotExists
	opEach
	opOr
)

var operators = map[string]operator{
	"eq": opEq, "neq": opNeq, "gt": opGt, "gte": opGte, "lt": opLt, "lte": opLte, "in": opIn, "contains": opContains,
	"like": opLike, "within": opWithin, "length": opLength, "bytes": opBytes, "count": opCount,
	"exists": opExists, "not_exists": opNotExists, "each": opEach, "or": opOr,
}

// Operators of the kinds of keys, as they are listed in messages. Every set can be counted.
var (
	ofSets     = []string{"count", "each", "exists", "not_exists", "or"}
	ofNumbers  = []string{"eq", "neq", "in", "gt", "gte", "lt", "lte"}
	ofPatterns = []string{"eq", "neq", "in", "within"}
	ofTexts    = []string{"eq", "neq", "in", "like", "contains"}

	ofPointer  = slices.Concat(ofNumbers, []string{"like", "contains", "length", "bytes"}, ofSets)
	ofAnywhere = []string{"eq", "in", "like", "contains", "length", "bytes"}
)

// operatorNames returns the names of the operators that a type has.
func (t Type) operatorNames() []string {
	switch t {
	case NumberType, AmountType:
		return slices.Concat(ofNumbers, ofSets)
	case BoolType:
		return slices.Concat([]string{"eq", "neq"}, ofSets)
	case WordType:
		return slices.Concat([]string{"eq", "neq", "in"}, ofSets)
	case WindowType:
		return []string{"eq", "neq", "in", "within"}
	case NameType, SchemaType, RouteType:
		return slices.Concat(ofTexts, ofSets)
	case CommandType:
		return slices.Concat(ofPatterns, []string{"like"}, ofSets)
	default:
		return slices.Concat(ofPatterns, ofSets)
	}
}

// patterned reports a type whose literals are patterns.
func (t Type) patterned() bool {
	switch t {
	case PathType, HostType, NetworkType, NameType, SchemaType, RefType, RouteType, CommandType, MailType:
		return true
	default:
		return false
	}
}

// parent returns the program or language of a facet with a dot: "git" of "git.force".
func parent(key string) string {
	name, _, _ := strings.Cut(key, ".")
	return name
}

// Confidential reports a key that is about the time, the caller, its human, its agent or the session. Agents do not learn
// such facts: they could find out the rules by trying.
func Confidential(key string) bool {
	switch parent(key) {
	case string(Time), "caller", "session", "human", "agent":
		return true
	default:
		return false
	}
}
