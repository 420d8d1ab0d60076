package oidc

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"

	"github.com/interlock-run/interlock/pkg/auth"
)

// claims are a token's.
type claims map[string]any

func readClaims(payload []byte) (claims, error) {
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	return c, nil
}

// at returns the claim of that name, or else the one that its parts between dots
// lead to. Names of claims can be URLs, which have dots too.
func (c claims) at(name string) any {
	if value, ok := c[name]; ok {
		return value
	}
	var value any = map[string]any(c)
	for part := range strings.SplitSeq(name, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[part]
	}
	return value
}

// texts returns a claim that is a text or a list of texts.
func (c claims) texts(name string) []string {
	switch value := c.at(name).(type) {
	case string:
		return []string{value}
	case []any:
		var all []string
		for _, element := range value {
			if text, ok := element.(string); ok {
				all = append(all, text)
			}
		}
		return all
	default:
		return nil
	}
}

// principal returns the caller that the claims of a checked token name.
func (a *Authenticator) principal(token *coreos.IDToken) (auth.Principal, error) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return auth.Principal{}, auth.Refused("its claims are not a JSON object")
	}
	if before, ok := c["nbf"].(float64); ok && before > float64(a.now().Add(maxSkew).Unix()) {
		return auth.Principal{}, auth.Refused("it is not valid yet")
	}
	name, acts, err := a.actor(c)
	if err == nil {
		var role auth.Role
		if role, err = a.role(c); err == nil {
			caller := a.caller(token, c, name, role, acts)
			if caller.Namespaces, err = a.namespaces(c); err == nil {
				return caller, nil
			}
		}
	}
	if a.warned.pass(a.now()) {
		a.cfg.Logger.Warn("a token of the issuer is refused", slog.String("issuer", a.cfg.Issuer),
			slog.String("subject", clip(token.Subject)), slog.String("error", err.Error()))
	}
	return auth.Principal{}, err
}

// actor returns the name of the caller: of the outermost actor of a token that one has for another (RFC 8693), or of its
// subject. Actors further in are no part of any decision.
func (a *Authenticator) actor(c claims) (name string, acts bool, err error) {
	if _, acts = c["act"]; !acts {
		name, err = a.name(c)
		return name, false, err
	}
	act, ok := c["act"].(map[string]any)
	if !ok {
		return "", true, auth.Refused("its claim \"act\" is not a JSON object")
	}
	if _, err := a.name(c); err != nil { // the human
		return "", true, err
	}
	name, _ = act["sub"].(string)
	if !auth.ValidName(name) {
		return "", true, auth.Refused("its claim \"act\" names no actor as \"sub\"")
	}
	if role, taken := a.cfg.Names.Reserved(name); taken {
		return "", true, auth.Refused("the name %q of its actor belongs to a principal of this installation, of the role %s", name, role)
	}
	return name, true, nil
}

// caller returns the principal of a token. People are their own human, and an actor's is the subject.
func (a *Authenticator) caller(token *coreos.IDToken, c claims, name string, role auth.Role, acts bool) auth.Principal {
	p := auth.Principal{Name: name, Role: role, Kind: auth.OIDC, Expires: token.Expiry.UTC()}
	if id, ok := c["jti"].(string); ok && auth.ValidName(id) {
		p.TokenID = id
	}
	person := !acts && !role.Drives() && role != auth.Service
	if person {
		p.Presence = auth.ByIssuer
	}
	if acts || person {
		p.Human = a.human(token, c)
	}
	return p
}

func (a *Authenticator) name(c claims) (string, error) {
	name, _ := c.at(a.cfg.NameClaim).(string)
	if !auth.ValidName(name) {
		return "", auth.Refused("its claim %q is not a valid name", a.cfg.NameClaim)
	}
	if a.cfg.NameClaim == "email" && c["email_verified"] != true && c["email_verified"] != "true" {
		return "", auth.Refused("its e-mail address is not verified")
	}
	if role, taken := a.cfg.Names.Reserved(name); taken {
		return "", auth.Refused("the name %q belongs to a principal of this installation, of the role %s", name, role)
	}
	return name, nil
}

// namespaces returns the namespaces of a token: those of the claim, or else those of the configuration. A claim that names
// none, or anything that is no name, is refused: it was meant to bind the caller.
func (a *Authenticator) namespaces(c claims) (auth.Namespaces, error) {
	if a.cfg.NamespaceClaim == "" {
		return a.cfg.Namespaces, nil
	}
	value := c.at(a.cfg.NamespaceClaim)
	if value == nil {
		return a.cfg.Namespaces, nil
	}
	names := c.texts(a.cfg.NamespaceClaim)
	all, isList := value.([]any)
	if len(names) == 0 || isList && len(names) != len(all) || slices.ContainsFunc(names, func(n string) bool { return !namespace().MatchString(n) }) {
		return "", auth.Refused("its claim %q must be a namespace, or a list of namespaces", a.cfg.NamespaceClaim)
	}
	return auth.NamespacesOf(names...), nil
}

// namespace matches the name of a namespace. A claim has no way to say all of them: the role root has.
var namespace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`) })

// role denies when the claim maps to several roles: the issuer has to say which of them
// it means, and whether one person may ask and decide.
func (a *Authenticator) role(c claims) (auth.Role, error) {
	var found auth.Role
	for _, value := range c.texts(a.cfg.RoleClaim) {
		role, mapped := a.cfg.Roles[value]
		if !mapped || role == found {
			continue
		}
		if found != "" {
			return "", auth.Refused("its claim %q gives the roles %s and %s; it must give one", a.cfg.RoleClaim, found, role)
		}
		found = role
	}
	if found == "" {
		return "", auth.Refused("its claim %q gives no role here", a.cfg.RoleClaim)
	}
	return found, nil
}

// throttle passes once a second.
type throttle struct{ next atomic.Int64 }

func (t *throttle) pass(now time.Time) bool {
	next := t.next.Load()
	return now.UnixNano() >= next && t.next.CompareAndSwap(next, now.Add(time.Second).UnixNano())
}

// clip shortens text of other parties before it is logged.
func clip(s string) string {
	const most = 256
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
