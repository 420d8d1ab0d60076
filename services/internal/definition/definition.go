// Package definition turns the text of a definition, as the engine has registered it,
// into the machine that steps its runs: for the engine, and for packages that judge by
// its machines.
package definition

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Compiled is one version of a workflow or of a process. Immutable, and safe for
// concurrent use.
type Compiled struct {
	*workflow.Machine
	// Process is nil for a workflow.
	Process *process.Process
}

// Memory returns about how many bytes a compiled definition takes, by its text.
func Memory(text []byte) int { return 16<<10 + 16*len(text) }

// Flags are settings of who compiles. All services of an installation want the same.
type Flags struct {
	ProcessTools []string `help:"Tools that are safe in processes; allowed_tools can name only these. A trailing * matches any rest. Replaces the defaults." env:"INTERLOCK_PROCESS_TOOLS" placeholder:"TOOL"`
}

// Compile reads a text that was valid when it was registered, and recognizes its kind by
// its shape. A validator that has grown stricter since must not guess the old meaning:
// the error is document.Problems then.
func (f Flags) Compile(src []byte, version int64) (Compiled, error) {
	v, problems := document.ParseAll(src, document.Limits{})
	if problems.HasErrors() {
		return Compiled{}, invalid(problems)
	}
	if process.Is(v) {
		def, problems := process.ParseValue(v)
		if problems.HasErrors() {
			return Compiled{}, invalid(problems)
		}
		p := process.Options{SafeTools: f.ProcessTools}.Compile(def, version)
		return Compiled{p.Machine(), p}, nil
	}
	def, problems := workflow.ParseValue(v)
	if problems.HasErrors() {
		return Compiled{}, invalid(problems)
	}
	return Compiled{workflow.Compile(def, version), nil}, nil
}

func invalid(problems document.Problems) error {
	return fmt.Errorf("the definition is not valid: %w", problems.Err())
}
