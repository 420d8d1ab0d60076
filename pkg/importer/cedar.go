package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
)

// cedarDraft translates the policies of a set. A call is allowed if a permit holds and no forbid
// does.
type cedarDraft struct {
	*draft
	options Options
}

func cedar(src []byte, options Options) (Result, error) {
	policies, err := parseCedar(string(src))
	if err != nil {
		return Result{}, err
	}
	if len(policies) == 0 {
		return Result{}, errors.New("there is no policy in the text")
	}
	c := &cedarDraft{newDraft("Imported from Cedar policies."), options}
	c.denies = true
	for _, p := range policies {
		n := Note{Line: p.line, Text: clipped(p.text), Restricts: p.forbids}
		if p.label != "" {
			n.Text = "@id " + clipped(p.label)
		}
		if p.forbids {
			c.forbid(p, n)
			continue
		}
		if err := c.permit(p); err != nil {
			n.Why = err.Error()
			c.skip(n)
		}
	}
	return c.result()
}

// permit adds a rule of allow. Each part that narrows the policy must be translated.
func (c *cedarDraft) permit(p cedarPolicy) error {
	if p.principal.op != "" && (p.principal.op != "is" || !c.options.Everyone) {
		return fmt.Errorf("who calls (principal %s) is not translated", p.principal.text)
	}
	capabilities, err := c.capabilities(p)
	if err != nil {
		return err
	}
	var all []document.Value
	for _, clause := range p.conditions {
		e, err := readCedar(clause, false)
		if err != nil {
			return err
		}
		all = append(all, e.permits(clause.unless))
	}
	var when clause
	if len(all) > 0 {
		when.when = allOf(all...)
	}
	return c.add(allow, capabilities, when)
}

// forbid adds a rule of deny, for every caller.
func (c *cedarDraft) forbid(p cedarPolicy, n Note) {
	capabilities, err := c.capabilities(p)
	if err != nil {
		n.Why = err.Error()
		c.refuse(n, c.all())
		return
	}
	if p.principal.op != "" {
		c.widen(Note{Line: n.Line, Text: n.Text, Why: "who calls is not translated: a forbid is for every caller"})
	}
	var all []document.Value
	for _, clause := range p.conditions {
		e, err := readCedar(clause, true)
		if err != nil {
			n.Why = err.Error()
			c.refuse(n, capabilities)
			return
		}
		condition := e.forbids()
		if clause.unless {
			condition = not(condition)
		}
		all = append(all, condition)
	}
	var when clause
	if len(all) > 0 {
		when.when = allOf(all...)
		c.widen(Note{Line: n.Line, Text: n.Text, Why: "Cedar skips a forbid whose evaluation fails, as for a missing attribute or another type; such a call is denied"})
	}
	c.restrict(deny, n, capabilities, when)
}

func readCedar(clause cedarClause, forbids bool) (*cedarExpression, error) {
	r := &cedarConditions{cedarReader: cedarReader{tokens: clause.tokens}, forbids: forbids}
	return r.all()
}

// all returns the capability of every tool that the policies are about.
func (c *cedarDraft) all() []string {
	if c.options.Server != "" {
		return []string{"mcp:" + c.options.Server}
	}
	return []string{"*"}
}

// capabilities returns the capabilities in the scope of a policy, by the forms of gateways: the tool is the
// action (Action::"server___tool"), or the resource of a call (Tool::"name"). A forbid may be
// about more than its scope says.
func (c *cedarDraft) capabilities(p cedarPolicy) ([]string, error) {
	resource := p.resource
	isTool := resource.op == "==" && strings.HasSuffix("::"+resource.entities[0].kind, "::Tool")
	isGateway := resource.op == "==" && strings.HasSuffix(resource.entities[0].kind, "Gateway")
	if !p.forbids && resource.op != "" && !isTool && !isGateway {
		return nil, fmt.Errorf("the resource %s is not translated", resource.text)
	}
	calls := true // of tools
	switch p.action.op {
	case "":
	case "==", "in":
		if len(p.action.entities) == 0 {
			return nil, errors.New("the list of actions is empty")
		}
		for _, e := range p.action.entities {
			calls = calls && (e.id == "call_tool" || e.id == "CallTool")
		}
		if p.action.op == "in" && !strings.HasPrefix(p.action.text, "in [") && !strings.HasPrefix(p.action.text, "in[") {
			return nil, fmt.Errorf("a group of actions (%s) is not translated", p.action.text)
		}
	default:
		return nil, fmt.Errorf("the action %s is not translated", p.action.text)
	}
	switch {
	case isTool && calls:
		return c.tools(resource.entities)
	case isTool:
		return nil, fmt.Errorf("the action %s of a tool is not known", p.action.text)
	case calls:
		return c.all(), nil
	default:
		return c.tools(p.action.entities)
	}
}

// tools returns the capabilities of tools by their names.
func (c *cedarDraft) tools(entities []cedarEntity) ([]string, error) {
	var capabilities []string
	for _, e := range entities {
		server, name, gateway := strings.Cut(e.id, "___")
		switch {
		case e.id == "" || strings.Contains(e.id, "*"):
			return nil, fmt.Errorf("%s names no tool that a rule can name", document.Quote(e.kind+"::"+e.id))
		case gateway:
			capabilities = append(capabilities, "mcp:"+server+":"+name)
		case strings.HasPrefix(e.id, "mcp__"):
			capabilities = append(capabilities, rules.CapabilityOf(e.id))
		case c.options.Server != "":
			capabilities = append(capabilities, "mcp:"+c.options.Server+":"+e.id)
		default:
			return nil, fmt.Errorf("the server of %s is not known; give --server NAME", document.Quote(e.id))
		}
	}
	return capabilities, nil
}
