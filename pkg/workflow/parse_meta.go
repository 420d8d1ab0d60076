package workflow

import (
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

var metaFields = []string{
	"task_type", "estimated_steps", "danger_level", "requires_human_approval", "capture_output", "approval_mode", "debug",
	"enforcement", "approval", "edit_tools", "read_tools", "tools", "policy", "commands", "unknown_commands", "effect_deadline", "reconcile", "default_model", "jail", "deadline",
}

func (r metaSection) meta(f document.Fields) {
	r.def.Meta.ApprovalMode, r.def.Meta.Enforcement = "ui", UntilSuccess
	m, ok := f.Object("meta")
	if !ok {
		return
	}
	for name := range m.Value.Members() {
		if name == "policies" { // further from "policy" than a near miss
			r.report.Errorf(m.At.Key(name), document.CodeUnknownField, "\"meta\" has no field \"policies\"; did you mean \"policy\"? It also accepts a list")
			continue
		}
		r.statePart().unknownField(m, name, "\"meta\"", metaFields)
	}
	m.Str("task_type")
	m.Integer("estimated_steps", 0)
	meta := &r.def.Meta
	meta.Danger = r.dangerLevel(m)
	meta.RequiresHumanApproval = m.Bool("requires_human_approval")
	meta.CaptureOutput = m.Bool("capture_output")
	if mode, ok := m.Enum("approval_mode", "ui", "none"); ok {
		meta.ApprovalMode = mode
	}
	if word, ok := m.Enum("enforcement", string(UntilSuccess), string(Always), string(WhileRunning)); ok {
		meta.Enforcement = Enforcement(word)
	}
	meta.Debug, meta.DebugAgents = debugMode(m, meta.Enforcement)
	if meta.Enforcement == WhileRunning {
		r.report.Warnf(m.At.Key("enforcement"), CodeWhileRunning, "an agent lifts enforcement when it pauses the run or reaches any final state; "+
			"remove it to keep enforcement until the run has succeeded")
	}
	if meta.Debug && meta.Danger == Dangerous {
		r.report.Warnf(m.At.Key("debug"), CodeDebugDangerous, "any state of a dangerous workflow can be forced, past guards and approvals; remove it for production")
	}
	if meta.DebugAgents {
		r.report.Warnf(m.At.Key("debug"), CodeDebugAgents, "agents can force any state, past guards and approvals; "+
			"\"operator\" keeps that to operators; remove it for production")
	}
	if model, ok := m.Str("default_model"); ok {
		if r.defaultModel = hint(model); r.defaultModel == "" {
			r.report.Errorf(m.At.Key("default_model"), document.CodeRange, "write the name of a model, in at most %d printable bytes", maxHint)
		}
	}
	r.declaredCommands(m)
	declared, described := toolinput.ReadTools(m, maxItems)
	meta.Described = described
	meta.Tools = slices.Clone(declared)
	r.toolNames = toolname.With(declared)
	r.editTools(m)
	r.readTools(m)
	r.toolNames = toolname.With(append(declared, slices.Sorted(maps.Keys(meta.EditTools))...))
	r.approvalTerms(m)
	r.policies(m)
	r.evidencePart().effects(m)
	r.statePart().metaJail(m)
	r.timePart().deadline(m)
}

// debugMode returns who may force states: none, operators alone, or agents as well, which
// enforcement that keeps them excludes (S15.7).
func debugMode(m document.Fields, enforcement Enforcement) (debug, agents bool) {
	if v, _ := m.Value.Get("debug"); v.Kind() == document.String {
		mode, known := m.Enum("debug", debugOperator)
		return known && mode == debugOperator, false
	}
	debug = m.Bool("debug")
	return debug, debug && !enforcement.Keeps()
}

// debugOperator is the value of meta.debug that keeps forcing to operators.
const debugOperator = "operator"
