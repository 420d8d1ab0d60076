package check

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// identity returns who makes the call, for its record.
func (a Attempt) identity() *ledger.Identity {
	p := a.Caller.Principal
	id := &ledger.Identity{Role: string(p.Role), Token: string(KindOf(p)), Via: a.Caller.Via, Person: p.Person}
	if a.Effective != nil && a.Effective.Status != nil {
		id.Agent, id.AgentVersion = a.Effective.Own.Name, a.Effective.Own.Version
		id.Lineage = ledger.LineageOf(a.Effective.Lineage)
		if len(a.Effective.Lineage) > 0 {
			id.Root = a.Effective.Lineage[0]
		}
	}
	if a.Effective == nil || a.Effective.For.Human == nil || a.Effective.For.Two() {
		return id
	}
	h := a.Effective.For.Human

	id.Human = &ledger.Human{Name: h.Name, Issuer: h.Issuer, Source: string(h.Source), GroupsKnown: h.GroupsKnown && a.Effective.For.Why == "", Expires: h.Expires}
	id.Attributes = a.logged(h)
	return id
}

// KindOf returns the kind of a principal's token; empty for a caller without one.
func KindOf(p auth.Principal) auth.Kind {
	if p.Kind == "" && p.Session != "" {
		return auth.OfSession
	}
	return p.Kind
}

const (
	// mostAttributes bounds the attributes in the log, and longestAttribute the bytes of each.
	mostAttributes   = 8
	longestAttribute = 128
)

// logged returns the attributes of a human that the deployment logs, as masked texts; nil for none.
func (a Attempt) logged(h *auth.Human) map[string]string {
	var texts map[string]string
	for _, name := range a.logAttributes {
		value, ok := h.Attributes[name]
		if !ok || len(texts) == mostAttributes {
			continue
		}
		if texts == nil {
			texts = map[string]string{}
		}
		texts[name] = clipText(a.masks.Text(strings.Join(attributeTexts(value), ", ")))
	}
	return texts
}

// attributeTexts returns an attribute as texts: of a list, each element.
func attributeTexts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case bool:
		return []string{strconv.FormatBool(v)}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case []string:
		return v
	case []any: // as JSON has it
		var texts []string
		for _, element := range v {
			texts = append(texts, attributeTexts(element)...)
		}
		return texts
	default:
		return nil
	}
}

func clipText(text string) string {
	if len(text) <= longestAttribute {
		return text
	}
	cut := longestAttribute
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// LogAttributes returns an error for names of attributes that cannot all be logged.
func LogAttributes(names []string) error {
	if len(names) > mostAttributes {
		return fmt.Errorf("--log-attributes names %d attributes; the log has at most %d", len(names), mostAttributes)
	}
	return nil
}
