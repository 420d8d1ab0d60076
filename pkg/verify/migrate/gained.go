package migrate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// gain is something that a version of a workflow allows and another does not. What cannot
// be told to be no gain is one.
type gain struct {
	kind GainKind
	what string
}

func gainOf(kind GainKind, format string, args ...any) gain {
	return gain{kind, fmt.Sprintf(format, args...)}
}

// gainedIn returns the calls that a state of one version allows beyond those of a state
// of another.
func gainedIn(old, c *explore.Explorer, was, is workflow.View) []gain {
	from, to := old.Main, c.Main
	a, b := from.Machine.State(was.State), to.Machine.State(is.State)
	if reflect.DeepEqual(calls.Judging(from.Machine, a), calls.Judging(to.Machine, b)) && slices.Equal(from.Machine.Meta().Policies, to.Machine.Meta().Policies) {
		return nil
	}
	all := gainedLimits(a, b)
	tools := append(old.ToolsOf(from, was.State, "*"), c.ToolsOf(to, is.State, "*")...)
	slices.Sort(tools)
	shells := false
	for _, tool := range slices.Compact(tools) {
		if refuses(to, &is, tool) {
			continue
		}
		if refuses(from, &was, tool) {
			all = append(all, gainOf(GainTool, "%s", showTool(c, tool)))
			continue
		}
		if input := c.GainedByCalls(a, b, tool); input != "" {
			all = append(all, gainOf(GainTool, "%s with %s", showTool(c, tool), input))
		}
		shells = shells || toolcall.Shell(b, tool)
		if toolcall.Shell(b, tool) != toolcall.Shell(a, tool) {
			all = append(all, gainOf(GainCommand, "%s runs command lines in one of the two only", showTool(c, tool)))
		}
	}
	if shells {
		all = append(all, gainedCommands(old, c, was, is)...)
	}
	return all
}

// showTool returns a tool for people: any other of a prefix is shown as the prefix.
func showTool(c *explore.Explorer, tool string) string {
	if prefix, ok := strings.CutSuffix(tool, c.Unlisted); ok {
		if prefix == "" {
			return "every tool that no list names"
		}
		return prefix + "*"
	}
	return tool
}

// refuses reports that a tool is denied with any input.
func refuses(of *model.Unit, at *workflow.View, tool string) bool {
	if of.Machine.State(at.State).Tool(tool) != workflow.ToolAllowed {
		return true
	}
	v := toolcall.Decide(of.Machine, at, toolcall.Call{Tool: tool, Jail: jail.Full})
	switch v.Code {
	case toolcall.CodeRunNotActive, toolcall.CodeToolNotAllowed, toolcall.CodeToolDisallowed:
		return true
	default:
		return false
	}
}

// gainedLimits compares the counts in an entry of a state.
func gainedLimits(a, b *workflow.StateView) []gain {
	var all []gain
	for _, l := range []struct {
		name    string
		was, is int64
	}{
		{"max_iterations", a.MaxIterations, b.MaxIterations},
		{"max_edit_lines", a.MaxEditLines, b.MaxEditLines},
		{"max_files_per_state", a.MaxFilesPerState, b.MaxFilesPerState},
		{"context_budget_bytes", a.ContextBudgetBytes, b.ContextBudgetBytes},
	} {
		switch {
		case l.was == 0:
		case l.is == 0:
			all = append(all, gainOf(GainLimit, "no %s, and it was %d", l.name, l.was))
		case l.is > l.was:
			all = append(all, gainOf(GainLimit, "%s %d, and it was %d", l.name, l.is, l.was))
		}
	}
	all = append(all, gainedTimes(a, b)...)
	if a.NoUnknownEffects && !b.NoUnknownEffects {
		all = append(all, gainOf(GainTransition, "entering it no longer needs the outcome of every call"))
	}
	return all
}

// gainedTimes compares the times after which a state is left, or its agent is found silent (S25).
func gainedTimes(a, b *workflow.StateView) []gain {
	var all []gain
	first := func(s *workflow.StateView) time.Duration {
		if len(s.After) == 0 {
			return 0
		}
		return s.After[0].Delay
	}
	silence := func(s *workflow.StateView) time.Duration {
		if s.Stale == nil {
			return 0
		}
		return max(s.Stale.After, s.Stale.CallLimit)
	}
	for _, l := range []struct {
		name    string
		was, is time.Duration
	}{{"after", first(a), first(b)}, {"stale", silence(a), silence(b)}} {
		switch {
		case l.was == 0:
		case l.is == 0:
			all = append(all, gainOf(GainLimit, "no %s, and it was %s", l.name, workflow.ShortDuration(l.was)))
		case l.is > l.was:
			all = append(all, gainOf(GainLimit, "%s %s, and it was %s", l.name, workflow.ShortDuration(l.is), workflow.ShortDuration(l.was)))
		}
	}
	if len(b.After) > 0 && a.RunsAsked && !b.RunsAsked {
		all = append(all, gainOf(GainLimit, "the clock of \"after\" stands still while people are asked, and it ran"))
	}
	return all
}

// gainedCommands compares rights of command lines. A list that is not known to be part of
// another one may have more.
func gainedCommands(old, c *explore.Explorer, was, is workflow.View) []gain {
	a, b := old.Main.Machine.State(was.State), c.Main.Machine.State(is.State)
	var all []gain
	add := func(format string, args ...any) { all = append(all, gainOf(GainCommand, format, args...)) }
	switch {
	case !a.CommandsRestricted:
		for _, entry := range b.AllowedCommands { // without a list, no words are named
			if b.CommandsRestricted && Trusts(a) && entry != "*" {
				add("%s", shell.ShowEntry(entry))
			}
		}
	case !b.CommandsRestricted:
		add("every command line, and there was a list of them")
	default:
		for _, entry := range b.AllowedCommands {
			if !slices.ContainsFunc(a.AllowedCommands, func(known string) bool { return known == entry || !Trusts(a) && Includes(known, entry) }) {
				add("%s", shell.ShowEntry(entry))
			}
		}
	}
	if b.Editable() && !a.Editable() {
		add("command lines that write files")
	}
	if a.OpaqueDenied && !b.OpaqueDenied {
		add("commands that run code of the workspace")
	}
	for _, name := range a.BlockedEnv {
		if !slices.Contains(b.BlockedEnv, name) {
			add("command lines that read the variable %s", name)
		}
	}
	if !slices.Equal(a.EnvOverrides, b.EnvOverrides) {
		add("another environment (env_overrides)")
	}
	held, before := toolcall.ProfileOf(b), toolcall.ProfileOf(a)
	for _, what := range held.Gained(&before) {
		add("%s", what)
	}
	return all
}

// Trusts reports a state in which the words that an entry names may do more than other
// words (R3, R4): a longer entry allows more there.
func Trusts(s *workflow.StateView) bool {
	return s.ToolsRestricted && !s.Editable() || len(s.BlockedEnv) > 0
}

// Includes reports that every command of an entry is one of another entry.
func Includes(known, entry string) bool {
	if known == entry || known == "*" {
		return true
	}
	was, is := strings.Fields(known), strings.Fields(entry)
	if c := shell.ReadConfinement(entry); c != nil {
		is = c.Words
		if c.Confined {
			is = is[:1] // options may stand between the others
		}
	}
	if n := len(was) - 1; n > 0 && was[n] == "*" && len(is) > n { // any further words
		was = was[:n]
	}
	plain := func(word string) bool { return !strings.ContainsAny(word, "*?[]\\\"'") }
	return len(was) > 0 && len(is) >= len(was) && slices.Equal(was, is[:len(was)]) &&
		!slices.ContainsFunc(was, func(word string) bool { return !plain(word) })
}

// gainedByMeta compares the rules of all states.
func gainedByMeta(from, to *workflow.Machine) []gain {
	a, b := from.Meta(), to.Meta()
	var all []gain
	say := func(is bool, format string, args ...any) {
		if is {
			all = append(all, gainOf(GainRule, format, args...))
		}
	}
	say(b.Debug && !a.Debug, "meta.debug lets operators force states")
	say(b.DebugAgents && !a.DebugAgents, "meta.debug_agents lets agents force states")
	if a.Deadline != nil {
		say(b.Deadline == nil, "there is no meta.deadline, and it was %s", workflow.ShortDuration(a.Deadline.After))
		say(b.Deadline != nil && b.Deadline.After > a.Deadline.After, "meta.deadline is longer than %s", workflow.ShortDuration(a.Deadline.After))
	}
	say(!b.Enforcement.AtLeast(a.Enforcement), "meta.enforcement is %q, and was %q", b.Enforcement, a.Enforcement)
	say(a.RequiresHumanApproval && !b.RequiresHumanApproval, "meta.requires_human_approval is gone")
	for _, name := range a.Policies {
		say(!slices.Contains(b.Policies, name), "policy %s no longer judges the calls", document.Quote(name))
	}
	if why := gainedTerms(a.Approval, b.Approval); why != "" {
		say(true, "meta.approval: %s", why)
	}
	say(a.DropsApprovalTerm(&b), "a term of meta.approval.terms is another one, or gone")
	for _, pointer := range a.ApprovalReads {
		say(!slices.Contains(b.ApprovalReads, pointer), "meta.approval.reads no longer has %s", document.Quote(pointer))
	}
	for name, class := range b.Commands {
		was, known := a.Commands[name]
		say(class != workflow.CommandWrites && (!known || was != class), "meta.commands says that %s %s", document.Quote(name), class)
	}
	for name := range a.Commands {
		_, known := b.Commands[name]
		say(!known, "meta.commands no longer has %s", document.Quote(name))
	}
	say(b.UnknownCommands && !a.UnknownCommands, "meta.unknown_commands allows unknown programs")
	say(!reflect.DeepEqual(a.EditTools, b.EditTools), "meta.edit_tools is another one")
	say(!reflect.DeepEqual(a.Described, b.Described), "meta.tools describes tools otherwise")
	for _, name := range b.ReadTools {
		say(!slices.Contains(a.ReadTools, name), "meta.read_tools newly has %s, whose calls void no evidence", document.Quote(name))
	}
	say(a.EffectDeadline > 0 && (b.EffectDeadline == 0 || b.EffectDeadline > a.EffectDeadline), "meta.effect_deadline is longer, or gone")
	say(len(b.Reconcile) > 0 && !reflect.DeepEqual(a.Reconcile, b.Reconcile), "meta.reconcile is another one")
	slices.SortFunc(all, func(x, y gain) int { return strings.Compare(x.what, y.what) })
	return all
}

// gainedByProcess compares the rules that a process has of its own. Rules that are not known to be
// as strict are a gain.
func gainedByProcess(from, to *process.Process) []gain {
	if from == nil || to == nil {
		return nil
	}
	a, b := from.Definition(), to.Definition()
	var all []gain
	say := func(is bool, what string) {
		if is {
			all = append(all, gain{GainRule, what})
		}
	}
	say(a.Policy != nil && !reflect.DeepEqual(a.Policy, b.Policy), "the process's own policy is another one, or gone")
	say(a.SessionBudget != nil && (b.SessionBudget == nil || *b.SessionBudget > *a.SessionBudget), "session_budget_usd is higher, or gone")
	say(a.Email != nil && !reflect.DeepEqual(a.Email, b.Email), "email_config is another one, or gone")
	return all
}

// gainedTerms describes which terms of approvals are not at least as strict as others.
func gainedTerms(a, b consent.Terms) string {
	known := func(was, is []string) bool {
		return !slices.ContainsFunc(is, func(name string) bool { return !slices.Contains(was, name) })
	}
	within := func(was, is consent.Approvers) bool { return known(was.Roles, is.Roles) && known(was.Names, is.Names) }
	nobody := func(a consent.Approvers) bool { return len(a.Roles)+len(a.Names) == 0 }
	switch {
	case max(b.Required, 1) < max(a.Required, 1):
		return fmt.Sprintf("%d must agree, where %d had to", max(b.Required, 1), max(a.Required, 1))
	case max(b.DenyThreshold, 1) > max(a.DenyThreshold, 1):
		return fmt.Sprintf("%d must reject, where %d had to", max(b.DenyThreshold, 1), max(a.DenyThreshold, 1))
	case a.Presence && !b.Presence:
		return "it takes no signature by a person who is there"
	case a.Distinct && !b.Distinct:
		return "others than registered people may decide"
	case nobody(a.Eligible) != nobody(b.Eligible) || !within(a.Eligible, b.Eligible):
		return "others may decide"
	case !nobody(b.Escalation.To) && (!within(a.Escalation.To, b.Escalation.To) || b.Escalation.After < a.Escalation.After):
		return "it is escalated to others, or earlier"
	case a.Danger.Above(b.Danger):
		return "its danger is lower, so relays may decide it"
	case b.TTL != a.TTL && (b.TTL == 0 || a.TTL == 0 || b.TTL > a.TTL):
		return "it waits longer"
	default:
		return ""
	}
}
