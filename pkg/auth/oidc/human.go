package oidc

import (
	"context"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"

	"github.com/interlock-run/interlock/pkg/auth"
)

// Bounds of the facts about a person. A token of more than these is good, and the facts are not known.
const (
	mostGroups        = 1024
	longestGroup      = 512
	longestAttribute  = 1024
	mostAttributeList = 64
)

var _ auth.Humans = (*Authenticator)(nil)

// Human implements auth.Humans: the person of a checked token, whether or not its role is known here.
func (a *Authenticator) Human(ctx context.Context, token string) (*auth.Human, error) {
	verified, err := a.verify(ctx, token, a.cfg.Audience)
	if err != nil {
		return nil, err
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return nil, auth.Refused("its claims are not a JSON object")
	}
	if before, ok := c["nbf"].(float64); ok && before > float64(a.now().Add(maxSkew).Unix()) {
		return nil, auth.Refused("it is not valid yet")
	}
	if _, acts := c["act"]; acts {
		return nil, auth.Refused("it has an actor: the person themselves must have got it")
	}
	if _, err := a.name(c); err != nil {
		return nil, err
	}
	return a.human(verified, c), nil
}

// human returns the facts about the subject of a token.
func (a *Authenticator) human(token *coreos.IDToken, c claims) *auth.Human {
	name, _ := c.at(a.cfg.NameClaim).(string)
	h := &auth.Human{Name: name, Issuer: a.cfg.Issuer, Subject: token.Subject, Source: auth.Issuer, Expires: token.Expiry.UTC()}
	if at, ok := c["auth_time"].(float64); ok {
		h.AuthenticatedAt = time.Unix(int64(at), 0).UTC()
	}
	h.Groups, h.GroupsKnown = a.groups(c)
	for _, claim := range a.cfg.Attributes {
		value, ok := attribute(c.at(claim))
		if !ok {
			continue
		}
		if h.Attributes == nil {
			h.Attributes = map[string]any{}
		}
		h.Attributes[claim] = value
	}
	return h
}

// groups returns the groups of a person. They are not known if the claim is missing, or if the issuer says that it has left out
// groups of a person who is in many.
func (a *Authenticator) groups(c claims) (groups []string, known bool) {
	claim := a.cfg.GroupsClaim
	if claim == "" {
		return nil, false
	}
	if elsewhere, ok := c["_claim_names"]; ok {
		names, isObject := elsewhere.(map[string]any)
		if _, left := names[claim]; left || !isObject {
			return nil, false
		}
	}
	if has, ok := c["hasgroups"]; ok && has != false && has != "false" {
		return nil, false
	}
	switch value := c.at(claim).(type) {
	case string:
		groups = []string{value}
	case []any:
		for _, element := range value {
			text, ok := element.(string)
			if !ok {
				return nil, false
			}
			groups = append(groups, text)
		}
	default:
		return nil, false
	}
	if len(groups) > mostGroups {
		return nil, false
	}
	for _, g := range groups {
		if g == "" || len(g) > longestGroup {
			return nil, false
		}
	}
	return groups, true
}

// attribute returns the value of a claim: a text, number or bool, or a list of texts. ok is false for any other.
func attribute(value any) (_ any, ok bool) {
	switch v := value.(type) {
	case string:
		return v, len(v) <= longestAttribute
	case bool, float64:
		return v, true
	case []any:
		texts := make([]string, len(v))
		for i, element := range v {
			text, isText := element.(string)
			if !isText || len(text) > longestAttribute {
				return nil, false
			}
			texts[i] = text
		}
		return texts, len(v) <= mostAttributeList
	default:
		return nil, false
	}
}
