package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/oidc"
	"github.com/interlock-run/interlock/pkg/auth/persontoken"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// AuthFlags of every command that serves: whose tokens count in addition to those of the
// tokens file. All services of an installation want the same.
type AuthFlags struct {
	TokenKey           string   `help:"Key of session tokens, which interlock token mint creates." env:"INTERLOCK_TOKEN_KEY" type:"path" placeholder:"FILE"`
	PersonKey          string   `help:"Key of the tokens of people who have logged in: base64 of 32 random bytes." env:"INTERLOCK_PERSON_KEY" type:"path" placeholder:"FILE"`
	OIDCIssuer         string   `name:"oidc-issuer" help:"OpenID Connect issuer whose tokens are also accepted." env:"INTERLOCK_OIDC_ISSUER" placeholder:"URL"`
	OIDCAudience       string   `name:"oidc-audience" help:"Audience that its tokens must have." env:"INTERLOCK_OIDC_AUDIENCE" placeholder:"ID"`
	OIDCRoleClaim      string   `name:"oidc-role-claim" help:"Claim with the role: a text or a list; dots lead into objects." default:"interlock_role" env:"INTERLOCK_OIDC_ROLE_CLAIM" placeholder:"CLAIM"`
	OIDCRoleMap        []string `name:"oidc-role-map" help:"Maps values of that claim to roles; the default is the roles' names." env:"INTERLOCK_OIDC_ROLE_MAP" placeholder:"VALUE=ROLE"`
	OIDCNameClaim      string   `name:"oidc-name-claim" help:"Claim with the name. Each person must have one name and must not be able to change it: a requester is recognised by name." default:"sub" env:"INTERLOCK_OIDC_NAME_CLAIM" placeholder:"CLAIM"`
	OIDCGroups         string   `name:"oidc-groups-claim" help:"Claim with the groups of people, for conditions: a text or a list; dots lead into objects. Without it no groups are known." env:"INTERLOCK_OIDC_GROUPS_CLAIM" placeholder:"CLAIM"`
	OIDCAttribute      []string `name:"oidc-attributes" help:"Claims of people that conditions may look at: texts, numbers, bools and lists of texts." env:"INTERLOCK_OIDC_ATTRIBUTES" placeholder:"CLAIM"`
	OIDCNamespaces     []string `name:"oidc-namespaces" help:"Namespaces that tokens of the issuer may call in, unless a claim names others; * is all." default:"default" env:"INTERLOCK_OIDC_NAMESPACES" placeholder:"NAME"`
	OIDCNamespaceClaim string   `name:"oidc-namespace-claim" help:"Claim with the namespaces that the caller may call in: a text or a list. A token without it may call in those of --oidc-namespaces." env:"INTERLOCK_OIDC_NAMESPACE_CLAIM" placeholder:"CLAIM"`
	OIDCCA             string   `name:"oidc-ca" help:"CA of the issuer's certificate (PEM); the system's by default." env:"INTERLOCK_OIDC_CA" type:"path" placeholder:"FILE"`

	// People is the key of the tokens of people where it is in no file.
	People persontoken.Key `kong:"-"`
	// Sessions is the key of session tokens where it is in no file that can be read; nil for none.
	Sessions *sessiontoken.Key `kong:"-"`
}

func (f AuthFlags) empty() bool { return f.TokenKey == "" && f.PersonKey == "" && f.OIDCIssuer == "" }

// PeopleKey returns the key of the tokens of people: that of the file, or else of People, which
// may be none.
func (f AuthFlags) PeopleKey() (persontoken.Key, error) {
	if f.PersonKey == "" {
		return f.People, nil
	}
	key, err := persontoken.LoadKey(f.PersonKey)
	if err != nil {
		return key, fmt.Errorf("--person-key: %w", err)
	}
	return key, nil
}

// Authenticator returns an authenticator of tokens: one of the tokens file, which may be
// nil, of a session or of the issuer. It is nil when there are none of these. It makes no
// calls yet.
func (f AuthFlags) Authenticator(tokens *auth.Tokens, log *slog.Logger) (auth.Authenticator, error) {
	var all []auth.Authenticator
	if tokens != nil {
		all = append(all, tokens)
	}
	sessions, err := f.MintingKey()
	if err != nil {
		return nil, err
	}
	if sessions != nil {
		all = append(all, sessiontoken.New(*sessions, tokens))
	}
	people, err := f.PeopleKey()
	if err != nil {
		return nil, err
	}
	if !people.IsZero() {
		all = append(all, persontoken.New(people, tokens))
	}
	issuer, err := f.Issuer(tokens, log)
	if err != nil {
		return nil, err
	}
	if issuer != nil {
		all = append(all, issuer)
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return auth.Chain(all[0]), nil
	default:
		return auth.Chain(all...), nil
	}
}

// MintingKey returns the key of session tokens; nil when none was given.
func (f AuthFlags) MintingKey() (*sessiontoken.Key, error) {
	if f.TokenKey == "" {
		return f.Sessions, nil
	}
	key, err := sessiontoken.LoadKey(f.TokenKey)
	if err != nil {
		return nil, fmt.Errorf("--token-key: %w", err)
	}
	return &key, nil
}

// Issuer authenticates by the tokens of the OpenID Connect issuer; nil when none was given.
func (f AuthFlags) Issuer(tokens *auth.Tokens, log *slog.Logger) (*oidc.Authenticator, error) {
	if f.OIDCIssuer == "" {
		if f.OIDCAudience != "" || f.OIDCCA != "" || len(f.OIDCRoleMap) > 0 {
			return nil, errors.New("flags of an OpenID Connect issuer require --oidc-issuer")
		}
		return nil, nil
	}
	if f.OIDCAudience == "" {
		return nil, fmt.Errorf("--oidc-issuer %s: give --oidc-audience with the client id that its tokens for this installation have", f.OIDCIssuer)
	}
	roles, err := roleMap(f.OIDCRoleMap)
	if err != nil {
		return nil, err
	}
	for _, name := range f.OIDCNamespaces {
		if name != string(auth.AllNamespaces) && !rpc.ValidNamespace(name) {
			return nil, fmt.Errorf("--oidc-namespaces %q: give 1 to 63 lower-case letters, digits and hyphens, or * for all", name)
		}
	}
	issuer, err := oidc.New(oidc.Config{
		Issuer: f.OIDCIssuer, Audience: f.OIDCAudience, NameClaim: f.OIDCNameClaim, RoleClaim: f.OIDCRoleClaim, NamespaceClaim: f.OIDCNamespaceClaim, Namespaces: auth.NamespacesOf(f.OIDCNamespaces...),
		GroupsClaim: f.OIDCGroups, Attributes: f.OIDCAttribute, Roles: roles, CAFile: f.OIDCCA, Names: tokens, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %w", err)
	}
	return issuer, nil
}

// roleMap reads VALUE=ROLE. Values may have an = of their own.
func roleMap(pairs []string) (map[string]auth.Role, error) {
	roles := make(map[string]auth.Role, len(pairs))
	for _, pair := range pairs {
		at := strings.LastIndexByte(pair, '=')
		role := auth.Role(strings.TrimSpace(pair[at+1:]))
		if at < 1 || !slices.Contains(auth.GivenRoles(), role) {
			return nil, fmt.Errorf("--oidc-role-map %q: give VALUE=ROLE with one of the roles %v", pair, auth.GivenRoles())
		}
		value := strings.TrimSpace(pair[:at])
		if other, twice := roles[value]; twice && other != role {
			return nil, fmt.Errorf("--oidc-role-map: %q maps to %s and %s; map it to one role", value, other, role)
		}
		roles[value] = role
	}
	return roles, nil
}
