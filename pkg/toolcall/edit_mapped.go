package toolcall

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// mapped reads the arguments of a tool that the workflow describes.
type mapped struct {
	toolinput.Change
	input document.Value
}

// MeasureMapped returns the changes of a call of a tool of meta.edit_tools. The workflow
// vouches for arguments that it does not name.
func MeasureMapped(t *workflow.EditTool, input []byte) *toolinput.Change {
	v, ok := toolinput.Read(input)
	if !ok {
		return &toolinput.Change{Wrong: toolinput.NoObject}
	}
	c := mapped{input: v}
	switch t.Kind {
	case workflow.EditWrite:
		c.path(t.Path)
		c.Lines = toolinput.CountLines(c.text(t.Content))
	case workflow.EditReplace:
		c.path(t.Path)
		c.Lines = max(toolinput.CountLines(c.text(t.Old)), toolinput.CountLines(c.text(t.New)))
	case workflow.EditMany:
		c.many(t)
	case workflow.EditPatch:
		if _, ok := t.Path.In(v); ok {
			c.path(t.Path)
		}
		c.AddPatch(c.text(t.Patch))
	case workflow.EditDelete:
		c.path(t.Path)
	case workflow.EditMove:
		c.path(t.From)
		c.path(t.To)
	default:
		c.SetCause("the workflow does not say how it edits")
	}
	if len(c.Paths) == 0 {
		c.SetCause("it names no file")
	}
	return &c.Change
}

func (c *mapped) path(at workflow.Argument) {
	if name := c.text(at); name != "" {
		c.Paths = append(c.Paths, name)
	} else {
		c.SetCause("it names no file in " + document.Quote(string(at)))
	}
}

func (c *mapped) text(at workflow.Argument) string {
	v, _ := at.In(c.input)
	if v.Kind() != document.String {
		c.SetCause("it must have a string in " + document.Quote(string(at)))
	}
	return v.Str()
}

func (c *mapped) many(t *workflow.EditTool) {
	edits, _ := t.Edits.In(c.input)
	if edits.Kind() != document.Array {
		c.SetCause("it must have a list in " + document.Quote(string(t.Edits)))
	}
	_, together := t.Path.In(c.input)
	if together {
		c.path(t.Path)
	}
	whole := c.input
	for _, one := range edits.Elements() {
		c.input = one
		if !together {
			c.path(t.Path)
		}
		c.Lines += max(toolinput.CountLines(c.text(t.Old)), toolinput.CountLines(c.text(t.New)))
	}
	c.input = whole
}
