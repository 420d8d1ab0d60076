package jsonview

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/diagram"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// WorkflowDiff is how two versions of a workflow differ.
type WorkflowDiff struct {
	From             int64         `json:"from" doc:"The earlier version; 0 for a file."`
	To               int64         `json:"to" doc:"The later version; 0 for a file."`
	States           []StateDiff   `json:"states" doc:"The states that differ, in the order of the later version; those that were removed come last."`
	DefinitionFields []FieldDiff   `json:"definition_fields" doc:"The fields that differ outside of the states."`
	Graph            diagram.Graph `json:"graph" doc:"Both versions in one picture."`
}

// StateDiff is how a state differs.
type StateDiff struct {
	State          string      `json:"state"`
	Change         string      `json:"change" enum:"added,removed,changed"`
	ToolsGained    []string    `json:"tools_gained" doc:"Tools that are allowed after and were not before, as they are written there; * is every tool."`
	ToolsLost      []string    `json:"tools_lost" doc:"Tools that were allowed before and are not after."`
	CommandsGained []string    `json:"commands_gained" doc:"The same of commands; * is every command."`
	CommandsLost   []string    `json:"commands_lost"`
	EventsAdded    []EventDef  `json:"events_added"`
	EventsRemoved  []EventDef  `json:"events_removed"`
	EventsChanged  []EventDiff `json:"events_changed"`
	Fields         []FieldDiff `json:"fields" doc:"The other fields of the state that differ."`
}

// EventDef is an event of a state and its target.
type EventDef struct {
	LegalEvent
	Definition jsontext.Value `json:"definition" doc:"The transition as it is written."`
}

// EventDiff is an event that leads elsewhere, or under other conditions.
type EventDiff struct {
	Event  string   `json:"event"`
	Before EventDef `json:"before"`
	After  EventDef `json:"after"`
}

// FieldDiff is a field that differs. A side that has not got it is absent.
type FieldDiff struct {
	Pointer string         `json:"pointer" doc:"JSON Pointer of the field in the definition."`
	Before  jsontext.Value `json:"before,omitzero" doc:"Absent when the field was added."`
	After   jsontext.Value `json:"after,omitzero" doc:"Absent when the field was removed."`
}

// Definition is a parsed definition with the document that it was parsed from.
type Definition struct {
	Parsed   *workflow.Definition
	Document document.Value
}

// WorkflowDiffOf compares two definitions.
func WorkflowDiffOf(from, to int64, before, after Definition) WorkflowDiff {
	c := workflow.Compare(before.Parsed, after.Parsed, before.Document, after.Document)
	return WorkflowDiff{
		From: from, To: to, DefinitionFields: Each(c.Fields, fieldDiffOf), States: Each(c.States, stateDiffOf),
		Graph: diagram.CompareWorkflows(before.Parsed, after.Parsed).Graph(),
	}
}

func stateDiffOf(s workflow.StateChange) StateDiff {
	return StateDiff{
		State: s.State, Change: string(s.Change), ToolsGained: listed(s.ToolsGained), ToolsLost: listed(s.ToolsLost),
		CommandsGained: listed(s.CommandsGained), CommandsLost: listed(s.CommandsLost),
		EventsAdded: Each(s.EventsAdded, eventDefOf), EventsRemoved: Each(s.EventsRemoved, eventDefOf),
		EventsChanged: Each(s.EventsChanged, func(e workflow.EventChange) EventDiff {
			return EventDiff{Event: e.Event, Before: eventDefOf(e.Before), After: eventDefOf(e.After)}
		}),
		Fields: Each(s.Fields, fieldDiffOf),
	}
}

func eventDefOf(e workflow.EventView) EventDef {
	return EventDef{
		LegalEvent: LegalEvent{Event: e.Event, Targets: listed(e.Targets), Guards: listed(e.Guards), RequiresApproval: e.RequiresApproval},
		Definition: jsonOf(e.Definition),
	}
}

func fieldDiffOf(f workflow.FieldChange) FieldDiff {
	return FieldDiff{Pointer: f.Pointer, Before: jsonOf(f.Before), After: jsonOf(f.After)}
}

// jsonOf returns the text of a value; nil for one that is missing.
func jsonOf(v document.Value) jsontext.Value {
	if v.IsZero() {
		return nil
	}
	return v.AppendJSON(nil)
}

// listed returns a list that is never null.
func listed(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
