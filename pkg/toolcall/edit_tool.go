package toolcall

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// mapped reads the arguments of a tool that the workflow describes.
type mapped struct {
	change
	input document.Value
}

// measureMapped tells what a call of a tool of meta.edit_tools would change. The
// workflow vouches for arguments that it does not name.
func measureMapped(t *workflow.EditTool, input []byte) *change {
	v, ok := readInput(input)
	if !ok {
		return &change{wrong: noObject}
	}
	c := mapped{input: v}
	switch t.Kind {
	case workflow.EditWrite:
		c.path(t.Path)
		c.lines = countLines(c.text(t.Content))
	case workflow.EditReplace:
		c.path(t.Path)
		c.lines = max(countLines(c.text(t.Old)), countLines(c.text(t.New)))
	case workflow.EditMany:
		c.many(t)
	case workflow.EditPatch:
		if _, ok := t.Path.In(v); ok {
			c.path(t.Path)
		}
		c.patch(c.text(t.Patch))
	case workflow.EditDelete:
		c.path(t.Path)
	case workflow.EditMove:
		c.path(t.From)
		c.path(t.To)
	default:
		c.blame("the workflow does not say how it edits")
	}
	if len(c.paths) == 0 {
		c.blame("it names no file")
	}
	return &c.change
}

func (c *mapped) path(at workflow.Argument) {
	if name := c.text(at); name != "" {
		c.paths = append(c.paths, name)
	} else {
		c.blame("it names no file in " + document.Quote(string(at)))
	}
}

func (c *mapped) text(at workflow.Argument) string {
	v, _ := at.In(c.input)
	if v.Kind() != document.String {
		c.blame("it must have a string in " + document.Quote(string(at)))
	}
	return v.Str()
}

func (c *mapped) many(t *workflow.EditTool) {
	edits, _ := t.Edits.In(c.input)
	if edits.Kind() != document.Array {
		c.blame("it must have a list in " + document.Quote(string(t.Edits)))
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
		c.lines += max(countLines(c.text(t.Old)), countLines(c.text(t.New)))
	}
	c.input = whole
}
