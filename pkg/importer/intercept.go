package importer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// interceptor translates one policy of Intercept, which is about the tools of one MCP server.
// Its rules are requirements: a call is denied unless each holds.
type interceptor struct {
	*draft
	options Options
	line    func(pointer string) int
	denies  bool
}

// windows are the lengths of Intercept's windows. They begin by the clock; those of Interlock
// roll, and so never admit more.
var interceptWindows = map[string]int64{"minute": 60, "hour": 3600, "day": 86400}

func intercept(src []byte, options Options) (Result, error) {
	v, problems := document.FromYAML(src)
	if err := problems.Err(); err != nil {
		return Result{}, err
	}
	if options.Server == "" {
		return Result{}, errors.New("a policy of Intercept does not name its MCP server; give --server NAME")
	}
	tools, _ := v.Get("tools")
	if v.Kind() != document.Object || tools.Kind() != document.Object && !tools.IsZero() {
		return Result{}, errors.New("a policy of Intercept is an object with \"tools\"")
	}
	x := &interceptor{draft: newDraft("Imported from a policy of Intercept."), options: options, line: places(src, true)}
	version, _ := v.Get("version")
	fallback, _ := v.Get("default")
	x.denies = fallback.Str() == deny
	x.draft.denies = x.denies
	if version.Str() != "1" && version.Number() != "1" {
		return Result{}, fmt.Errorf("version %s of Intercept's policies is not known; only \"1\" is read", version)
	}
	if !fallback.IsZero() && !x.denies && fallback.Str() != allow {
		return Result{}, fmt.Errorf("the default %s is not known; it is \"allow\" or \"deny\"", fallback)
	}
	for name := range v.Members() {
		if name != "version" && name != "description" && name != "default" && name != "hide" && name != "tools" {
			x.refuse(Note{Line: x.line(document.Pointer(name)), Text: name, Why: "the field is not known"}, x.capabilities("*"))
		}
	}
	if x.denies {
		x.widen(Note{Line: x.line("/default"), Text: "default: deny", Why: "the tools of other servers, and those of the client, are denied, too; add rules that allow them"})
	}
	x.hide(v)
	for name, tool := range tools.Members() {
		x.tool(name, tool)
	}
	return x.result()
}

// capabilities returns those of a tool of the server, * for all.
func (x *interceptor) capabilities(tool string) []string {
	if tool == "*" {
		return []string{"mcp:" + x.options.Server}
	}
	return []string{"mcp:" + x.options.Server + ":" + tool}
}

func (x *interceptor) hide(v document.Value) {
	hidden, _ := v.Get("hide")
	for i, name := range hidden.Elements() {
		n := Note{Line: x.line(document.Pointer("hide", strconv.Itoa(i))), Text: "hide " + clipped(name.Str())}
		x.restrict(deny, n, x.capabilities(name.Str()), clause{})
	}
}

// tool translates the rules of one tool.
func (x *interceptor) tool(name string, tool document.Value) {
	rules, _ := tool.Get("rules")
	at := document.Pointer("tools", name)
	if name != "*" && strings.Contains(name, "*") {
		x.refuse(Note{Line: x.line(at), Text: name, Why: "a * in a name is a plain character there, and none of a rule"}, x.capabilities("*"))
		return
	}
	for member := range tool.Members() {
		if member != "rules" {
			x.refuse(Note{Line: x.line(at), Text: name + ": " + member, Why: "the field is not known"}, x.capabilities(name))
		}
	}
	if x.denies && name != "*" {
		if err := x.add(allow, x.capabilities(name), clause{}); err != nil {
			x.skip(Note{Line: x.line(at), Text: name, Why: err.Error()})
		}
	}
	for i, rule := range rules.Elements() {
		label, _ := rule.Get("name")
		n := Note{Line: x.line(document.Pointer("tools", name, "rules", strconv.Itoa(i))), Text: name + ": " + clipped(label.Str())}
		if err := x.rule(name, rule, n); err != nil {
			n.Why = err.Error()
			x.refuse(n, x.capabilities(name))
		}
	}
}

// rule translates one requirement.
func (x *interceptor) rule(tool string, rule document.Value, n Note) error {
	for name := range rule.Members() {
		switch name {
		case "name", "action", "on_deny", "conditions", "state", "rate_limit":
		default:
			return fmt.Errorf("the field %s is not known", document.Quote(name))
		}
	}
	action, _ := rule.Get("action")
	rate, limited := rule.Get("rate_limit")
	state, counts := rule.Get("state")
	conditions, _ := rule.Get("conditions")
	switch {
	case action.Str() == deny:
		x.restrict(deny, n, x.capabilities(tool), clause{})
		return nil
	case !action.IsZero() && action.Str() != "evaluate":
		return fmt.Errorf("the action %s is not known", action)
	case limited:
		return x.rateLimit(tool, rate.Str(), n)
	case conditions.Len() == 0:
		return errors.New("a rule without conditions has no effect there")
	}
	var required []document.Value
	counted := false
	for _, c := range conditions.Elements() {
		path, _ := c.Get("path")
		if strings.HasPrefix(path.Str(), "state.") {
			if !counts || counted {
				return errors.New("a counter that another rule counts is not translated")
			}
			counted = true
			if err := x.counter(tool, c, state, n); err != nil {
				return err
			}
			continue
		}
		condition, err := interceptCondition(c)
		if err != nil {
			return err
		}
		required = append(required, condition)
	}
	if counts && !counted {
		return errors.New("its counter is read by another rule, which is not translated")
	}
	if len(required) == 0 {
		return nil
	}
	return x.add(deny, x.capabilities(tool), clause{unless: allOf(required...)})
}

// rateLimit translates N/WINDOW.
func (x *interceptor) rateLimit(tool, rate string, n Note) error {
	count, window, ok := strings.Cut(rate, "/")
	calls, err := strconv.ParseInt(count, 10, 64)
	if !ok || err != nil {
		return fmt.Errorf("the rate %s is not known; it is a number, / and minute, hour or day", document.Quote(rate))
	}
	return x.limit(tool, calls, window, n)
}

// counter translates a condition on a counter of calls that the same rule counts.
func (x *interceptor) counter(tool string, c, state document.Value, n Note) error {
	op, _ := c.Get("op")
	most, _ := c.Get("value")
	window, _ := state.Get("window")
	path, _ := c.Get("path")
	name, _ := state.Get("counter")
	by, given := state.Get("increment")
	step := int64(1)
	if given {
		step, _ = strconv.ParseInt(string(by.Number()), 10, 64)
		step = max(step, 1)
	}
	scope := tool
	if tool == "*" {
		scope = "_global"
	}
	calls, err := strconv.ParseInt(string(most.Number()), 10, 64)
	switch {
	case path.Str() != "state."+scope+"."+name.Str():
		return errors.New("a counter that another rule counts is not translated")
	case state.Len() > 0 && hasMember(state, "increment_from"):
		return errors.New("a counter of an argument's value is not translated; write an amount_limit")
	case err != nil || op.Str() != "lte" && op.Str() != "lt":
		return errors.New("only lte and lt with a whole number are translated for a counter")
	case op.Str() == "lt":
		calls--
	}
	return x.limit(tool, calls/step, window.Str(), n)
}

func hasMember(v document.Value, name string) bool {
	_, ok := v.Get(name)
	return ok
}

// limit adds a rate limit, which is one of a rule that allows.
func (x *interceptor) limit(tool string, calls int64, window string, n Note) error {
	seconds, ok := interceptWindows[window]
	switch {
	case !ok:
		return fmt.Errorf("the window %s is not known; it is minute, hour or day", document.Quote(window))
	case calls < 1:
		return errors.New("the limit admits no call")
	case tool == "*" && x.denies:
		return errors.New("a limit on all tools together would allow those that are not listed")
	}
	x.widen(Note{Line: n.Line, Text: n.Text, Why: "windows roll and do not begin anew by the clock; a call that fails counts"})
	return x.add(allow, x.capabilities(tool), clause{}, field("rate_limit", object(
		field("max_calls", document.NumberValue(strconv.FormatInt(calls, 10))),
		field("window_seconds", document.NumberValue(strconv.FormatInt(seconds, 10))),
	)))
}

// interceptCondition translates a condition on an argument.
func interceptCondition(c document.Value) (document.Value, error) {
	path, _ := c.Get("path")
	op, _ := c.Get("op")
	value, _ := c.Get("value")
	args, ok := strings.CutPrefix(path.Str(), "args.")
	if !ok || args == "" {
		return document.Value{}, fmt.Errorf("the path %s is neither args.NAME nor a counter", path)
	}
	pointer := document.Pointer(strings.Split(args, ".")...)
	if strings.Contains(pointer, "*") {
		return document.Value{}, errors.New("a path with * is not translated")
	}
	switch name := op.Str(); name {
	case "eq":
		return one(pointer, value), scalar(value)
	case "in":
		return one(pointer, value), list(value)
	case "neq":
		return differs(pointer, value)
	case "not_in":
		return differsFromAll(pointer, value)
	case "lt", "lte", "gt", "gte":
		if value.Kind() != document.Number {
			return document.Value{}, fmt.Errorf("%s compares with a number, not with %s", name, value)
		}
		return one(pointer, one(name, value)), nil
	case "contains":
		return part(pointer, value)
	case "exists":
		if value.Kind() != document.Bool {
			return document.Value{}, errors.New("exists is true or false")
		}
		if !value.Bool() {
			return one(pointer, one("not_exists", document.BoolValue(true))), nil
		}
		return one(pointer, one("exists", document.BoolValue(true))), nil
	case "regex":
		return simpleRegex(pointer, value.Str())
	default:
		return document.Value{}, fmt.Errorf("the operator %s is not known", op)
	}
}

func scalar(v document.Value) error {
	if k := v.Kind(); k != document.String && k != document.Number && k != document.Bool {
		return fmt.Errorf("%s is compared with as a text there; only texts, numbers and booleans are translated", clipped(v.String()))
	}
	return nil
}

func list(v document.Value) error {
	if v.Kind() != document.Array || v.Len() == 0 {
		return errors.New("it compares with a list of values")
	}
	for _, item := range v.Elements() {
		if err := scalar(item); err != nil {
			return err
		}
	}
	return nil
}

// differs returns the condition that an argument is another value of the same kind. Numbers are
// compared by order, which is in doubt where they have more digits than a float.
func differs(pointer string, v document.Value) (document.Value, error) {
	if v.Kind() == document.Number {
		return anyOf(one(pointer, one("lt", v)), one(pointer, one("gt", v))), nil
	}
	return one(pointer, one("neq", v)), scalar(v)
}

func differsFromAll(pointer string, v document.Value) (document.Value, error) {
	if err := list(v); err != nil {
		return document.Value{}, err
	}
	var all []document.Value
	for _, item := range v.Elements() {
		condition, err := differs(pointer, item)
		if err != nil {
			return document.Value{}, err
		}
		all = append(all, condition)
	}
	return allOf(all...), nil
}

// part returns the condition that an argument is a text with a part.
func part(pointer string, v document.Value) (document.Value, error) {
	if v.Kind() != document.String || v.Str() == "" || strings.ContainsAny(v.Str(), `*?\`) {
		return document.Value{}, errors.New("contains is translated for texts without *, ? and \\ only")
	}
	return like(pointer, "*"+v.Str()+"*"), nil
}

// simpleRegex translates a regular expression that is a fixed beginning, end or whole, or one of
// several.
func simpleRegex(pointer, expression string) (document.Value, error) {
	body, begins := strings.CutPrefix(expression, "^")
	body, ends := strings.CutSuffix(body, "$")
	choices := []string{body}
	if inner, ok := strings.CutPrefix(body, "("); ok && begins && strings.HasSuffix(inner, ")") {
		choices = strings.Split(strings.TrimSuffix(inner, ")"), "|")
	}
	var any []document.Value
	for _, choice := range choices {
		literal, ok := literalOf(choice)
		if !ok || literal == "" {
			return document.Value{}, errors.New("only regular expressions of fixed text with ^ and $ are translated")
		}
		if begins && ends {
			any = append(any, one(pointer, text(literal)))
			continue
		}
		pattern := literal
		if !begins {
			pattern = "*" + pattern
		}
		if !ends {
			pattern += "*"
		}
		any = append(any, like(pointer, pattern))
	}
	return anyOf(any...), nil
}

// literalOf returns the text that an expression without operators stands for.
func literalOf(expression string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(expression); i++ {
		c := expression[i]
		if c == '\\' && i+1 < len(expression) && strings.IndexByte(`.-/@_`, expression[i+1]) >= 0 {
			i++
			c = expression[i]
		} else if strings.IndexByte(`\.+*?()|[]{}^$`, c) >= 0 {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), true
}
