package gate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Identified is a call with its caller, its tool and its input: the first stage.
type Identified struct {
	caller caller.Caller
	name   string // as it was called
	// inProcess is the name by which processes name the tool; empty for none.
	inProcess string
	target    *upstream.Tool
	input     json.RawMessage // a JSON object
	id        string
	// selfProtection says why S13 forbids the call; empty when it does not. onlyByLink: it forbids
	// the call only because of where links lead.
	selfProtection string
	onlyByLink     bool
	// jail is the level of the jail that the call is made in, and folder where it starts; 0 and
	// empty for calls of servers.
	jail   int
	folder string
}

// objectOf returns arguments as a JSON object that reads the same to everyone: repeated keys
// could mean one thing to the gate and another to the tool.
func objectOf(raw json.RawMessage) (json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	value, problem := document.Parse(raw, document.Limits{})
	if problem != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %s: %s", problem.Code, arguments.At(problem))
	}
	if value.Kind() != document.Object {
		return nil, fmt.Errorf("the arguments must be an object, not %s", arguments.Article(value.Kind()))
	}
	return raw, nil
}

// NameInProcess returns the name by which processes name a tool of a server: the one that the
// server gives it. It is empty where that would mean a tool of Interlock or of a client.
func (g *Gate) NameInProcess(target *upstream.Tool) string {
	if toolname.Known(target.Name) || g.cfg.Reserved(target.Name) {
		return ""
	}
	return target.Name
}

// identify returns a call of a server's tool, with a new ID.
func (g *Gate) identify(c caller.Caller, name, inProcess string, target *upstream.Tool, input json.RawMessage) Identified {
	selfProtection, onlyByLink := g.selfProtection(c, name, input)
	return Identified{
		caller: c, name: name, inProcess: inProcess, target: target, input: input, id: typeid.New(typeid.Call),
		selfProtection: selfProtection, onlyByLink: onlyByLink,
	}
}

// selfProtection returns why S13 is against a call that would reach Interlock itself. Files of a
// client on stdio are this machine's, and there a name counts by where links lead, too; onlyByLink
// is true where only that is against the call.
func (g *Gate) selfProtection(c caller.Caller, name string, input json.RawMessage) (why string, onlyByLink bool) {
	call := toolcall.Call{Tool: name, Input: input, Places: g.cfg.Places}
	call.Places.Folder = c.Workspace
	if _, why = toolcall.SelfProtected(nil, nil, call); why != "" {
		return why, false
	}
	if local := g.cfg.Workspace != "" && c.Workspace == g.cfg.Workspace; !local {
		return "", false
	}
	call.Places.Real = realpath.Of
	_, why = toolcall.SelfProtected(nil, nil, call)
	return why, why != ""
}
