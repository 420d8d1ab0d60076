package workflow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Options change the requirements on a definition.
type Options struct {
	// Strict makes every warning an error (`--strict`).
	Strict bool
	// Known reports whether a workflow of that id exists, for invoke; nil knows none.
	Known func(id string) bool
}

// Parse reads and validates a definition in JSON with the default options.
func Parse(src []byte) (*Definition, document.Problems) { return Options{}.Parse(src) }

// ParseYAML reads and validates a definition in YAML with the default options.
func ParseYAML(src []byte) (*Definition, document.Problems) { return Options{}.ParseYAML(src) }

// ParseValue validates a definition that has been read, with the default
// options.
func ParseValue(v document.Value) (*Definition, document.Problems) { return Options{}.ParseValue(v) }

// Parse reads a definition in JSON and reports all that is wrong with it at
// once (S1.2), sorted by pointer. The definition is nil when there is an error
// among the problems; warnings leave it usable.
func (o Options) Parse(src []byte) (*Definition, document.Problems) {
	v, problems := document.ParseAll(src, document.Limits{})
	return o.readDefinition(v, problems)
}

// ParseYAML does the work of Parse for YAML (S1.1). Pointers are those of the same
// document in JSON.
func (o Options) ParseYAML(src []byte) (*Definition, document.Problems) {
	v, problems := document.FromYAML(src)
	return o.readDefinition(v, problems)
}

// ParseValue does the work of Parse for a document that has been read.
func (o Options) ParseValue(v document.Value) (*Definition, document.Problems) {
	return o.readDefinition(v, nil)
}

func (o Options) readDefinition(v document.Value, problems document.Problems) (*Definition, document.Problems) {
	r := &reader{options: o}
	r.report.Add(problems...)
	if !v.IsZero() || len(problems) == 0 {
		r.definition(v)
	}
	found := r.report.Problems()
	if o.Strict {
		found = found.Strict()
	}
	if found.HasErrors() {
		return nil, found
	}
	return &r.def, found
}

// Bounds that keep one definition from costing more than any real one (TOO_MANY).
const (
	maxStates       = 10_000
	maxGuards       = 10_000
	maxInterrupts   = 1_000
	maxEvents       = 1_000 // of one state
	maxItems        = 1_000 // of one list
	maxForkBranches = 256   // of one fork
	maxForks        = 500   // branches of all forks together
	maxBypassChecks = 1_000 // states with both safe_next and an approval
)

// Sections of a definition that the reader reads, each with the rules of its own, and the checks of the graph.
type (
	stateSection      struct{ *reader }
	transitionSection struct{ *reader }
	guardSection      struct{ *reader }
	evidenceSection   struct{ *reader }
	metaSection       struct{ *reader }
	graphCheck        struct{ *reader }
)

func (r *reader) statePart() stateSection           { return stateSection{r} }
func (r *reader) transitionPart() transitionSection { return transitionSection{r} }
func (r *reader) guardPart() guardSection           { return guardSection{r} }
func (r *reader) evidencePart() evidenceSection     { return evidenceSection{r} }
func (r *reader) metaPart() metaSection             { return metaSection{r} }
func (r *reader) graphPart() graphCheck             { return graphCheck{r} }

// reader turns a document into a Definition and collects its problems. It first
// learns the names of states and guards, then reads every field and remembers
// where one state leads to another, then looks at the graph.
type reader struct {
	options Options
	report  document.Report
	def     Definition

	states map[string]int // by name, place in def.States and facts
	facts  []stateFacts
	guards map[string]bool
	// evidence has the declared names, true of those that a guard asks for; approvals are
	// those that an evidence names.
	evidence  map[string]bool
	approvals []document.StringAt
	// demanding are the states with no_unknown_effects.
	demanding  []string
	toolNames  toolname.Names
	edges      []edge
	forks      []forkFacts
	ended      []endedByEvent
	handlers   []handlerFacts
	returns    []returnFacts
	initial    int
	stateOrder []string

	// expires is the target of the deadline; without a place for none.
	expires endFacts

	forkBranches int
	// defaultModel is the hint of states that have none (meta.default_model).
	defaultModel string
}

var (
	topFields = []string{"$schema", "id", "initial", "context", "inputs", "states", "guards", "evidence", "interrupts", "meta", "properties", "requires", "windows", "freeze"}
	// annotations are fields that people write on top of a document for other
	// people and programs. Everything else there is refused: it may be a mistake
	// that drops protection.
	annotations = []string{
		"$comment", "$id", "author", "authors", "comment", "comments", "created_at", "createdAt", "description", "labels",
		"license", "model", "name", "notes", "owner", "tags", "thinking_level", "title", "updated_at", "updatedAt", "version",
	}
)

func (r *reader) definition(v document.Value) {
	f, ok := r.report.Object(v, nil, "a workflow")
	if !ok {
		return
	}
	r.topFields(f)
	r.id(f)
	f.Str("$schema") // any URL, never fetched (S1.7)
	r.requires(f)
	f.Require("initial", "states")
	states, haveStates := f.Object("states")
	r.statePart().learnStates(states)
	r.evidencePart().learnEvidence(f)
	r.guardPart().guardDefinitions(f)
	r.context(f)
	r.inputs(f)
	r.def.Windows = condition.ReadWindows(f)
	r.metaPart().meta(f)
	r.evidencePart().evidenceDeclarations(f)
	for i, name := range r.stateOrder {
		value, _ := states.Value.Get(name)
		r.statePart().state(i, name, value, states.At.Key(name))
	}
	r.timePart().freeze(f)
	r.initialState(f, haveStates)
	r.transitionPart().interrupts(f)
	r.evidencePart().checkApprovals()
	r.evidencePart().checkDemands()
	r.properties(f)
	if haveStates {
		r.graphPart().graph(states.At)
	}
}

// features are names that "requires" can list: parts of the language that this version enforces.
var features = []string{
	"approvals", "branches", "commands", "conditions", "effects", "evidence", "inputs", "interrupts", "invoke", "jail", "policies", "properties", "read_tools", "time",
}

// requires refuses a document that names a feature which this version does not enforce (S1.4).
func (r *reader) requires(f document.Fields) {
	listed, _ := f.Strings("requires", maxItems)
	for _, item := range listed {
		if !slices.Contains(features, item.Text) {
			r.report.Errorf(item.At, document.CodeEnum, "this version of Interlock does not know the feature %s; known: %s. Use a newer version, or remove it",
				document.Quote(item.Text), strings.Join(features, ", "))
		}
	}
}

func (r *reader) topFields(f document.Fields) {
	for name := range f.Value.Members() {
		at := f.At.Key(name)
		known, near := document.NearField(name, topFields)
		switch {
		case slices.Contains(topFields, name):
		case slices.Contains(annotations, name):
			r.report.Hint(at, name)
		case near:
			r.report.Errorf(at, document.CodeUnknownField, "a workflow has no field %s; did you mean %q?", document.Quote(name), known)
		case strings.HasPrefix(name, "x-"):
		default:
			r.report.Errorf(at, document.CodeUnknownField, "a workflow has no field %s; remove it, or begin its name with x- to keep it as a note",
				document.Quote(name))
		}
	}
}

var (
	idRule    = document.NameRule{What: "workflow", Printable: true, Refuse: "/\\*>"}
	stateRule = document.NameRule{What: "state", Prefix: branchDone}
	guardRule = document.NameRule{What: "guard", Prefix: branchDone}
	eventRule = document.NameRule{What: "event", Prefix: branchDone, Spaces: true}
	forkRule  = document.NameRule{What: "branch", Prefix: branchDone}
	otherRule = document.NameRule{What: "interrupt", Prefix: branchDone}
)

// branchDone begins the events that the engine itself understands (S5.2).
const branchDone = "BRANCH_DONE"

func (r *reader) id(f document.Fields) {
	f.Require("id")
	if id, ok := f.Str("id"); ok {
		r.report.CheckName(id, f.At.Key("id"), idRule)
		r.def.ID = id
	}
}

func (r *reader) context(f document.Fields) {
	r.def.Context = document.ObjectValue(nil)
	if context, ok := f.Object("context"); ok {
		r.reservedKeys(context)
		r.def.Context = context.Value
	}
}

// reservedKeys reports keys of initial data that no agent could write either:
// the engine keeps its own facts out of the context (S2.6), and keys that other
// languages give a meaning to are refused.
func (r *reader) reservedKeys(f document.Fields) {
	for name, v := range f.Value.Members() {
		if reservedKey(name) {
			r.report.Errorf(f.At.Key(name), document.CodeReserved,
				"the key %s is reserved; choose one that begins with a letter", document.Quote(name))
		}
		r.prototypes(v, f.At, name)
	}
}

// prototypes reports __proto__ at any depth.
func (r *reader) prototypes(v document.Value, up *document.Path, name string) {
	if v.Len() == 0 {
		return
	}
	at := up.Key(name)
	for i, e := range v.Elements() {
		r.prototypes(e, at, strconv.Itoa(i))
	}
	for key, e := range v.Members() {
		if key == "__proto__" {
			r.report.Errorf(at.Key(key), document.CodeReserved, "the key \"__proto__\" is reserved; choose another")
		}
		r.prototypes(e, at, key)
	}
}

func reservedKey(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "$") || name == "constructor" || name == "prototype"
}

func (r *reader) initialState(f document.Fields, haveStates bool) {
	r.initial = unknownState
	name, ok := f.Str("initial")
	if !ok || !haveStates {
		return
	}
	at := f.At.Key("initial")
	r.def.Initial = name
	if r.initial = r.lookup(name, at); r.initial >= 0 && r.facts[r.initial].final {
		r.report.Errorf(at, CodeInitialFinal, "the initial state %q is final, so a run would end at once; begin elsewhere", name)
	}
}

// Places that are no state.
const (
	unknownState = -1
	returnState  = -2
)

// lookup finds the state that a field names, or reports UNKNOWN_STATE, or
// RETURN_OUTSIDE for a $return where none can be.
func (r *reader) lookup(name string, at *document.Path) int {
	if name == ReturnTarget {
		r.report.Errorf(at, CodeReturnOutside, "%q can only be the target of a transition in an interrupt's handler; name a state", ReturnTarget)
		return unknownState
	}
	if i, ok := r.states[name]; ok {
		return i
	}
	r.report.Errorf(at, CodeUnknownState, "no state %s%s", document.Quote(name), r.stateHint(name))
	return unknownState
}

func (r *reader) stateHint(name string) string {
	if strings.HasPrefix(name, "$") {
		return r.report.DidYouMean(name, slices.Values([]string{ReturnTarget}))
	}
	if hint := r.report.DidYouMean(name, slices.Values(r.stateOrder)); hint != "" {
		return hint
	}
	return "; add it to \"states\", or name another"
}
