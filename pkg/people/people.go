// Package people has the rules of people and their keys: who may change whom, which names count once,
// and that an operator stays. It does no I/O, and gets the time as an argument.
package people

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Kind is the kind of a key.
type Kind string

// The kinds of keys.
const (
	Passkey    Kind = "passkey"
	SSHKey     Kind = "ssh_key"
	Passphrase Kind = "passphrase"
)

const (
	// MaxPeople is how many people a deployment can have: all are in one record, so that rules over all of
	// them hold. Those of an identity provider need not be among them.
	MaxPeople = 500
	// MaxCredentials is how many keys a person can have.
	MaxCredentials = 16
	// InvitationLife is how long the code of an invitation counts.
	InvitationLife = 24 * time.Hour
	// PassphraseID is the id of a person's passphrase.
	PassphraseID = "passphrase"
	// defaultNamespace is that of people who are given none.
	defaultNamespace = "default"
)

// Credential is a key by which a person logs in.
type Credential struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// PublicKey is the COSE key of a passkey, or the wire form of an SSH key.
	PublicKey []byte `json:"public_key,omitempty"`
	// Hash is that of a passphrase.
	Hash string `json:"hash,omitempty"`
	// SignCount is the counter of signatures that was seen last.
	SignCount uint32 `json:"sign_count,omitempty"`
	// Presence is how the key shows that the person is there; empty when it does not.
	Presence   auth.Presence `json:"presence,omitempty"`
	Label      string        `json:"label,omitempty"`
	CreatedAt  time.Time     `json:"created_at"`
	LastUsedAt time.Time     `json:"last_used_at,omitzero"`
}

// Spec is the part of a person that operators register.
type Spec struct {
	Name       string            `json:"name"`
	Roles      []auth.Role       `json:"roles"`
	Namespaces []string          `json:"namespaces"`
	Groups     []string          `json:"groups,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Identities are names elsewhere: "slack:T01/U02".
	Identities []string `json:"identities,omitempty"`
}

// Invitation is a code by which the person registers a key once. Only its digest is kept.
type Invitation struct {
	Digest []byte    `json:"digest"`
	Until  time.Time `json:"until"`
}

// Person is one who decides, operates or looks on.
type Person struct {
	Spec

	Credentials []Credential `json:"credentials,omitempty"`
	Invitation  *Invitation  `json:"invitation,omitempty"`
	Version     int64        `json:"version"`
	CreatedAt   time.Time    `json:"created_at"`
	UpdatedAt   time.Time    `json:"updated_at"`
}

// Credential returns the key of an id; nil for none.
func (p *Person) Credential(id string) *Credential {
	for i := range p.Credentials {
		if p.Credentials[i].ID == id {
			return &p.Credentials[i]
		}
	}
	return nil
}

// Scope returns the namespaces that the person may call in.
func (p *Person) Scope() auth.Namespaces { return auth.NamespacesOf(p.Namespaces...) }

// Has reports whether the person may have a role.
func (p *Person) Has(role auth.Role) bool { return slices.Contains(p.Roles, role) }

// MayRoles returns the roles that people may have: not those of agents and programs.
func MayRoles() []auth.Role {
	return []auth.Role{auth.Operator, auth.Approver, auth.Observer, auth.Root}
}

var (
	name     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$`) })
	label    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`) })
	identity = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}:[!-~]{1,479}$`) })
)

func invalid(pointer, format string, args ...any) error {
	e := fault.New(fault.InvalidRequest, format, args...)
	return e.Violate(pointer, "invalid", e.Message)
}

// normalized returns the spec sorted, without repetitions and with the default namespace.
func (s Spec) normalized() Spec {
	s.Roles, s.Groups, s.Identities = sorted(s.Roles), sorted(s.Groups), sorted(s.Identities)
	if len(s.Namespaces) == 0 {
		s.Namespaces = []string{defaultNamespace}
	}
	s.Namespaces = auth.NamespacesOf(s.Namespaces...).List()
	return s
}

func sorted[T cmp.Ordered](all []T) []T { return slices.Compact(slices.Sorted(slices.Values(all))) }

// check describes the first problem of a spec.
func (s *Spec) check() error {
	if !name().MatchString(s.Name) {
		return invalid("/name", "the name %q must have 1 to 128 letters, digits and . _ @ + -, and begin with a letter or a digit, so that no name looks like another", s.Name)
	}
	if len(s.Roles) == 0 {
		return invalid("/roles", "%s has no role; give one or more of %v", s.Name, MayRoles())
	}
	for _, role := range s.Roles {
		if !slices.Contains(MayRoles(), role) {
			return invalid("/roles", "a person cannot have the role %q; give one or more of %v", string(role), MayRoles())
		}
	}
	for _, n := range s.Namespaces {
		if n != string(auth.AllNamespaces) && !label().MatchString(n) {
			return invalid("/namespaces", "the namespace %q is not valid: write 1 to 63 lower-case letters, digits and hyphens, or * for each", n)
		}
	}
	for _, group := range s.Groups {
		if !auth.ValidName(group) {
			return invalid("/groups", "the group %q must be printable text without spaces at its ends", group)
		}
	}
	for key, value := range s.Attributes {
		if value != "" && !auth.ValidName(value) {
			return invalid("/attributes/"+key, "the attribute %q must be printable text without spaces at its ends", key)
		}
	}
	for _, id := range s.Identities {
		if !identity().MatchString(id) {
			return invalid("/identities", "the identity %q is not valid: write SYSTEM:ID, such as slack:T01/U02 or github:ann", id)
		}
	}
	return nil
}

// Book is all people. Its methods change it, and refuse those that break a rule: then the book is not to be kept.
type Book struct {
	People map[string]*Person `json:"people"`
}

// Sorted returns all people by name.
func (b *Book) Sorted() []*Person {
	all := slices.Collect(maps.Values(b.People))
	slices.SortFunc(all, func(x, y *Person) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// ByIdentity returns the person who has an identity; nil for none.
func (b *Book) ByIdentity(id string) *Person {
	for _, p := range b.People {
		if slices.Contains(p.Identities, id) {
			return p
		}
	}
	return nil
}

// ByCredential returns the person who has a passkey or an SSH key, and the key; nil for none.
func (b *Book) ByCredential(kind Kind, id string) (*Person, *Credential) {
	for _, p := range b.People {
		if c := p.Credential(id); c != nil && c.Kind == kind && kind != Passphrase {
			return p, c
		}
	}
	return nil, nil
}

// ByCode returns the person whom a code invites; nil for none.
func (b *Book) ByCode(code string, now time.Time) *Person {
	given := Digest(code)
	for _, p := range b.People {
		if p.Invitation != nil && now.Before(p.Invitation.Until) && subtle.ConstantTimeCompare(given, p.Invitation.Digest) == 1 {
			return p
		}
	}
	return nil
}

// Digest returns the digest of the code of an invitation, which is kept in its place. A person may have typed it: case, spaces and
// dashes do not count.
func Digest(code string) []byte {
	sum := sha256.Sum256([]byte(strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(strings.TrimSpace(code)))))
	return sum[:]
}

// operators counts those who can log in.
func (b *Book) operators() (n int) {
	for _, p := range b.People {
		if len(p.Credentials) > 0 && (p.Has(auth.Operator) || p.Has(auth.Root)) {
			n++
		}
	}
	return n
}

// keepsOperator makes a change, and refuses one that takes the last operator's way in.
func (b *Book) keepsOperator(change func()) error {
	before := b.operators()
	change()
	if before > 0 && b.operators() == 0 {
		return fault.New(fault.FailedPrecondition, "this would leave no operator who can log in; give another person the role operator and a key first").Meta("code", "LAST_OPERATOR")
	}
	return nil
}

// Create adds a person.
func (b *Book) Create(s Spec, now time.Time) (*Person, error) {
	s = s.normalized()
	if err := s.check(); err != nil {
		return nil, err
	}
	for taken := range b.People {
		if strings.EqualFold(taken, s.Name) {
			return nil, fault.New(fault.NameTaken, "a person %q already exists; update them, or choose another name", taken)
		}
	}
	if len(b.People) >= MaxPeople {
		return nil, fault.New(fault.LimitReached, "there are %d people, which is the most; let others log in by OpenID Connect", MaxPeople)
	}
	if err := b.free(&s); err != nil {
		return nil, err
	}
	p := &Person{Spec: s, CreatedAt: now, UpdatedAt: now}
	if b.People == nil {
		b.People = map[string]*Person{}
	}
	b.People[s.Name] = p
	return p, nil
}

// free refuses identities of other people.
func (b *Book) free(s *Spec) error {
	for _, id := range s.Identities {
		if p := b.ByIdentity(id); p != nil && p.Name != s.Name {
			return fault.New(fault.NameTaken, "the identity %q is registered already; an identity is one person's", id)
		}
	}
	return nil
}

// Update replaces the registered part of a person.
func (b *Book) Update(p *Person, s Spec, now time.Time) error {
	s = s.normalized()
	if err := s.check(); err != nil {
		return err
	}
	if err := b.free(&s); err != nil {
		return err
	}
	return b.keepsOperator(func() { p.Spec, p.UpdatedAt = s, now })
}

// Delete removes a person.
func (b *Book) Delete(p *Person) error {
	return b.keepsOperator(func() { delete(b.People, p.Name) })
}

// Invite gives a person a code. It replaces the one before.
func (b *Book) Invite(p *Person, code string, now time.Time) {
	p.Invitation, p.UpdatedAt = &Invitation{Digest: Digest(code), Until: now.Add(InvitationLife)}, now
}

// Add gives a person a key. A passphrase replaces the one before.
func (b *Book) Add(p *Person, c Credential, now time.Time) error {
	if c.Label != "" && !auth.ValidName(c.Label) {
		return invalid("/label", "the name of the key must be printable text without spaces at its ends")
	}
	for _, other := range b.People {
		if c.Kind != Passphrase && other.Credential(c.ID) != nil {
			return fault.New(fault.NameTaken, "this key is registered already; a key is one person's")
		}
	}
	if c.Kind == Passphrase {
		p.Credentials = slices.DeleteFunc(p.Credentials, func(old Credential) bool { return old.Kind == Passphrase })
	}
	if len(p.Credentials) >= MaxCredentials {
		return fault.New(fault.LimitReached, "%s has %d keys, which is the most; remove one", p.Name, MaxCredentials)
	}
	c.CreatedAt = now
	p.Credentials, p.UpdatedAt = append(p.Credentials, c), now
	return nil
}

// Remove takes a key from a person, and returns it.
func (b *Book) Remove(p *Person, id string, now time.Time) (Credential, error) {
	found := p.Credential(id)
	if found == nil {
		return Credential{}, fault.New(fault.NotFound, "%s has no key %q", p.Name, id)
	}
	gone := *found
	return gone, b.keepsOperator(func() {
		p.Credentials = slices.DeleteFunc(p.Credentials, func(c Credential) bool { return c.ID == id })
		p.UpdatedAt = now
	})
}

// PasskeyID returns the id of a passkey as a text.
func PasskeyID(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// RawPasskeyID returns the id of the authenticator for an id of PasskeyID.
func RawPasskeyID(id string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(id) }

// Covers reports whether a caller may see and change people of these namespaces.
func Covers(caller auth.Principal, namespaces []string) bool {
	return !slices.ContainsFunc(namespaces, func(n string) bool {
		if n == string(auth.AllNamespaces) {
			return caller.Namespace != "" || caller.Namespaces != "" && caller.Namespaces != auth.AllNamespaces
		}
		return !caller.MayCallIn(n)
	})
}

// MayOperate refuses callers who may not change the registered part of a person, before or after.
func MayOperate(caller auth.Principal, specs ...Spec) error {
	if err := shown(caller); err != nil {
		return err
	}
	for _, s := range specs {
		if s = s.normalized(); !Covers(caller, s.Namespaces) {
			return fault.New(fault.PermissionDenied, "%s may call in namespaces that you may not; an operator of all of them can do this", s.Name)
		}
		if slices.Contains(s.Roles, auth.Root) && !caller.Root {
			return fault.New(fault.PermissionDenied, "only a caller of the role root may give or change a person of the role root")
		}
	}
	return nil
}

// MayAddKey refuses callers who may not give a person a key: but for the person, an operator may vouch for an
// SSH key.
func MayAddKey(caller auth.Principal, p *Person, kind Kind) error {
	if caller.Person == p.Name {
		return shown(caller)
	}
	if caller.Role != auth.Operator {
		return fault.New(fault.PermissionDenied, "only %s may add a key of their own; log in as %[1]s", p.Name)
	}
	if kind != SSHKey {
		return fault.New(fault.PermissionDenied, "only %s may add a passkey or a passphrase of their own: invite them with `interlock person invite %[1]s`", p.Name)
	}
	return MayOperate(caller, p.Spec)
}

// MayRemoveKey refuses callers who may not take a key from a person.
func MayRemoveKey(caller auth.Principal, p *Person) error {
	if caller.Person == p.Name {
		return shown(caller)
	}
	if caller.Role != auth.Operator {
		return fault.New(fault.PermissionDenied, "only %s or an operator may remove the key", p.Name)
	}
	return MayOperate(caller, p.Spec)
}

// shown refuses people who have not shown to be there: a program that can use their SSH agent could make
// itself at home.
func shown(caller auth.Principal) error {
	if caller.Kind == auth.OfPerson && caller.Presence == "" {
		return fault.New(fault.PermissionDenied, "an SSH key without a touch does not show that you are there; log in with a passkey, a security key or a passphrase to change people and keys").Meta("code", "PRESENCE_REQUIRED")
	}
	return nil
}
