package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/verify/report"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// warnings returns the warnings of the checks for every workflow.
func (c checker) warnings(written []report.WrittenEvidence) []report.Warning {
	s := c.Survey()
	if s.Full {
		return []report.Warning{{Code: report.CodeBuiltinBound, Pointer: "", Message: fmt.Sprintf("%d states were explored, and there are more: the built-in questions were not decided", len(s.Globals))}}
	}
	b := &builtin{c: c, survey: s, reached: map[string]workflow.View{}, most: map[string]right{}, written: written}
	for i := range s.Globals {
		s.Globals[i].Root.Each(nil, func(_ []int, n *model.Node) {
			if n.Unit != c.Main || n.Run.Status.Ended() {
				return
			}
			for _, lane := range n.Run.Lanes() {
				if _, known := b.reached[lane.State]; !known && lane.Status != workflow.Waiting {
					b.reached[lane.State] = lane
				}
			}
		})
	}
	for _, look := range []func(){b.waysOut, b.guards, b.limits, b.rules, b.rights, b.silence, b.deciders} {
		if look(); b.stopped {
			return []report.Warning{{Code: report.CodeBuiltinBound, Pointer: "", Message: "it was stopped: the built-in questions were not decided"}}
		}
	}
	return b.found
}

type builtin struct {
	c       checker
	survey  *explore.Survey
	reached map[string]workflow.View // by state
	written []report.WrittenEvidence
	found   []report.Warning
	most    map[string]right // that states allow
	stopped bool
}

// going describes how far it is, and reports that it continues.
func (b *builtin) going() bool {
	b.stopped = b.stopped || b.c.Bounds.Progress != nil && !b.c.Bounds.Progress("", len(b.survey.Globals))
	return !b.stopped
}

func (b *builtin) warn(code, pointer, format string, args ...any) {
	b.found = append(b.found, report.Warning{Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

func (b *builtin) state(name string) string { return document.Pointer("states", name) }

// waysOut finds states without a way out.
func (b *builtin) waysOut() {
	can := b.survey.CanReach(explore.Final)
	runEvents := map[string]bool{}
	for i := range b.survey.Globals {
		w := b.survey.Globals[i].GlobalState
		if explore.Final(w) {
			continue
		}
		if _, stuck := b.c.StuckIn(b.survey, int32(i), can); !stuck {
			continue
		}
		for _, lane := range w.Root.Run.Lanes() {
			if lane.Child == nil && !runEvents[lane.State] {
				runEvents[lane.State] = true
				b.warn(report.CodeNoWayOut, b.state(lane.State), "a run can come to state %s and never reach a final state from there; add an event, or one without a guard", document.Quote(lane.State))
			}
		}
	}
}

// guards finds those that never let anything through.
func (b *builtin) guards() {
	for _, g := range b.c.Main.Machine.Definition().Guards {
		asked := false
		for name := range b.reached {
			for _, legal := range b.c.Main.Machine.LegalEvents(name) {
				asked = asked || slices.Contains(legal.Guards, g.Name)
			}
		}
		claimed := false // an operator can send the requested values
		model.ComparisonsOf(&g, func(l model.Comparison) { claimed = claimed || l.From.Meets(evidence.Observed) })
		if asked && !claimed && !b.survey.Passed[[2]string{b.c.Main.Machine.Name(), g.Name}] {
			b.warn(report.CodeGuardNeverTrue, document.Pointer("guards", g.Name), "guard %s lets no transition of any run through",
				document.Quote(g.Name))
		}
	}
}

// allows reports that a state, policies aside, could allow a call.
func (b *builtin) allows(lane workflow.View, s workflow.Subject) bool {
	return b.c.DecideIn(b.c.Main, &lane, s, nil).Possible
}

// limits finds those without effect.
func (b *builtin) limits() {
	for _, state := range b.c.Main.Machine.Definition().States {
		lane, reached := b.reached[state.Name]
		if !reached || state.Final {
			continue
		}
		if !b.going() {
			return
		}
		var edits, shells, any bool
		for _, tool := range b.c.ToolsOf(b.c.Main, state.Name, "*") {
			possible := b.allows(lane, workflow.Subject{Tool: tool})
			any = any || possible
			edits = edits || possible && toolcall.Edits(b.c.Main.Machine, tool)
			shells = shells || possible && toolcall.Shell(b.c.Main.Machine.State(state.Name), tool)
		}
		vain := func(field, why string) {
			b.warn(report.CodeLimitNoMatter, b.state(state.Name)+"/"+field, "%s has no effect in state %s: %s", field,
				document.Quote(state.Name), why)
		}
		if state.MaxEditLines > 0 && !edits {
			vain("max_edit_lines", "no tool that edits is allowed")
		}
		if state.MaxFilesPerState > 0 && !edits {
			vain("max_files_per_state", "no tool that edits is allowed")
		}
		if len(state.AllowedCommands) > 0 && !shells {
			vain("allowed_commands", "no tool that runs commands is allowed")
		}
		if state.MaxIterations > 0 && !any {
			vain("max_iterations", "no tool is allowed")
		}
	}
}

// rules finds those of policies about tools that no state allows.
func (b *builtin) rules() {
	for i := range b.c.Model.Policies {
		p := b.c.Model.Policies[i].Policy
		for _, list := range []struct {
			name  string
			rules []rules.Rule
		}{{"deny", p.Deny}, {"ask", p.Ask}, {"allow", p.Allow}} {
			for j := range list.rules {
				if !b.ruleMatters(list.rules[j].Capability) {
					b.warn(report.CodeRuleNoMatter, document.Pointer(list.name, fmt.Sprint(j)),
						"rule %s of policy %s is about no tool that a state of %s allows",
						document.Quote(list.rules[j].Capability), document.Quote(p.Name), document.Quote(b.c.Main.Machine.Name()))
				}
			}
		}
	}
	slices.SortStableFunc(b.found, func(a, b report.Warning) int { return strings.Compare(a.Code, b.Code) })
}

func (b *builtin) ruleMatters(capability string) bool {
	for _, lane := range b.reached {
		for _, pattern := range calls.ToolsOfCapability(capability) {
			if capability == rules.Shell {
				pattern = "*"
			}
			for _, tool := range b.c.ToolsOf(b.c.Main, lane.State, pattern) {
				if capability == rules.Shell && !toolcall.Shell(b.c.Main.Machine.State(lane.State), tool) {
					continue
				}
				if b.allows(lane, workflow.Subject{Tool: tool}) {
					return true
				}
			}
		}
	}
	return false
}

// right is how much a state lets an agent do to the global state.
type right int

const (
	reads right = iota
	writes
	runs
	networks
	deploys
)

func (r right) String() string {
	return [...]string{"reading", "writing", "running commands", "the network", "deploying"}[r]
}

// Words by which commands and tools are known that reach beyond the machine.
var (
	networkWords = []string{
		"curl", "wget", "ssh", "scp", "rsync", "fetch", "push", "pull", "clone", "websearch",
		"webfetch", "http",
	}
	deployWords = []string{
		"deploy", "kubectl apply", "kubectl delete", "helm upgrade", "helm install",
		"terraform apply", "publish", "docker push", "release", "rollout",
	}
)

// rightOf returns the most that a state allows, by its lists.
func (b *builtin) rightOf(name string) right {
	most, known := b.most[name]
	if !known {
		most = b.findRight(name)
		b.most[name] = most
	}
	return most
}

func (b *builtin) findRight(name string) right {
	state := b.c.Main.Machine.State(name)
	most := reads
	if state.Final {
		return most
	}
	mentions := func(text string, words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(text), word) })
	}
	lane := b.reached[name]
	for _, tool := range b.c.ToolsOf(b.c.Main, name, "*") {
		if lane.Run == nil || !b.allows(lane, workflow.Subject{Tool: tool}) {
			continue
		}
		switch {
		case toolcall.Shell(state, tool):
			most = max(most, runs)
			if !state.CommandsRestricted {
				most = deploys
			}
			for _, entry := range state.AllowedCommands {
				switch {
				case mentions(entry, deployWords):
					most = deploys
				case mentions(entry, networkWords):
					most = max(most, networks)
				}
			}
		case toolcall.Edits(b.c.Main.Machine, tool):
			most = max(most, writes)
		case mentions(tool, deployWords):
			most = deploys
		case mentions(tool, networkWords):
			most = max(most, networks)
		}
	}
	return most
}

// rights finds transitions to much more than before, on the word of the agent alone: by
// two steps of reading, writing, running commands, the network and deploying, or to the
// last.
func (b *builtin) rights() {
	def := b.c.Main.Machine.Definition()
	parks := def.Meta.ApprovalMode == "ui" || b.c.Main.Process != nil
	for i := range def.States {
		from := &def.States[i]
		if _, reached := b.reached[from.Name]; !reached {
			continue
		}
		if !b.going() {
			return
		}
		before := b.rightOf(from.Name)
		for _, t := range from.On {
			for _, branch := range t.Branches {
				after := b.rightOf(branch.Target)
				if after < before+2 && (after != deploys || before == deploys) || branch.RequiresApproval && parks ||
					b.observed(branch.Guards) {
					continue
				}
				b.warn(report.CodeRightsJump, b.state(from.Name)+document.Pointer("on", t.Event),
					"%s leads from %s (state %s) to %s (state %s) without evidence or approval",
					document.Quote(t.Event), before, document.Quote(from.Name), after, document.Quote(branch.Target))
			}
		}
	}
}

// silence finds states whose rights time alone extends (S25.11).
func (b *builtin) silence() {
	def := b.c.Main.Machine.Definition()
	for i := range def.States {
		from := &def.States[i]
		if _, reached := b.reached[from.Name]; !reached {
			continue
		}
		for j := range from.After {
			for _, branch := range from.After[j].Branches {
				if !b.observed(branch.Guards) {
					b.grants(from.Name, branch.Target, b.state(from.Name)+document.Pointer("after", from.After[j].Written))
				}
			}
		}
		if from.Stale != nil && from.Stale.Target != "" {
			b.grants(from.Name, from.Stale.Target, b.state(from.Name)+document.Pointer("stale", "do", "target"))
		}
	}
}

// grants warns where a state that time leads to has more rights.
func (b *builtin) grants(from, to, pointer string) {
	if before, after := b.rightOf(from), b.rightOf(to); after > before {
		b.warn(report.CodeSilenceGrants, pointer,
			"time alone leads from %s (state %s) to %s (state %s): an agent that waits gets more rights; lead to a state with fewer, or ask for evidence",
			before, document.Quote(from), after, document.Quote(to))
	}
}

// observed reports that one of the guards asks for more than the word of the agent.
func (b *builtin) observed(names []string) bool {
	var asks func(g *workflow.Guard) bool
	asks = func(g *workflow.Guard) bool {
		each := func(list []workflow.Guard, all bool) bool {
			for i := range list {
				if asks(&list[i]) != all {
					return !all
				}
			}
			return all
		}
		switch {
		case g.Evidence != "":
			return !slices.ContainsFunc(b.written, func(w report.WrittenEvidence) bool { return w.Evidence == g.Evidence && !w.Observed() })
		case len(g.All) > 0:
			return each(g.All, false)
		case len(g.Any) > 0:
			return each(g.Any, true)
		default:
			return g.Field != "" && g.Source.Meets(evidence.Observed)
		}
	}
	return slices.ContainsFunc(b.c.Main.Machine.Definition().Guards,
		func(g workflow.Guard) bool { return slices.Contains(names, g.Name) && asks(&g) })
}

// deciders finds terms that no one can meet.
func (b *builtin) deciders() {
	asks := false
	for name := range b.reached {
		for _, legal := range b.c.Main.Machine.LegalEvents(name) {
			asks = asks || b.c.Main.Machine.Asks(name, legal.Event)
		}
	}
	if asks && !b.c.Main.Decidable(consent.Transition, nil) {
		b.warn(report.CodeNobodyDecides, "/meta/approval", "no one can grant an approval on these terms: %s", b.c.Main.WhyNot(consent.Transition, nil))
	}
}
