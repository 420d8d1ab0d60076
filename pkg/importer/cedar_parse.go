package importer

import (
	"fmt"
	"strings"
)

// cedarPolicy is one statement.
type cedarPolicy struct {
	line    int
	text    string
	label   string
	forbids bool
	// principal, action and resource are the three parts of the scope.
	principal, action, resource cedarScope
	conditions                  []cedarClause
}

// cedarScope is one part of a scope: a name alone, or one with an operator.
type cedarScope struct {
	// op is empty, ==, in or is; other is a form that is not read.
	op       string
	entities []cedarEntity
	text     string
}

// cedarEntity is Type::"id"; a type alone has no id.
type cedarEntity struct{ kind, id string }

// cedarClause is when or unless with the tokens in its braces.
type cedarClause struct {
	unless bool
	tokens []cedarToken
}

// cedarReader reads tokens. Its errors end the reading: a text that is not Cedar has no policies.
type cedarReader struct {
	src    string
	tokens []cedarToken
	at     int
}

func (r *cedarReader) peek() cedarToken { return r.tokens[r.at] }

func (r *cedarReader) next() cedarToken {
	t := r.tokens[r.at]
	if t.kind != cedarEnd {
		r.at++
	}
	return t
}

// is reports and takes a sign or a word.
func (r *cedarReader) is(text string) bool {
	if t := r.peek(); (t.kind == cedarSign || t.kind == cedarName) && t.text == text {
		r.at++
		return true
	}
	return false
}

func (r *cedarReader) want(text string) error {
	if r.is(text) {
		return nil
	}
	t := r.peek()
	if t.kind == cedarEnd {
		return fmt.Errorf("line %d: the text ends where %q is expected", t.line, text)
	}
	return fmt.Errorf("line %d: %q is expected and not %q", t.line, text, t.text)
}

// parseCedar reads all policies of a text.
func parseCedar(src string) ([]cedarPolicy, error) {
	tokens, err := scanCedar(src)
	if err != nil {
		return nil, err
	}
	r := &cedarReader{src: src, tokens: tokens}
	var policies []cedarPolicy
	for r.peek().kind != cedarEnd {
		p, err := r.policy()
		if err != nil {
			return nil, err
		}
		policies = append(policies, p)
	}
	return policies, nil
}

func (r *cedarReader) policy() (cedarPolicy, error) {
	p := cedarPolicy{line: r.peek().line}
	start := r.peek().start
	for r.is("@") {
		name := r.next()
		if r.is("(") {
			value := r.next()
			if name.text == "id" {
				p.label = value.text
			}
			if err := r.want(")"); err != nil {
				return p, err
			}
		}
	}
	switch {
	case r.is("permit"):
	case r.is("forbid"):
		p.forbids = true
	default:
		return p, fmt.Errorf("line %d: a policy begins with permit or forbid, not with %q", r.peek().line, r.peek().text)
	}
	if err := r.want("("); err != nil {
		return p, err
	}
	for i, part := range []*cedarScope{&p.principal, &p.action, &p.resource} {
		if i > 0 {
			if err := r.want(","); err != nil {
				return p, err
			}
		}
		if err := r.scope([]string{"principal", "action", "resource"}[i], part); err != nil {
			return p, err
		}
	}
	r.is(",")
	if err := r.want(")"); err != nil {
		return p, err
	}
	err := r.clauses(&p)
	p.text = r.src[start:r.tokens[max(r.at-1, 0)].end]
	return p, err
}

// scope reads one part of a scope up to the comma or the parenthesis behind it.
func (r *cedarReader) scope(name string, into *cedarScope) error {
	if err := r.want(name); err != nil {
		return err
	}
	start := r.at
	end, err := r.matching(func(t cedarToken) bool { return t.text == "," || t.text == ")" })
	if err != nil {
		return err
	}
	part := &cedarReader{src: r.src, tokens: append(append([]cedarToken{}, r.tokens[start:end]...), cedarToken{line: r.tokens[end].line})}
	r.at = end
	if start == end {
		return nil
	}
	into.text = r.src[r.tokens[start].start:r.tokens[end-1].end]
	into.op, into.entities = part.scopeOperator()
	if part.peek().kind != cedarEnd {
		into.op = "other"
	}
	return nil
}

// scopeOperator reads == E, in E, in [E, ...] and is T.
func (r *cedarReader) scopeOperator() (op string, entities []cedarEntity) {
	op = r.next().text
	if op != "==" && op != "in" && op != "is" {
		return "other", nil
	}
	if op == "in" && r.is("[") {
		for !r.is("]") {
			e, ok := r.entity()
			if !ok {
				return "other", nil
			}
			entities = append(entities, e)
			r.is(",")
		}
		return op, entities
	}
	e, ok := r.entity()
	if !ok {
		return "other", nil
	}
	return op, []cedarEntity{e}
}

// entity reads A::B::"id" or A::B.
func (r *cedarReader) entity() (cedarEntity, bool) {
	var kind []string
	for {
		switch t := r.peek(); {
		case t.kind == cedarName:
			kind = append(kind, r.next().text)
		case t.kind == cedarText && len(kind) > 0:
			id, ok := unquoteCedar(r.next().text, false)
			return cedarEntity{strings.Join(kind, "::"), id}, ok
		default:
			return cedarEntity{}, false
		}
		if !r.is("::") {
			return cedarEntity{kind: strings.Join(kind, "::")}, true
		}
	}
}

// clauses reads when and unless up to the semicolon.
func (r *cedarReader) clauses(p *cedarPolicy) error {
	for {
		switch {
		case r.is(";"):
			return nil
		case r.is("when"), r.is("unless"):
			clause := cedarClause{unless: r.tokens[r.at-1].text == "unless"}
			if err := r.want("{"); err != nil {
				return err
			}
			start := r.at
			end, err := r.matching(func(t cedarToken) bool { return t.text == "}" })
			if err != nil {
				return err
			}
			clause.tokens = append(append([]cedarToken{}, r.tokens[start:end]...), cedarToken{line: r.tokens[end].line})
			p.conditions = append(p.conditions, clause)
			r.at = end + 1
		default:
			return r.want(";")
		}
	}
}

// matching returns the place of the next sign outside of brackets.
func (r *cedarReader) matching(stop func(cedarToken) bool) (int, error) {
	depth := 0
	for i := r.at; i < len(r.tokens); i++ {
		t := r.tokens[i]
		if t.kind != cedarSign {
			continue
		}
		if depth == 0 && stop(t) {
			return i, nil
		}
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
	}
	return 0, fmt.Errorf("line %d: a bracket is not closed", r.peek().line)
}
