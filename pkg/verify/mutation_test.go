package verify_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// mutant is a definition with one thing changed that somebody could change by mistake.
type mutant struct {
	of   string
	kind string
	what string
	text []byte
}

type fields = map[string]any

// mutants are all single changes of a definition, of the kinds that matter.
func mutants(t testing.TB, e *example) (all []mutant) {
	t.Helper()
	src := e.model.Main.Text.AppendJSON(nil)
	add := func(kind, what string, change func(fields) bool) {
		var def fields
		if err := json.Unmarshal(src, &def); err != nil {
			t.Fatal(err)
		}
		if !change(def) {
			return
		}
		text, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mutant{of: e.name, kind: kind, what: what, text: text})
	}
	var def fields
	if err := json.Unmarshal(src, &def); err != nil {
		t.Fatal(err)
	}
	states := def["states"].(fields)
	names := slices.Sorted(maps.Keys(states))
	state := func(def fields, name string) fields { return def["states"].(fields)[name].(fields) }
	for _, name := range names {
		s := states[name].(fields)
		if s["type"] == "final" {
			continue
		}
		for _, tool := range []string{"Edit", "Bash"} {
			if tools, restricted := s["allowed_tools"].([]any); restricted && !slices.Contains(tools, any(tool)) {
				add("tool added", name+" + "+tool, func(def fields) bool {
					s := state(def, name)
					s["allowed_tools"] = append(s["allowed_tools"].([]any), tool)
					return true
				})
			}
		}
		for _, p := range e.properties {
			if p.Subject.Command != "" && s["allowed_commands"] != nil {
				add("command added", name+" + "+p.Subject.Command, func(def fields) bool {
					s := state(def, name)
					s["allowed_commands"] = append(s["allowed_commands"].([]any), p.Subject.Command)
					return true
				})
			}
		}
		if s["max_iterations"] != nil {
			add("limit removed", name, func(def fields) bool { delete(state(def, name), "max_iterations"); return true })
		}
		calls, _ := s["calls"].([]any)
		for i := range calls {
			add("condition removed", fmt.Sprint(name, " ", i), func(def fields) bool {
				s := state(def, name)
				s["calls"] = slices.Delete(s["calls"].([]any), i, i+1)
				return true
			})
			for _, looks := range slices.Sorted(maps.Keys(calls[i].(fields)["only"].(fields))) {
				add("condition removed", fmt.Sprint(name, " ", i, " ", looks), func(def fields) bool {
					only := state(def, name)["calls"].([]any)[i].(fields)["only"].(fields)
					delete(only, looks)
					return len(only) > 0
				})
			}
		}
		on, key := s["on"], "on"
		if on == nil {
			on, key = s["answers"], "answers"
		}
		ways, _ := on.(fields)
		for _, event := range slices.Sorted(maps.Keys(ways)) {
			for _, field := range []string{"guard", "guards", "requires_approval", "action"} {
				kind := map[string]string{"guard": "guard dropped", "guards": "guard dropped", "requires_approval": "approval removed", "action": "approval removed"}[field]
				add(kind, name+" "+event+" "+field, func(def fields) bool { return drop(state(def, name)[key].(fields)[event], field) })
			}
		}
		if len(ways) > 0 {
			add("ways out removed", name, func(def fields) bool { state(def, name)[key] = fields{}; return true })
		}
		for _, to := range names {
			if target, _ := states[to].(fields); to == name || leadsTo(ways, to) || target["type"] == "final" && failing(to, target) {
				continue // what was possible before, or an end without success
			}
			add("transition added", name+" -> "+to, func(def fields) bool {
				s := state(def, name)
				if key == "answers" {
					s[key].(fields)["skip"] = fields{"next": to}
					return true
				}
				if s[key] == nil {
					s[key] = fields{}
				}
				s[key].(fields)["SKIP"] = to
				return true
			})
		}
	}
	if policy, ok := def["policy"].(fields); ok {
		for i := range policy["ask"].([]any) {
			add("policy rule removed", fmt.Sprint("ask ", i), func(def fields) bool {
				p := def["policy"].(fields)
				p["ask"] = slices.Delete(p["ask"].([]any), i, i+1)
				return true
			})
		}
	}
	if meta, ok := def["meta"].(fields); ok && meta["policy"] != nil {
		add("policy removed", "meta", func(def fields) bool { delete(def["meta"].(fields), "policy"); return true })
	}
	if meta, ok := def["meta"].(fields); ok && meta["enforcement"] != nil {
		add("enforcement removed", "meta", func(def fields) bool { delete(def["meta"].(fields), "enforcement"); return true })
	}
	return all
}

// leadsTo reports that a plain transition leads to a state already.
func leadsTo(ways fields, to string) bool {
	for _, way := range ways {
		if answer, ok := way.(fields); way == to || ok && answer["next"] == to && answer["action"] == nil {
			return true
		}
	}
	return false
}

func failing(name string, state fields) bool {
	return state["outcome"] == "failure" || slices.Contains([]string{"failed", "failure", "error", "aborted", "blocked", "rejected", "cancelled"}, name)
}

// drop removes a field of a transition, or of the first branch that has it.
func drop(way any, field string) bool {
	switch w := way.(type) {
	case fields:
		if w[field] == nil || field == "action" && w[field] != "notify_human" {
			return false
		}
		delete(w, field)
		return true
	case []any:
		for _, branch := range w {
			if drop(branch, field) {
				return true
			}
		}
	}
	return false
}

// killedBy are the properties that a mutant does not keep; nil where the product refuses
// the mutant itself.
func (m *mutant) killedBy(t testing.TB, e *example) (by []string, refused bool) {
	v, problems := document.ParseAll(m.text, document.Limits{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var d verify.Definition
	if process.Is(v) {
		def, problems := process.ParseValue(v)
		if problems.HasErrors() {
			return nil, true
		}
		p := process.Compile(def, 1)
		d = verify.Definition{Machine: p.Machine(), Process: p, Text: v}
	} else {
		def, problems := workflow.ParseValue(v)
		if problems.HasErrors() {
			return nil, true
		}
		d = verify.Definition{Machine: workflow.Compile(def, 1), Text: v}
	}
	changed := *e.model
	changed.Main = d
	changed.Policies = slices.DeleteFunc(slices.Clone(changed.Policies), func(p verify.Policy) bool { return !names(d, p.Text) })
	for _, r := range verify.Check(&changed, e.properties, verify.Options{MaxStates: 100_000}).Results {
		if r.Verdict != verify.Proved {
			by = append(by, r.Property.Name)
		}
	}
	return by, false
}

// unseenBecause says of one mutant what it newly allows, of which no property speaks: by the
// plan of a move to it.
func (m *mutant) unseenBecause(t testing.TB, e *example) (why, kind string) {
	if e.model.Main.Process != nil || m.kind == "policy rule removed" {
		return "of a process or a policy, which plans do not compare", "are of processes and policies, which plans do not compare"
	}
	def, problems := workflow.Parse(m.text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	plan := migrate.New(&migrate.Migration{From: e.model.Main.Machine, To: workflow.Compile(def, 2)}, explore.Bounds{MaxStates: 300})
	switch {
	case len(plan.Gains) > 0:
		return "it newly allows " + plan.Gains[0].String(), "newly allow what no property speaks of, and a plan shows it"
	case plan.Verdict == verify.Proved:
		return "it allows nothing new", "allow nothing new"
	default:
		return plan.Reason, "are not decided by 300 pairs"
	}
}

// unseen says of a kind of change why properties may not see it.
var unseen = map[string]string{
	"tool added":          "no property is about the tool, or the tool runs nothing there",
	"command added":       "the property admits the command there",
	"limit removed":       "no property counts calls",
	"guard dropped":       "no property asks for what the guard asks for",
	"ways out removed":    "no run comes there, or the product itself ends it",
	"condition removed":   "no property is about what the condition asks for",
	"policy removed":      "no property is about what the policy asks for",
	"policy rule removed": "no property is about what the rule asks for",
	"transition added":    "it leads nowhere that a property asks anything for",
	"approval removed":    "no property asks for the approval",
}

// TestMutations changes the examples in every small way, and counts how many changes a
// property sees. Every property sees at least one of them.
func TestMutations(t *testing.T) {
	t.Parallel()
	r := randtest.New(t, 3)
	type tally struct{ seen, all, refused int }
	total, kinds := tally{}, map[string]*tally{}
	var missed []string
	reasons := map[string]int{}
	for _, e := range examples(t) {
		all := mutants(t, &e)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		caught := map[string]bool{}
		for i := range all {
			names, refused := all[i].killedBy(t, &e)
			k := kinds[all[i].kind]
			if k == nil {
				k = &tally{}
				kinds[all[i].kind] = k
			}
			if refused {
				k.refused++
				continue
			}
			k.all++
			total.all++
			for _, name := range names {
				caught[name] = true
			}
			if len(names) > 0 {
				k.seen++
				total.seen++
			} else {
				why, reason := all[i].unseenBecause(t, &e)
				reasons[reason]++
				missed = append(missed, fmt.Sprintf("%s: %s: %s (%s: %s)", e.name, all[i].kind, all[i].what, unseen[all[i].kind], why))
			}
		}
		for _, p := range e.properties {
			if !caught[p.Name] && p.Kind != workflow.CanBeDecided && !dull(e.name) && (e.model.Main.Process == nil || p.Kind != workflow.AlwaysPossible) {
				t.Errorf("%s: no mutation breaks %q", e.name, p.Name)
			}
		}
	}
	// A process without answers in a state ends there, so that it can always end.
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[kind]
		t.Logf("%-22s %3d of %3d seen; %d more are not valid", kind, k.seen, k.all, k.refused)
	}
	t.Logf("%d of %d mutations are seen by a property", total.seen, total.all)
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("of those that are not seen %3d %s", reasons[reason], reason)
	}
	t.Logf("not seen:\n%s", strings.Join(missed, "\n"))
	if total.all < 300 || total.seen*3 < total.all {
		t.Errorf("%d of %d mutations are seen", total.seen, total.all)
	}
}

// dull are examples of so few states that a single change leaves a way out, or that a
// change is refused.
func dull(name string) bool { return strings.HasPrefix(name, "language/") }
