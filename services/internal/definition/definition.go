// Package definition turns the text of a definition, as the engine has registered it,
// into the machine that steps its runs: for the engine, and for packages that judge by
// its machines.
package definition

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
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
	BundleKey    []string `help:"File with a public key. With one, only signed sets change workflows, processes and policies." env:"INTERLOCK_BUNDLE_KEY" placeholder:"FILE"`
}

// Signers reads the keys by which sets are signed; none where sets need no signature.
func (f Flags) Signers() (bundle.Keys, error) {
	var texts [][]byte
	if value, set := os.LookupEnv("INTERLOCK_BUNDLE_KEY"); set && value == "" || slices.Contains(f.BundleKey, "") {
		return nil, errors.New("--bundle-key: the name of the file is empty; name one, or leave the setting out")
	}
	for _, file := range f.BundleKey {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--bundle-key: %w", err)
		}
		texts = append(texts, text)
	}
	keys, err := bundle.ReadKeys(texts...)
	if err != nil {
		return nil, fmt.Errorf("--bundle-key: %w", err)
	}
	return keys, nil
}

// Unsigned refuses a change of definitions by itself where only signed sets make them live; nil elsewhere.
func (f Flags) Unsigned() error {
	if len(f.BundleKey) == 0 {
		return nil
	}
	return fault.New(fault.FailedPrecondition, "only signed sets change definitions here (--bundle-key): put the file into the folder of a set, sign it with `interlock bundle sign`, and apply it with `interlock apply`")
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
