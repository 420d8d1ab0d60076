// Package suggest finds the permissions of a workflow that recorded runs did not need.
//
// It is pure: definitions and records in, proposals out.
package suggest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Proposal is one line of a suggestion: something of a state that the runs did not need.
type Proposal struct {
	State string
	// Field of the state, such as "allowed_tools".
	Field string
	// Was and Is are the present and the proposed value: JSON, Is empty if there is none.
	Was, Is string
	// Why says how much was seen.
	Why string
	// Runs are those that speak for it: all that were in the state.
	Runs []string
}

// Suggestion is the tightest definition under which runs would have gone the same way.
type Suggestion struct {
	Definition document.Value
	Proposals  []Proposal
	// Left lists the states with no proposal, or a smaller one, and why.
	Left []string
	// Runs are those that were looked at: those that the definition itself replays without a
	// difference, but for limits.
	Runs int
	// Kept are these runs.
	Kept []*conform.Trace
	// Verdict tells whether the suggestion is proved to give no new right.
	Verdict verify.Verdict
	// Cut are runs in which a limit of the suggestion would have refused a call. The rest of
	// them was replayed as if it had not.
	Cut []string
}

// Options say how much must speak for a proposal.
type Options struct {
	// MinRuns must have been in a state before anything is proposed for it.
	MinRuns int
	// DropTransitions removes transitions that were never taken, too.
	DropTransitions bool
	// Conditions proposes conditions on the inputs of calls, too. Agents choose these inputs, so a person must
	// read the conditions.
	Conditions bool
	// MaxStates bounds the proof that the suggestion gives no new right; 0 means DefaultStates.
	MaxStates int
}

// Definition finds the parts of a definition that recorded runs did not need: tools that were never
// allowed to be called, wider commands than were run, more calls, larger edits and more files
// than 99 of 100 needed, and with an option transitions that were not taken. It only narrows the
// definition; states stay. A proposal that would have changed a decision of one of the runs is
// taken back, but for limits. version is the number that the definition has.
func Definition(text document.Value, version int64, traces []*conform.Trace, o Options) (*Suggestion, error) {
	m, err := compiled(text, version)
	if err != nil {
		return nil, err
	}
	s := &suggester{o: o, text: text, seen: map[string]*seenIn{}, out: &Suggestion{}}
	if s.measure, err = measuring(text, m, version); err != nil {
		return nil, err
	}
	var kept []*conform.Trace
	for _, t := range traces {
		if out := conform.Replay(t, &conform.Candidate{Machine: m, LimitsAsRecorded: true}); out.First == nil && out.Open[conform.OpenFrontier] == 0 {
			kept = append(kept, t)
			s.look(m, t)
		}
	}
	s.out.Runs, s.out.Kept = len(kept), kept
	var all []Proposal
	for i := range m.Definition().States {
		if state := m.State(m.Definition().States[i].Name); !state.Final {
			all = append(all, s.propose(m, state)...)
		}
	}
	return s.settle(m, version, all, kept)
}

func compiled(text document.Value, version int64) (*workflow.Machine, error) {
	def, problems := workflow.Parse(text.AppendJSON(nil))
	if problems.HasErrors() {
		return nil, problems.Err()
	}
	return workflow.Compile(def, version), nil
}

// The fields of a state that limit edits.
const (
	fieldEditLines = "max_edit_lines"
	fieldFiles     = "max_files_per_state"
)

func limitsEdits(field string) bool { return field == fieldEditLines || field == fieldFiles }

type suggester struct {
	o    Options
	text document.Value
	seen map[string]*seenIn
	out  *Suggestion
	// measure says how large edits are.
	measure *workflow.Machine
}

// propose returns the parts that a state could do without.
func (s *suggester) propose(m *workflow.Machine, state *workflow.StateView) []Proposal {
	in := s.seen[state.Name]
	if in == nil || len(in.runs.ids) < s.o.MinRuns {
		n := 0
		if in != nil {
			n = len(in.runs.ids)
		}
		s.leave("state %s: no proposal: %s in it, and %d needed", document.Quote(state.Name), counted(n, "run"), s.o.MinRuns)
		return nil
	}
	var all []Proposal
	add := func(field string, was, is document.Value, why string) {
		if document.Equal(was, is) {
			return
		}
		p := Proposal{State: state.Name, Field: field, Why: why, Runs: in.runs.ids}
		if !was.IsZero() {
			p.Was = was.String()
		}
		if !is.IsZero() {
			p.Is = is.String()
		}
		all = append(all, p)
	}
	seen := counted(in.calls, "call") + " in " + counted(len(in.runs.ids), "run")
	tools := s.tools(state, in)
	if writer := missingWriter(m, state, in, tools); writer != "" {
		tools = append(tools, writer)
		s.leave("state %s: %s stays, because without a tool that edits no command line may write", document.Quote(state.Name), document.Quote(writer))
	}
	add("allowed_tools", s.field(state.Name, "allowed_tools"), listOf(tools), seen)
	if state.CommandsRestricted && slices.ContainsFunc(slices.Collect(maps.Keys(in.tools)), func(tool string) bool { return toolcall.Shell(state, tool) }) {
		switch {
		case in.hidden:
			s.leave("state %s: allowed_commands stays, because some inputs were not kept (meta.capture_output keeps them)", document.Quote(state.Name))
		default:
			add("allowed_commands", s.field(state.Name, "allowed_commands"), listOf(narrowed(state, in.commands)), counted(len(in.commands), "command")+" in "+counted(len(in.runs.ids), "run"))
		}
	}
	for _, l := range s.limits(state, in) {
		add(l.field, s.field(state.Name, l.field), document.NumberValue(fmt.Sprint(l.most)), l.why)
	}
	if s.o.Conditions {
		if entries := s.conditions(state, in); len(entries) > 0 {
			add("calls", document.Value{}, document.ArrayValue(entries), in.basis())
		}
	}
	for i := range state.On {
		event := state.On[i].Event
		switch {
		case in.taken[event]:
		case s.o.DropTransitions && state.SafeNext != "":
			s.leave("state %s: event %s was never taken, and stays: without it, safe_next would be", document.Quote(state.Name), document.Quote(event))
		case s.o.DropTransitions:
			was, _ := s.field(state.Name, "on").Get(event)
			add("on/"+event, was, document.Value{}, "never taken in "+counted(len(in.runs.ids), "run"))
		default:
			s.leave("state %s: event %s was never taken in %s, and stays (--drop-transitions removes it)", document.Quote(state.Name), document.Quote(event), counted(len(in.runs.ids), "run"))
		}
	}
	return all
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// most describes the basis of a limit.
func most(n int, one, several, did string, value int64, what string) string {
	if n == 1 {
		return "1 " + one + " " + did + " " + counted(int(value), what)
	}
	return fmt.Sprintf("99%% of %d %s %s at most %s", n, several, did, counted(int(value), what))
}

// limit is a number that 99 of 100 did not exceed.
type limit struct {
	field string
	most  int64
	why   string
}

// limits returns the tighter limits of a state.
func (s *suggester) limits(state *workflow.StateView, in *seenIn) []limit {
	var all []limit
	add := func(field string, most, now int64, why string) {
		if most > 0 && (now == 0 || most < now) {
			all = append(all, limit{field, most, why})
		}
	}
	calls := percentile99(maps.Values(in.counted))
	add("max_iterations", calls, state.MaxIterations, most(len(in.counted), "entry", "entries", "made", calls, "call"))
	if in.unmeasured {
		s.leave("state %s: no proposal for edits, because some were not kept or cannot be measured (meta.capture_output keeps them)", document.Quote(state.Name))
		return all
	}
	lines := percentile99(slices.Values(in.lines))
	add(fieldEditLines, lines, state.MaxEditLines, most(len(in.lines), "edit", "edits", "had", lines, "line"))
	edited := make([]int64, 0, len(in.files))
	for _, names := range in.files {
		edited = append(edited, int64(len(names)))
	}
	files := percentile99(slices.Values(edited))
	add(fieldFiles, files, state.MaxFilesPerState, most(len(edited), "entry", "entries", "edited", files, "file"))
	return all
}

func (s *suggester) leave(format string, args ...any) {
	s.out.Left = append(s.out.Left, fmt.Sprintf(format, args...))
}

// field returns a field of a state in the definition, or missing.
func (s *suggester) field(state, name string) document.Value {
	states, _ := s.text.Get("states")
	of, _ := states.Get(state)
	v, _ := of.Get(name)
	return v
}

// tools returns the entries by which the tools that were called are allowed; of one for
// several tools, those tools.
func (s *suggester) tools(state *workflow.StateView, in *seenIn) []string {
	used := slices.Sorted(maps.Keys(in.tools))
	used = slices.DeleteFunc(used, toolcall.Own)
	if !state.ToolsRestricted {
		return used
	}
	var kept []string
	for _, entry := range state.AllowedTools {
		by := slices.DeleteFunc(slices.Clone(used), func(tool string) bool { return state.ToolEntry(tool) != entry })
		switch {
		case len(by) == 0:
		case slices.Contains(by, entry) || len(by) > mostNamed:
			kept = append(kept, entry)
		default:
			kept = append(kept, by...)
		}
	}
	return kept
}

// missingWriter returns a tool that edits and must stay: command lines were run, and may write
// only where such a tool is allowed (R3).
func missingWriter(m *workflow.Machine, state *workflow.StateView, in *seenIn, tools []string) string {
	shells := slices.ContainsFunc(slices.Collect(maps.Keys(in.tools)), func(tool string) bool { return toolcall.Shell(state, tool) })
	edits := func(tool string) bool { return toolcall.Edits(m, tool) && state.Tool(tool) == workflow.ToolAllowed }
	if !state.ToolsRestricted || !state.Editable() || !shells || slices.ContainsFunc(tools, edits) {
		return ""
	}
	if i := slices.IndexFunc(state.AllowedTools, edits); i >= 0 {
		return state.AllowedTools[i]
	}
	return ""
}

// mostNamed is how many tools, or first words, stand for an entry of several.
const mostNamed = 5

// narrowed returns the entries that the commands that were run need, each with one more
// word where a few words are all that was seen behind it. Where words that are named may do
// more than others, entries stay as they are.
func narrowed(state *workflow.StateView, commands []shell.Command) []string {
	var kept []string
	for _, entry := range state.AllowedCommands {
		var by []shell.Command
		for _, c := range commands {
			if text, _, ok := state.Commands().Entry(c); ok && text == entry {
				by = append(by, c)
			}
		}
		switch longer := furtherWords(entry, by); {
		case len(by) == 0:
		case len(longer) == 0 || migrate.Trusts(state):
			kept = append(kept, entry)
		default:
			kept = append(kept, longer...)
		}
	}
	return kept
}

// furtherWords returns the entry with each word that was seen behind it; none where there are
// many, where there was no word, or where one looks like an argument.
func furtherWords(entry string, commands []shell.Command) []string {
	words := strings.Fields(entry)
	if n := len(words) - 1; n > 0 && words[n] == "*" {
		words = words[:n]
	}
	if slices.ContainsFunc(words, func(w string) bool { return !migrate.Includes(w, w) || strings.ContainsAny(w, "*?[]@\\\"'") }) {
		return nil
	}
	var all []string
	for _, c := range commands {
		at := c.Words[min(c.Assigns, len(c.Words)):]
		if len(at) <= len(words) || c.Assigns > 0 {
			return nil
		}
		next := at[len(words)]
		if !next.Static || !isName(next.Text) {
			return nil
		}
		if longer := strings.Join(append(slices.Clone(words), next.Text), " "); !slices.Contains(all, longer) {
			all = append(all, longer)
		}
	}
	if len(all) > mostNamed {
		return nil
	}
	slices.Sort(all)
	return all
}

// isName reports a word that names a subcommand, such as "status", and no argument.
func isName(word string) bool {
	return word != "" && word[0] != '-' && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// percentile99 returns the value that 99 of 100 entries did not exceed.
func percentile99(counted iter.Seq[int64]) int64 {
	all := slices.Sorted(counted)
	if len(all) == 0 {
		return 0
	}
	return all[(len(all)*99+99)/100-1]
}

func listOf(names []string) document.Value {
	all := make([]document.Value, 0, len(names))
	for _, name := range names {
		all = append(all, document.StringValue(name))
	}
	return document.ArrayValue(all)
}

// settle makes the definition of the proposals, and takes back those of a state in which a run
// would have gone another way.
func (s *suggester) settle(old *workflow.Machine, version int64, all []Proposal, traces []*conform.Trace) (*Suggestion, error) {
	for {
		text := s.text
		for i := range all {
			text = applied(text, &all[i])
		}
		m, err := compiled(text, version+1)
		var plan migrate.Plan
		if err == nil {
			plan = migrate.New(&migrate.Migration{From: old, To: m}, explore.Bounds{MaxStates: s.o.MaxStates})
		}
		if err != nil || plan.Verdict == verify.Refuted {
			less := slices.DeleteFunc(slices.Clone(all), func(p Proposal) bool { return strings.HasPrefix(p.Field, "on/") })
			switch {
			case len(less) < len(all): // the use of an event includes later ones
				all = less
				s.leave("transitions stay: without those that were never taken, the rest would not be a definition, or allow more")
				continue
			case err != nil:
				return nil, fmt.Errorf("the suggestion is not a definition: %w", err)
			default:
				return nil, fmt.Errorf("the suggestion would allow more: %s", plan.Gains[0].String())
			}
		}
		state := otherwise(old, m, traces)
		if state == "" {
			s.out.Definition, s.out.Proposals, s.out.Cut, s.out.Verdict = text, all, cutBy(old, m, traces), plan.Verdict
			if n := undecided(m, traces); n > 0 && len(all) > 0 {
				s.leave("how the suggestion decides %s of these runs is not known, because the record is incomplete (interlock replay lists the gaps)", entriesOfRuns(n))
			}
			return s.out, nil
		}
		before := len(all)
		all = slices.DeleteFunc(all, func(p Proposal) bool { return p.State == state && limitsEdits(p.Field) })
		if len(all) < before { // where edits are limited, other calls are judged by that, too
			s.leave("state %s: edits are not limited, because a run would have gone another way", document.Quote(state))
			continue
		}
		all = slices.DeleteFunc(all, func(p Proposal) bool { return p.State == state })
		if len(all) == before {
			return nil, fmt.Errorf("a run would have gone another way in state %s, which has no proposal", document.Quote(state))
		}
		s.leave("state %s: no proposal, because a run would have gone another way", document.Quote(state))
	}
}

// otherwise returns a state in which a suggestion would have decided a run otherwise, but
// for its limits; empty for none.
func otherwise(old, m *workflow.Machine, traces []*conform.Trace) string {
	for _, t := range traces {
		if out := conform.Replay(t, &conform.Candidate{Machine: m, LimitsAsRecorded: true}); out.First != nil {
			return stateOf(t, out.First, old)
		}
	}
	return ""
}

func entriesOfRuns(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// undecided counts the entries that a suggestion might have decided either way.
func undecided(m *workflow.Machine, traces []*conform.Trace) (n int) {
	for _, t := range traces {
		for _, entries := range conform.Replay(t, &conform.Candidate{Machine: m, LimitsAsRecorded: true}).Open {
			n += entries
		}
	}
	return n
}

// cutBy returns the runs in which a limit of a suggestion would have refused a call, and those of
// the old definition would not.
func cutBy(old, m *workflow.Machine, traces []*conform.Trace) (cut []string) {
	for _, t := range traces {
		if conform.Replay(t, &conform.Candidate{Machine: m}).First != nil && conform.Replay(t, &conform.Candidate{Machine: old}).First == nil {
			cut = append(cut, t.RunID)
		}
	}
	return cut
}

// stateOf returns where a difference is.
func stateOf(t *conform.Trace, d *conform.Divergence, m *workflow.Machine) string {
	if d.Entry == "history" {
		for i := range t.History {
			if t.History[i].RunVersion == d.Number {
				return t.History[i].From
			}
		}
	}
	for i := range t.Decisions {
		if t.Decisions[i].Sequence == d.Number {
			return t.Decisions[i].State
		}
	}
	return m.Definition().Initial
}

// applied returns a definition with one proposal.
func applied(text document.Value, p *Proposal) document.Value {
	path := append([]string{"states", p.State}, strings.SplitN(p.Field, "/", 2)...)
	var is document.Value
	if p.Is != "" {
		is, _ = document.Parse([]byte(p.Is), document.Limits{})
	}
	return replaced(text, path, is)
}

// replaced returns an object with another value at a path; a missing one removes it.
func replaced(v document.Value, path []string, with document.Value) document.Value {
	var members []document.Member
	found := false
	for name, held := range v.Members() {
		if name != path[0] {
			members = append(members, document.Member{Name: name, Value: held})
			continue
		}
		found = true
		if len(path) > 1 {
			held = replaced(held, path[1:], with)
		} else {
			held = with
		}
		if !held.IsZero() {
			members = append(members, document.Member{Name: name, Value: held})
		}
	}
	if !found && len(path) == 1 && !with.IsZero() {
		members = append(members, document.Member{Name: path[0], Value: with})
	}
	return document.ObjectValue(members)
}
