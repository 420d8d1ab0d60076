package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/pkg/internal/reread"
)

const (
	// minToken is the fewest bytes of a token; shorter ones can be guessed.
	minToken = 16
	// maxToken is the most bytes that the server hashes for a caller.
	maxToken = 4096
	maxName  = 256
)

// Tokens are static bearer tokens. Only their SHA-256 digests are kept, and a token is
// looked up by its digest, so that the time a look-up takes reveals no token. The zero
// value knows no token. It is safe for concurrent use.
type Tokens struct {
	// file is nil for those that were parsed.
	file *reread.Value[callers]
	callers
}

// known returns the callers whose tokens count now.
func (t *Tokens) known() callers {
	if t.file != nil {
		return t.file.Get()
	}
	return t.callers
}

// callers are the entries of a tokens file. It is not changed after it was parsed.
type callers struct {
	byDigest map[[sha256.Size]byte]Principal
	// byName has names as folded gives them.
	byName map[string]Role
}

var _ Authenticator = (*Tokens)(nil)

// Authenticate describes whose token it is, or ErrUnauthenticated.
func (t *Tokens) Authenticate(_ context.Context, token string) (Principal, error) {
	if t == nil || len(token) < minToken || len(token) > maxToken {
		return Principal{}, ErrUnauthenticated
	}
	p, ok := t.known().byDigest[sha256.Sum256([]byte(token))]
	if !ok {
		return Principal{}, ErrUnauthenticated
	}
	return p, nil
}

// Len returns the number of tokens.
func (t *Tokens) Len() int { return len(t.known().byDigest) }

// entry is one token of the long form.
type entry struct {
	Name  string `json:"name"`
	Role  Role   `json:"role"`
	Token string `json:"token"`
}

// ParseTokens reads either form of a tokens file: the flat one that `interlock
// up` writes, {"agent":"<token>","operator":"<token>"}, where the principal is
// named like its role, or the long one,
// {"tokens":[{"name":"alice","role":"approver","token":"<token>"}]}. A name may have
// several tokens but only one role. Only the long form has the role of services.
// Errors never quote a token.
func ParseTokens(data []byte) (*Tokens, error) {
	t, err := parseCallers(data)
	if err != nil {
		return nil, err
	}
	return &Tokens{callers: t}, nil
}

func parseCallers(data []byte) (callers, error) {
	entries, err := parseEntries(data)
	if err != nil {
		return callers{}, err
	}
	t := callers{
		byDigest: make(map[[sha256.Size]byte]Principal, len(entries)),
		byName:   make(map[string]Role, len(entries)),
	}
	roles := make(map[string]Role, len(entries))
	for i, e := range entries {
		if err := e.check(); err != nil {
			return callers{}, fmt.Errorf("token %d of the tokens file: %w", i+1, err)
		}
		if role, seen := roles[e.Name]; seen && role != e.Role {
			return callers{}, fmt.Errorf("token %d of the tokens file: %q has the roles %s and %s; "+
				"give each role a name of its own", i+1, e.Name, role, e.Role)
		}
		roles[e.Name] = e.Role
		digest := sha256.Sum256([]byte(e.Token))
		if _, seen := t.byDigest[digest]; seen {
			return callers{}, fmt.Errorf("token %d of the tokens file: the token is used twice; mint another", i+1)
		}
		t.byDigest[digest] = Principal{Name: e.Name, Role: e.Role}
		t.take(e.Name, e.Role)
	}
	return t, nil
}

// parseEntries reads either form, strictly: duplicate and unknown keys are
// errors, and so is a file without any token.
func parseEntries(data []byte) ([]entry, error) {
	const fix = `want {"agent":"<token>",...} or {"tokens":[{"name":...,"role":...,"token":...}]}`
	var long struct {
		Tokens []entry `json:"tokens"`
	}
	longErr := json.Unmarshal(data, &long, json.RejectUnknownMembers(true))
	if longErr == nil && len(long.Tokens) > 0 {
		return long.Tokens, nil
	}
	var flat map[Role]string
	if err := json.Unmarshal(data, &flat); err != nil {
		// The decoder's error may quote its input: a secret. Drop it.
		return nil, errors.New("the tokens file cannot be read: " + fix)
	}
	var entries []entry
	for _, role := range Roles() {
		if token, ok := flat[role]; ok {
			entries = append(entries, entry{Name: string(role), Role: role, Token: token})
			delete(flat, role)
		}
	}
	if _, ok := flat[Service]; ok {
		return nil, errors.New(`the token of a service must be an entry with a name and the role "service": ` + fix)
	}
	if len(flat) > 0 {
		return nil, errors.New("the tokens file names a role that does not exist: " + fix)
	}
	if len(entries) == 0 {
		return nil, errors.New("the tokens file has no tokens: " + fix)
	}
	return entries, nil
}

func (e entry) check() error {
	switch {
	case !ValidName(e.Name): // "ann" and "ann " would be two people with a vote each
		return fmt.Errorf("the name %q must have 1 to %d bytes of printable text, and no space at its ends", e.Name, maxName)
	case !e.Role.Valid():
		return fmt.Errorf("the role must be one of %v", Roles())
	case len(e.Token) < minToken || len(e.Token) > maxToken:
		return fmt.Errorf("the token must have %d to %d bytes", minToken, maxToken)
	case strings.ContainsFunc(e.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token must be printable ASCII without spaces")
	}
	return nil
}

// Mint makes a random token of 256 bits. Its prefix lets secret scanners find it.
func Mint() string {
	var secret [32]byte
	// crypto/rand.Read never fails: it ends the program when it cannot continue.
	_, _ = rand.Read(secret[:])
	return "ilk_" + base64.RawURLEncoding.EncodeToString(secret[:])
}

// Generate mints a token for each role: the flat form.
func Generate() map[Role]string {
	minted := make(map[Role]string, len(Roles()))
	for _, role := range Roles() {
		minted[role] = Mint()
	}
	return minted
}
