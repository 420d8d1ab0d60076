package pins

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

const (
	// kindDescriptions has a record beside the pins of a namespace: checks read it, and not the pins.
	kindDescriptions = "tool_descriptions"
	// maxDescriptions bounds that record, in bytes.
	maxDescriptions = 256 << 10
)

// drafted is the draft of a description, made from the input schema of a tool.
type drafted struct {
	Description string `json:"description,omitempty"`
	Others      string `json:"others,omitempty"`
	// By is the agent that has reported it, or empty for a gateway.
	By string `json:"by,omitempty"`
}

func draftOf(tool Offered, by string) *drafted {
	if tool.Draft == "" && tool.Others == "" {
		return nil
	}
	return &drafted{tool.Draft, tool.Others, by}
}

// redraft takes over the draft of the accepted version of the tool if the pin has none, or if a gateway reports a tool
// that an agent had reported. It returns whether it did so.
func (p *pin) redraft(tool Offered, by string) bool {
	draft := draftOf(tool, by)
	switch was := p.Drafted; {
	case draft == nil, p.latest() != tool.Digest, by != "" && p.By == "", was != nil && (by != "" || was.By == ""):
		return false
	}
	p.Drafted = draft
	return true
}

// accepted is a description as an operator has accepted it.
type accepted struct {
	Description json.RawMessage `json:"description"`
	// Schema is the digest of the tool that it describes.
	Schema string `json:"schema"`
}

// descriptions has the accepted descriptions of a namespace, by server and tool.
type descriptions map[string]map[string]accepted

// Proposal has the descriptions of a server's tools that an operator can accept. All names of tools are full.
type Proposal struct {
	Tools map[string]json.RawMessage
	// Digest is that of the descriptions, and of the schemas of their tools.
	Digest string
	// Undescribed are the tools without a description, Accepted those whose description is accepted now, and ByAgents
	// those whose schema is the word of an agent.
	Undescribed, Accepted, ByAgents []string
	// Others lists the arguments outside of the drafts.
	Others map[string]string
}

// JSON returns the descriptions as "meta.tools" has them.
func (p *Proposal) JSON() string {
	text, err := json.Marshal(p.Tools)
	if err != nil {
		return "{}" // never: each is JSON
	}
	return string(text)
}

// latest returns the digest that was accepted last, or "".
func (p pin) latest() string {
	if len(p.Accepted) == 0 {
		return ""
	}
	return p.Accepted[len(p.Accepted)-1]
}

// describes reports that a description of a schema counts for the tool. The word of an agent on a tool of a gateway
// has no effect.
func (p pin) describes(schema string) bool {
	changed := p.Changed != "" && (p.ChangedBy == "" || p.By != "")
	return schema != "" && schema == p.latest() && !changed
}

// Described returns the accepted description of a tool by its full name: at most one.
func (r *Registry) Described(ctx context.Context, namespace, full string) (toolinput.Tools, error) {
	server, tool, ok := toolname.OfServer(full)
	if !ok {
		return nil, nil
	}
	all, _, err := r.descriptions(ctx, namespace)
	if err != nil {
		return nil, err
	}
	one, ok := all[server][tool]
	if !ok {
		return nil, nil
	}
	d, err := read(full, one.Description)
	if err != nil {
		return nil, fault.From(fmt.Errorf("the accepted description of %s: %w", full, err))
	}
	return toolinput.Tools{full: d}, nil
}

// Arguments returns the arguments that servers list for their tools, as pointers by full names. It leaves out tools that
// have changed, and those whose arguments are not all known.
func (r *Registry) Arguments(ctx context.Context, namespace string) (map[string][]string, error) {
	known, _, err := r.load(ctx, namespace)
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for server, tools := range known {
		for tool, one := range tools {
			full := "mcp__" + server + "__" + tool
			if of, name, ok := toolname.OfServer(full); !ok || of != server || name != tool || one.Drafted == nil || !one.describes(one.latest()) {
				continue
			}
			if listed := toolinput.Arguments(one.Drafted.Description, one.Drafted.Others); listed != nil {
				all[full] = listed
			}
		}
	}
	return all, nil
}

// Propose returns descriptions to accept: those of a text, or when it is empty, those that are accepted, and drafts.
func (r *Registry) Propose(ctx context.Context, namespace, server, text string) (*Proposal, error) {
	known, _, err := r.load(ctx, namespace)
	if err != nil {
		return nil, err
	}
	now, _, err := r.descriptions(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return known.propose(server, now[server], text)
}

// AcceptDescriptions accepts the proposal of a text, in place of all descriptions of the server.
func (r *Registry) AcceptDescriptions(ctx context.Context, caller enforcer.Caller, server, text, digest string) ([]string, error) {
	return retry.Do(ctx, "the descriptions of "+server, func() ([]string, error) {
		known, version, err := r.load(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		now, before, err := r.descriptions(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		p, err := known.propose(server, now[server], text)
		switch {
		case err != nil:
			return nil, err
		case p.Digest != digest:
			return nil, fault.New(fault.VersionConflict,
				"the tools of the server %q or the descriptions are not those of this digest; look at `interlock tools describe %s` again, and accept its digest", server, server)
		}
		all, change := map[string]accepted{}, &Change{Server: server, Type: "described"}
		names := slices.Sorted(maps.Keys(p.Tools))
		for _, full := range names {
			_, tool, _ := toolname.OfServer(full)
			all[tool] = accepted{p.Tools[full], known[server][tool].latest()}
			change.Tools = append(change.Tools, tool)
		}
		now[server] = all
		put, err := now.put(caller.Namespace, before)
		if err != nil {
			return nil, err
		}
		return names, retry.Fault(r.put(ctx, caller, known, version, change, put))
	})
}

// propose returns descriptions of tools of a server. Each tool must be pinned, and must not have changed.
func (p tools) propose(server string, now map[string]accepted, text string) (*Proposal, error) {
	if len(p[server]) == 0 {
		return nil, fault.New(fault.NotFound, "no tool of the server %q is pinned; `interlock upstream list` shows those that are", server)
	}
	out := &Proposal{Tools: map[string]json.RawMessage{}, Others: map[string]string{}}
	given, err := parse(text)
	if err != nil {
		return nil, err
	}
	digested := []string{server}
	for _, tool := range slices.Sorted(maps.Keys(p[server])) {
		one, full := p[server][tool], "mcp__"+server+"__"+tool
		if of, name, ok := toolname.OfServer(full); !ok || of != server || name != tool || !one.describes(one.latest()) {
			out.Undescribed = append(out.Undescribed, full) // its name could be that of another's tool, or it has changed
			continue
		}
		was, isAccepted := now[tool]
		if isAccepted {
			out.Accepted = append(out.Accepted, full)
		}
		description := was.Description
		if text != "" {
			description = given[full]
			delete(given, full)
		} else if !isAccepted && one.Drafted != nil {
			if _, err := read(full, []byte(one.Drafted.Description)); err == nil { // agents can report anything
				description = json.RawMessage(one.Drafted.Description)
			}
		}
		if one.By != "" || one.Drafted != nil && one.Drafted.By != "" {
			out.ByAgents = append(out.ByAgents, full)
		}
		if one.Drafted != nil && one.Drafted.Others != "" && !isAccepted {
			out.Others[full] = one.Drafted.Others
		}
		if len(description) == 0 {
			out.Undescribed = append(out.Undescribed, full)
			continue
		}
		if _, err := read(full, description); err != nil {
			return nil, err
		}
		out.Tools[full] = description
		digested = append(digested, full, one.latest(), string(description))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return nil, fault.New(fault.InvalidRequest, "%s is no tool of the server %q that is pinned and accepted; `interlock upstream list` shows those that are, "+
			"and `interlock upstream accept` accepts one that has changed", document.Quote(name), server)
	}
	values := make([]document.Value, len(digested))
	for i, word := range digested {
		values[i] = document.StringValue(word)
	}
	out.Digest = document.Digest(document.ArrayValue(values))
	return out, nil
}

// parse reads descriptions by the full names of tools.
func parse(text string) (map[string]json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	v, problem := document.Parse([]byte(text), document.Limits{})
	switch {
	case problem != nil:
		return nil, fault.New(fault.InvalidRequest, "the descriptions cannot be read: %s", problem.Message)
	case v.Kind() != document.Object:
		return nil, fault.New(fault.InvalidRequest, `the descriptions must be an object by the names of tools, such as {"mcp__web__get": {"urls": ["/url"]}}`)
	}
	all := make(map[string]json.RawMessage, v.Len())
	for name, member := range v.Members() {
		all[name] = member.AppendJSON(nil)
	}
	return all, nil
}

// read reads the description of one tool.
func read(full string, text []byte) (toolinput.Description, error) {
	v, problem := document.Parse(text, document.Limits{})
	if problem != nil {
		return toolinput.Description{}, fault.New(fault.InvalidRequest, "the description of %s cannot be read: %s", document.Quote(full), problem.Message)
	}
	var r document.Report
	d, _ := toolinput.ReadDescription(&r, v, nil)
	for _, p := range r.Problems() {
		if p.Severity == document.SeverityError {
			return d, fault.New(fault.InvalidRequest, "the description of %s has a fault at %s: %s", document.Quote(full), cmp.Or(p.Pointer, "/"), p.Message)
		}
	}
	return d, nil
}

// update commits a change of the pins of a server, and drops the descriptions of tools that are not as they were
// described.
func (r *Registry) update(ctx context.Context, caller enforcer.Caller, known tools, version int64, server string, change *Change) error {
	all, before, err := r.descriptions(ctx, caller.Namespace)
	if err != nil {
		return err
	}
	n := len(all[server])
	maps.DeleteFunc(all[server], func(tool string, one accepted) bool { return !known[server][tool].describes(one.Schema) })
	if len(all[server]) == n {
		return retry.Fault(r.put(ctx, caller, known, version, change))
	}
	put, err := all.put(caller.Namespace, before)
	if err != nil {
		return err
	}
	return retry.Fault(r.put(ctx, caller, known, version, change, put))
}

func descriptionsKey(namespace string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindDescriptions, ID: upstreamsID}
}

func (r *Registry) descriptions(ctx context.Context, namespace string) (descriptions, int64, error) {
	all := descriptions{}
	record, err := r.store.Get(ctx, descriptionsKey(namespace))
	if errors.Is(err, store.ErrNotFound) {
		return all, store.Absent, nil
	}
	if err != nil {
		return nil, 0, fault.From(err)
	}
	if err := json.Unmarshal(record.Data, &all); err != nil {
		return nil, 0, fault.From(fmt.Errorf("decode descriptions of tools: %w", err))
	}
	return all, record.Version, nil
}

func (d descriptions) put(namespace string, before int64) (store.Put, error) {
	maps.DeleteFunc(d, func(_ string, tools map[string]accepted) bool { return len(tools) == 0 })
	data, err := json.Marshal(d)
	switch {
	case err != nil:
		return store.Put{}, fault.From(fmt.Errorf("encode descriptions of tools: %w", err))
	case len(data) > maxDescriptions:
		return store.Put{}, fault.New(fault.TooLarge, "the accepted descriptions of all servers would have %d bytes, the limit is %d; "+
			"describe fewer tools, or describe them in \"meta\": {\"tools\": ...} of a policy", len(data), maxDescriptions)
	}
	return store.Put{Key: descriptionsKey(namespace), Expect: before, Data: data}, nil
}
