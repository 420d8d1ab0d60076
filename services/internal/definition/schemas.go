package definition

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Schemas returns the JSON Schemas of everything that people write, by kind.
func Schemas() map[string][]byte {
	return map[string][]byte{
		"workflow": workflow.Schema(), "policy": rules.Schema(), "process": process.Schema(), "component": document.ComponentSchema(),
		"scenario": scenario.Schema(),
	}
}
