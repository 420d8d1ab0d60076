package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
)

// component is the file that an agent has the values of its component in. The agent's
// changes there are kept at the end of the execution (S12.3, S15.2).
type component struct {
	execution *statev1.Execution
	folder    string
	file      string
}

// maxComponentFile is the longest file that is read back.
const maxComponentFile = 4 << 20

// newComponent writes the file, or answers nil for a task without a component.
func newComponent(e *statev1.Execution) (*component, error) {
	if e == nil {
		return nil, nil
	}
	folder, err := os.MkdirTemp("", "interlock-component-")
	if err != nil {
		return nil, fmt.Errorf("write the values of component %s: %w", e.GetSlug(), err)
	}
	c := &component{execution: e, folder: folder, file: filepath.Join(folder, e.GetSlug()+".json")}
	if err := os.WriteFile(c.file, e.GetValues(), 0o600); err != nil {
		c.remove()
		return nil, fmt.Errorf("write the values of component %s: %w", e.GetSlug(), err)
	}
	return c, nil
}

func (c *component) remove() {
	if c != nil {
		_ = os.RemoveAll(c.folder) // the system cleans up the rest
	}
}

// changes returns the fields that the agent has set otherwise in the file, as a JSON
// Patch; nil for none.
func (c *component) changes() ([]byte, error) {
	file, err := os.Open(c.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the file of the values: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxComponentFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the file of the values: %w", err)
	}
	now, problem := document.Parse(text, document.Limits{Bytes: maxComponentFile})
	if problem != nil {
		return nil, fmt.Errorf("the file of the values: %s", problem.Message)
	}
	if now.Kind() != document.Object {
		return nil, errors.New("the file of the values does not hold a JSON object")
	}
	before, problem := document.Parse(c.execution.GetValues(), document.Limits{Bytes: len(c.execution.GetValues()) + 1})
	if problem != nil {
		return nil, fmt.Errorf("the values that it began with: %s", problem.Message)
	}
	var operations []document.Value
	for name, v := range now.Members() {
		if was, had := before.Get(name); !had || !document.Equal(was, v) {
			operations = append(operations, document.ObjectValue([]document.Member{
				{Name: "op", Value: document.StringValue("add")},
				{Name: "path", Value: document.StringValue(document.Pointer(name))},
				{Name: "value", Value: v},
			}))
		}
	}
	for name := range before.Members() {
		if _, kept := now.Get(name); !kept {
			return nil, fmt.Errorf("the file of the values lacks the field %q; set it to the new value", name)
		}
	}
	if operations == nil {
		return nil, nil
	}
	return document.ArrayValue(operations).AppendJSON(nil), nil
}

// keep commits the agent's changes. Where others have committed in the meantime, such as the
// agent itself by a tool, its changes apply to the present values.
func (c *component) keep(ctx context.Context, components statev1.ComponentServiceClient) error {
	if c == nil {
		return nil
	}
	patch, err := c.changes()
	if err != nil || patch == nil {
		return err
	}
	id := c.execution.GetExecutionId()
	for {
		_, err := components.CommitExecution(ctx, &statev1.CommitExecutionRequest{
			ExecutionId: id, Session: c.execution.GetSessionId(), Change: &statev1.CommitExecutionRequest_Patch{Patch: patch},
		})
		if fault.ReasonOf(err) != fault.VersionConflict {
			return err
		}
		begun, err := components.BeginExecution(ctx, &statev1.BeginExecutionRequest{
			Slug: c.execution.GetSlug(), Session: c.execution.GetSessionId(),
		})
		if err != nil {
			return err
		}
		id = begun.GetExecution().GetExecutionId()
	}
}
