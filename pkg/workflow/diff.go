package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Change is how a part of a definition differs.
type Change string

// The changes.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
)

// Comparison has the differences of two definitions, in both directions.
type Comparison struct {
	// States that differ, in the order of the later definition; those that were removed
	// come last, in the order of the earlier one.
	States []StateChange
	// Fields that differ outside of the states.
	Fields []FieldChange
}

// Same reports that there is no difference.
func (c *Comparison) Same() bool { return len(c.States) == 0 && len(c.Fields) == 0 }

// StateChange is how a state differs.
type StateChange struct {
	State  string
	Change Change
	// ToolsGained are allowed after and were not before, ToolsLost the other way round,
	// each as it is written: "*" is every tool.
	ToolsGained, ToolsLost []string
	// CommandsGained and CommandsLost are the same of command lines; "*" is every command.
	CommandsGained, CommandsLost []string
	EventsAdded, EventsRemoved   []EventView
	EventsChanged                []EventChange
	// Fields that differ besides: neither on nor the lists of tools and of commands.
	Fields []FieldChange
}

// EventView is an event of a state and its target.
type EventView struct {
	LegalEvent
	// Definition is the transition as it is written.
	Definition document.Value
}

// EventChange is an event that leads elsewhere, or under other conditions.
type EventChange struct {
	Event         string
	Before, After EventView
}

// FieldChange is a field that differs. A side that does not have it is missing.
type FieldChange struct {
	// Pointer is the JSON Pointer of the field in the definition.
	Pointer       string
	Before, After document.Value
}

// Compare describes how two definitions differ. Each is given parsed, and as the document
// that it was parsed from.
func Compare(before, after *Definition, beforeDoc, afterDoc document.Value) Comparison {
	var c Comparison
	fieldChanges(&c.Fields, nil, omitting(beforeDoc, "states"), omitting(afterDoc, "states"))
	old, now := statesByName(before), statesByName(after)
	oldDocs, _ := beforeDoc.Get("states")
	nowDocs, _ := afterDoc.Get("states")
	compare := func(name string) {
		oldDoc, _ := oldDocs.Get(name)
		nowDoc, _ := nowDocs.Get(name)
		if s, differs := compareStates(name, old[name], now[name], oldDoc, nowDoc); differs {
			c.States = append(c.States, s)
		}
	}
	for i := range after.States {
		compare(after.States[i].Name)
	}
	for i := range before.States {
		if name := before.States[i].Name; now[name] == nil {
			compare(name)
		}
	}
	return c
}

func statesByName(def *Definition) map[string]*State {
	states := make(map[string]*State, len(def.States))
	for i := range def.States {
		states[def.States[i].Name] = &def.States[i]
	}
	return states
}

// told are the fields of a state that are compared by their meaning.
var told = []string{"on", "allowed_tools", "disallowed_tools", "allowed_commands"}

// compareStates compares a state with its earlier form; nil is a state that is not there.
func compareStates(name string, before, after *State, beforeDoc, afterDoc document.Value) (c StateChange, differs bool) {
	c = StateChange{State: name, Change: Changed}
	switch {
	case before == nil:
		c.Change = Added
	case after == nil:
		c.Change = Removed
	}
	was, is := toolsOf(before), toolsOf(after)
	c.ToolsGained, c.ToolsLost = is.beyond(&was), was.beyond(&is)
	hadCommands, hasCommands := commandsOf(before), commandsOf(after)
	c.CommandsGained, c.CommandsLost = hasCommands.beyond(&hadCommands), hadCommands.beyond(&hasCommands)
	c.compareEvents(before, after, beforeDoc, afterDoc)
	if c.Change == Changed {
		at := (*document.Path)(nil).Key("states").Key(name)
		fieldChanges(&c.Fields, at, omitting(beforeDoc, told...), omitting(afterDoc, told...))
		// A list that is written otherwise and allows the same is a change all the same.
		if len(c.ToolsGained)+len(c.ToolsLost) == 0 {
			fieldChanges(&c.Fields, at, having(beforeDoc, "allowed_tools", "disallowed_tools"), having(afterDoc, "allowed_tools", "disallowed_tools"))
		}
		if len(c.CommandsGained)+len(c.CommandsLost) == 0 {
			fieldChanges(&c.Fields, at, having(beforeDoc, "allowed_commands"), having(afterDoc, "allowed_commands"))
		}
	}
	differs = c.Change != Changed || len(c.ToolsGained)+len(c.ToolsLost)+len(c.CommandsGained)+len(c.CommandsLost)+
		len(c.EventsAdded)+len(c.EventsRemoved)+len(c.EventsChanged)+len(c.Fields) > 0
	return c, differs
}

func (c *StateChange) compareEvents(before, after *State, beforeDoc, afterDoc document.Value) {
	was, is := eventsOf(before, beforeDoc), eventsOf(after, afterDoc)
	find := func(events []EventView, name string) *EventView {
		if i := slices.IndexFunc(events, func(e EventView) bool { return e.Event == name }); i >= 0 {
			return &events[i]
		}
		return nil
	}
	for _, e := range is {
		switch old := find(was, e.Event); {
		case old == nil:
			c.EventsAdded = append(c.EventsAdded, e)
		case !document.Equal(old.Definition, e.Definition):
			c.EventsChanged = append(c.EventsChanged, EventChange{e.Event, *old, e})
		}
	}
	for _, e := range was {
		if find(is, e.Event) == nil {
			c.EventsRemoved = append(c.EventsRemoved, e)
		}
	}
}

func eventsOf(s *State, doc document.Value) []EventView {
	if s == nil {
		return nil
	}
	on, _ := doc.Get("on")
	events := make([]EventView, len(s.On))
	for i := range s.On {
		events[i].LegalEvent = newLegalEvent(&s.On[i])
		events[i].Definition, _ = on.Get(s.On[i].Event)
	}
	return events
}

// every stands for a list that was omitted: it is no restriction.
const every = "*"

// allowance is a set of names by patterns: those that allow covers and deny does not.
type allowance struct {
	allow, deny []string
	// covers reports that all that a pattern stands for another one stands for too.
	covers func(by, pattern string) bool
}

// toolsOf returns the tools that a state allows; none for a state that is not there.
func toolsOf(s *State) allowance {
	a := allowance{covers: toolCovers}
	if s != nil {
		a.allow, a.deny = s.AllowedTools, s.DisallowedTools
		if !s.ToolsRestricted {
			a.allow = []string{every}
		}
	}
	return a
}

// commandsOf returns the command lines that a state allows.
func commandsOf(s *State) allowance {
	a := allowance{covers: commandCovers}
	if s != nil {
		a.allow = s.AllowedCommands
		if !s.CommandsRestricted {
			a.allow = []string{every}
		}
	}
	return a
}

// has reports that all of a pattern is in the set.
func (a *allowance) has(pattern string) bool {
	by := func(p string) bool { return a.covers(p, pattern) }
	return slices.ContainsFunc(a.allow, by) && !slices.ContainsFunc(a.deny, by)
}

// beyond returns the patterns that are in this set and not in another, in their order.
func (a *allowance) beyond(other *allowance) []string {
	var beyond []string
	for _, p := range slices.Concat(a.allow, other.deny) {
		if a.has(p) && !other.has(p) && !slices.Contains(beyond, p) {
			beyond = append(beyond, p)
		}
	}
	return beyond
}

// toolCovers compares entries of tool lists (S3.1).
func toolCovers(by, pattern string) bool {
	prefix, wild := strings.CutSuffix(by, "*")
	return by == pattern || wild && strings.HasPrefix(pattern, prefix)
}

// commandCovers compares entries of allowed_commands (R2): an entry without wildcards
// covers all that begins with its words.
func commandCovers(by, pattern string) bool {
	if by == every || by == pattern {
		return true
	}
	const wild = "*?["
	return !strings.ContainsAny(by, wild) && !strings.ContainsAny(pattern, wild) && !strings.HasPrefix(by, "@") &&
		strings.HasPrefix(pattern, by+" ")
}

// fieldChanges collects the members that differ, down to values that are not objects on both sides.
func fieldChanges(found *[]FieldChange, at *document.Path, before, after document.Value) {
	if document.Equal(before, after) {
		return
	}
	if before.Kind() != document.Object || after.Kind() != document.Object {
		*found = append(*found, FieldChange{at.String(), before, after})
		return
	}
	for name, was := range before.Members() {
		is, _ := after.Get(name)
		fieldChanges(found, at.Key(name), was, is)
	}
	for name, is := range after.Members() {
		if _, both := before.Get(name); !both {
			fieldChanges(found, at.Key(name), document.Value{}, is)
		}
	}
}

// omitting returns an object but for some members.
func omitting(v document.Value, names ...string) document.Value {
	return filtered(v, func(name string) bool { return !slices.Contains(names, name) })
}

// having returns some members of an object.
func having(v document.Value, names ...string) document.Value {
	return filtered(v, func(name string) bool { return slices.Contains(names, name) })
}

func filtered(v document.Value, keep func(string) bool) document.Value {
	var members []document.Member
	for name, value := range v.Members() {
		if keep(name) {
			members = append(members, document.Member{Name: name, Value: value})
		}
	}
	return document.ObjectValue(members)
}
