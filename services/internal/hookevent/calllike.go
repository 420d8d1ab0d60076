package hookevent

import (
	"encoding/json"
	"strings"
)

// CallLike reports that an event, whose name is not known, could be about a call of a tool: at
// any depth it has a member for the name of a tool or for arguments of one, under any
// spelling. So does an event that cannot be read.
func CallLike(event []byte) bool {
	var value any
	return json.Unmarshal(event, &value) != nil || hasCallMembers(value)
}

func hasCallMembers(value any) bool {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if hasCallMembers(element) {
				return true
			}
		}
	case map[string]any:
		for name, member := range v {
			if ofCall(name) || hasCallMembers(member) {
				return true
			}
		}
	}
	return false
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// ofCall reports a member that events about calls have.
func ofCall(name string) bool {
	name = separators.Replace(strings.ToLower(name))
	if strings.Contains(name, "tool") || strings.HasPrefix(name, "mcp") || strings.HasPrefix(name, "function") || strings.HasPrefix(name, "command") {
		return true
	}
	switch name {
	case "cmd", "cmdline", "shell", "script", "code", "program", "executable", "argv", "args", "arguments", "input", "rawinput", "params", "parameters",
		"call", "calls", "callid", "action", "actions", "operation", "edits", "patch", "diff", "query", "url", "uri", "path", "paths", "file", "files",
		"filepath", "filename", "oldstring", "newstring", "content", "contents":
		return true
	}
	return false
}
