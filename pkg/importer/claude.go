package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// The tools that one rule of Claude Code is about.
var (
	claudeReaders = []string{"tool:Read", "tool:Grep", "tool:Glob", "tool:LS", "tool:NotebookRead"}
	claudeWriters = []string{"tool:Edit", "tool:MultiEdit", "tool:Write", "tool:NotebookEdit"}
	claudeShell   = []string{"bash"}
	claudeFetch   = []string{"tool:WebFetch"}
)

// claudeElsewhere are settings beside permissions that can deny a call.
var claudeElsewhere = []string{
	"sandbox", "disabledMcpjsonServers", "deniedMcpServers", "allowedMcpServers", "allowManagedPermissionRulesOnly", "allowManagedHooksOnly",
}

// claude translates one file of settings.
type claude struct {
	*draft
	options Options
	line    func(pointer string) int
	mode    string
	// free has the capabilities that are allowed as a whole, may the conditions under which
	// calls are allowed.
	free map[string]bool
	may  map[string][]document.Value
	// prefixes and lines are the allowed commands by their first words, and whole command lines.
	prefixes, lines []string
}

// claudeCode translates the permissions of Claude Code's settings. Its questions stay questions,
// or denied where no capability can name it.
func claudeCode(src []byte, options Options) (Result, error) {
	v, problems := document.ParseAll(src, document.Limits{})
	if err := problems.Err(); err != nil {
		return Result{}, err
	}
	if v.Kind() != document.Object {
		return Result{}, errors.New("settings of Claude Code are an object with \"permissions\"")
	}
	c := &claude{
		draft: newDraft("Imported from settings of Claude Code."), options: options, line: places(src, false),
		free: map[string]bool{}, may: map[string][]document.Value{},
	}
	c.denies = true
	permissions, _ := v.Get("permissions")
	for name, setting := range v.Members() {
		if slices.Contains(claudeElsewhere, name) || name == "hooks" && (hasMember(setting, "PreToolUse") || hasMember(setting, "PermissionRequest")) {
			c.refuse(Note{Line: c.line(document.Pointer(name)), Text: name, Why: "only permissions are read; this policy lacks its denials"}, nil)
		}
	}
	c.settings(permissions)
	for _, list := range []string{deny, ask, allow} {
		rules, _ := permissions.Get(list)
		for i, rule := range rules.Elements() {
			c.rule(list, c.line(document.Pointer("permissions", list, fmt.Sprint(i))), rule)
		}
	}
	c.permit()
	return c.result()
}

// settings reads the members of permissions that are no rules.
func (c *claude) settings(permissions document.Value) {
	for name, v := range permissions.Members() {
		n := Note{Line: c.line(document.Pointer("permissions", name)), Text: name}
		switch name {
		case deny, ask, allow, "disableBypassPermissionsMode", "disableAutoMode":
		case "defaultMode":
			c.mode = v.Str()
			n.Text += ": " + clipped(v.Str())
			switch c.mode {
			case "default", "dontAsk":
			case "plan":
				n.Why = "edits are denied, and other tools are judged by the rules"
				c.widen(n)
			default:
				n.Why = "a mode that allows calls without a rule is not imported; they are asked for"
				c.skip(n)
			}
		case "additionalDirectories":
			n.Why = "folders outside of the workspace are not allowed by it; write rules with their paths"
			c.skip(n)
		default:
			n.Why = "the setting is not known"
			c.refuse(n, nil)
		}
	}
}

// rule translates one rule of a list.
func (c *claude) rule(list string, line int, v document.Value) {
	n := Note{Line: line, Text: list + " " + clipped(v.Str()), Restricts: list != allow}
	tool, content, ok := claudeRule(v.Str())
	if v.Kind() != document.String || !ok {
		n.Text = list + " " + clipped(v.String())
		n.Why = "it is not a rule of the form Tool or Tool(content)"
		c.leave(n, nil)
		return
	}
	whole := content == "" || content == "*" || content == ":*"
	switch tool {
	case "Bash":
		c.command(list, n, content, whole)
	case "Read":
		c.files(list, n, content, whole, "reads", claudeReaders)
	case "Edit":
		c.files(list, n, content, whole, "writes", claudeWriters)
	case "Write", "MultiEdit", "NotebookEdit":
		if !whole && list == allow {
			n.Why = "Claude Code has no paths in rules of " + tool + "; write Edit(" + content + ")"
			c.skip(n)
			return
		}
		if whole {
			c.tool(list, n, []string{"tool:" + tool})
			return
		}
		c.files(list, n, content, false, "writes", claudeWriters)
	case "WebFetch":
		c.fetch(list, n, content, whole)
	default:
		c.named(list, n, tool, whole)
	}
}

// claudeRule cuts a rule into its tool and the text in parentheses.
func claudeRule(rule string) (tool, content string, ok bool) {
	rule = strings.TrimSpace(rule)
	tool, content, found := strings.Cut(rule, "(")
	if found {
		if content, found = strings.CutSuffix(content, ")"); !found {
			return "", "", false
		}
		content = strings.NewReplacer(`\(`, "(", `\)`, ")", `\\`, `\`).Replace(content)
	}
	return tool, content, tool != "" && !strings.ContainsAny(tool, " \t()")
}

// leave lists a rule that is not translated; one that restricts denies its capabilities.
func (c *claude) leave(n Note, capabilities []string) {
	if n.Restricts {
		c.refuse(n, capabilities)
		return
	}
	c.skip(n)
}

// tool translates a rule on every call of tools.
func (c *claude) tool(list string, n Note, capabilities []string) {
	if list != allow {
		c.restrict(list, n, capabilities, clause{})
		return
	}
	for _, capability := range capabilities {
		if err := check(allow, one("capability", text(capability)), clause{}); err != nil {
			n.Why = err.Error()
			c.skip(n)
			return
		}
		c.free[capability] = true
	}
}

// named translates a rule on a tool without a form of its own.
func (c *claude) named(list string, n Note, tool string, whole bool) {
	capability, why := claudeCapability(list, tool)
	switch {
	case why != "":
		n.Why = why
		c.leave(n, claudeCovering(tool))
	case !whole:
		n.Why = "the text in the parentheses has no known meaning for " + tool
		c.leave(n, []string{capability})
	default:
		c.tool(list, n, []string{capability})
	}
}

// claudeCapability returns the capability of a name in a rule, or why it has none.
func claudeCapability(list, tool string) (capability, why string) {
	name, mcp := strings.CutPrefix(tool, "mcp__")
	stem, wild := strings.CutSuffix(name, "*")
	switch {
	case strings.Contains(stem, "*"):
		return "", "a * is only translated at the end"
	case !mcp && tool == "*" && list != allow:
		return "*", ""
	case !mcp && wild:
		return "", "a * in the name of a tool that is no MCP server's is not translated"
	case !mcp && slices.Contains(claudeShells, tool):
		return "", "Claude Code's rules on command lines are Bash(...)"
	case !mcp:
		return "tool:" + tool, ""
	}
	server, rest, found := strings.Cut(stem, "__")
	switch {
	case stem == "" && list != allow:
		return "mcp:*", ""
	case stem == "", !found && wild && list == allow:
		return "", "an allowance names its server"
	case !found && wild:
		return "mcp:" + server + "*", ""
	case !found, rest == "" && wild:
		return "mcp:" + server, ""
	case wild:
		return "mcp:" + server + ":" + rest + "*", ""
	default:
		return "mcp:" + server + ":" + rest, ""
	}
}

// claudeCovering returns capabilities that cover a name with * in any place.
func claudeCovering(tool string) []string {
	stem, _, wild := strings.Cut(tool, "*")
	name, mcp := strings.CutPrefix(stem, "mcp__")
	server, rest, found := strings.Cut(name, "__")
	switch {
	case !wild:
		return nil
	case !mcp && isStart(stem, "Bash"):
		return []string{"tool:" + stem + "*", "bash"}
	case !mcp:
		return []string{"tool:" + stem + "*"}
	case !found || rest == "":
		return []string{"mcp:" + server + "*"}
	default:
		return []string{"mcp:" + server + ":" + rest + "*"}
	}
}

// claudeShells are names of shells that are not names of Claude Code's.
var claudeShells = []string{"bash", "shell", "Shell", "BASH"}

// fetch translates a rule on pages.
func (c *claude) fetch(list string, n Note, content string, whole bool) {
	host, ok := strings.CutPrefix(content, "domain:")
	host = strings.ToLower(strings.TrimSpace(host))
	switch {
	case whole:
		c.tool(list, n, claudeFetch)
	case !ok || host == "" || strings.Contains(strings.TrimPrefix(host, "*."), "*"):
		n.Why = "only domain:HOST and domain:*.HOST are translated"
		c.leave(n, claudeFetch)
	case list != allow:
		c.restrict(list, n, claudeFetch, clause{when: one("host", texts([]string{host}))})
	default:
		c.allowWhen(n, claudeFetch, one("host", texts([]string{host})))
	}
}

// allowWhen collects a condition under which tools are allowed.
func (c *claude) allowWhen(n Note, capabilities []string, when document.Value) {
	if err := check(allow, one("capability", text(capabilities[0])), clause{when: when}); err != nil {
		n.Why = err.Error()
		c.skip(n)
		return
	}
	for _, capability := range capabilities {
		c.may[capability] = merged(c.may[capability], when)
	}
}

// merged adds a condition to alternatives. The patterns of one facet become one list, of which
// each value of a call matches one.
func merged(conditions []document.Value, when document.Value) []document.Value {
	facet, patterns := only(when)
	for i, condition := range conditions {
		if other, before := only(condition); other == facet && facet != "" {
			values := slices.Clone(listed(before))
			conditions[i] = one(facet, document.ArrayValue(append(values, listed(patterns)...)))
			return conditions
		}
	}
	return append(conditions, when)
}

// only returns the key and the list of a condition on one facet, and zero values for any other.
func only(condition document.Value) (facet string, list document.Value) {
	for name, v := range condition.Members() {
		if condition.Len() == 1 && v.Kind() == document.Array && name != "all" && name != "any" {
			return name, v
		}
	}
	return "", document.Value{}
}

func listed(v document.Value) []document.Value {
	var values []document.Value
	for _, item := range v.Elements() {
		values = append(values, item)
	}
	return values
}

// permit writes the rules of allow, and those of ask for all other calls.
func (c *claude) permit() {
	c.permitCommands()
	for _, capability := range claudeReaders { // Claude Code reads the workspace without a question
		c.may[capability] = merged(c.may[capability], one("reads", texts([]string{"**"})))
	}
	classes := [][]string{claudeShell, claudeReaders, claudeWriters, claudeFetch, {"tool:WebSearch"}}
	for _, capability := range slices.Concat(classes...) {
		c.permitOne(capability, true)
	}
	for _, name := range toolname.Client {
		if !strings.HasSuffix(name, "PlanMode") {
			c.free["tool:"+name] = true
		}
	}
	rest := make([]string, 0, len(c.free))
	for capability := range c.free {
		if !slices.Contains(slices.Concat(classes...), capability) {
			rest = append(rest, capability)
		}
	}
	slices.Sort(rest)
	for _, capability := range rest {
		c.permitOne(capability, false)
	}
}

// permitOne allows the calls of a tool that its rules allow, and asks about the others.
func (c *claude) permitOne(capability string, asks bool) {
	conditions := c.may[capability]
	edits := slices.Contains(claudeWriters, capability)
	switch {
	case edits && c.mode == "plan":
		return
	case c.free[capability]:
		c.must(allow, capability, clause{})
		return
	case asks && c.mode != "dontAsk" && len(conditions) == 0:
		c.must(ask, capability, clause{})
	case len(conditions) > 0:
		if asks && c.mode != "dontAsk" {
			c.must(ask, capability, clause{unless: anyOf(conditions...)})
		}
		c.must(allow, capability, clause{when: anyOf(conditions...)})
	}
}

// must adds a rule whose parts have been checked. One that has become too large is left, which
// allows less.
func (c *claude) must(list, capability string, of clause) {
	if err := c.add(list, []string{capability}, of); err != nil {
		c.skip(Note{Text: list + " of " + capability, Why: err.Error()})
	}
}

// isStart reports that a stem begins a name.
func isStart(stem, name string) bool { return strings.HasPrefix(name, stem) }
