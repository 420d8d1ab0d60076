package facet

import "github.com/interlock-run/interlock/pkg/toolinput"

// Description says which arguments of a tool have which meaning, and Tools has them by the names of tools.
type (
	Description = toolinput.Description
	Tools       = toolinput.Tools
)
