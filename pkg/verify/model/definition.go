// Package model has the states of an exploration: the workflows with their policies and terms, the values
// that guards distinguish, and the runs of a family with the evidence that they hold.
package model

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Definition is a workflow or a process.
type Definition struct {
	Machine *workflow.Machine
	// Process is nil for a workflow.
	Process *process.Process
	// Text is the definition as it was written.
	Text document.Value
	// File is the name by which a scenario finds it; empty writes it into the scenario.
	File string
}

// Policy is one that judges calls.
type Policy struct {
	Policy *rules.Policy
	Text   document.Value
	File   string
}

// Model is the input of an exploration.
type Model struct {
	Main Definition
	// Others are workflows that may be invoked.
	Others []Definition
	// Policies judge the calls of the workflows that name them in meta.policy; those that
	// none names judge every call. A policy that is named and not given allows everything:
	// it may be any.
	Policies []Policy
	// Schema is that of the shared state that evidence may be of; nil when it is not known.
	// It changes no verdict: the session that creates a state writes all first values, and a state
	// may get another schema.
	Schema *document.Schema
}

// Epoch is when every exploration takes place. Time passes only where something that is
// explored expires.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Definitions returns the main definition and the others.
func (m *Model) Definitions() []Definition { return append([]Definition{m.Main}, m.Others...) }
