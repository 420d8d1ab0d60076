package authzen

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// human returns the person that a subject is, by the word of the one who asks; nil for a subject that is none. The policy
// enforcer decides how far that word counts. Groups that are no list of texts are not known.
func (h *Handler) human(s *entity) (*policyv1.Human, *failure) {
	if h.HumanType == "" || s.Type != h.HumanType {
		return nil, nil
	}
	human := &policyv1.Human{Name: s.ID, Issuer: h.HumanIssuer}
	if given, ok := s.Properties[h.GroupsProperty]; ok && h.GroupsProperty != "" {
		if err := json.Unmarshal(given, &human.Groups); err != nil || given.Kind() != '[' {
			return nil, bad("subject.properties.%s must be a list of strings", h.GroupsProperty)
		}
		human.GroupsKnown = true
	}
	attributes := map[string]jsontext.Value{}
	for _, name := range h.Attributes {
		if value, ok := s.Properties[name]; ok {
			attributes[name] = value
		}
	}
	if len(attributes) == 0 {
		return human, nil
	}
	text, err := json.Marshal(attributes, json.Deterministic(true))
	if err != nil {
		return nil, bad("the properties of the subject cannot be read")
	}
	human.Attributes = text
	return human, nil
}
