package facet

import "github.com/interlock-run/interlock/pkg/toolinput"

// Description says which arguments of a tool have which meaning.
type Description = toolinput.Description

// Tools has the descriptions of tools by their names.
type Tools = toolinput.Tools
