package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
	"github.com/interlock-run/interlock/pkg/internal/reread"
)

const (
	// minToken is the fewest bytes of a token; shorter ones can be guessed.
	minToken = 16
	// maxToken is the most bytes that the server hashes for a caller.
	maxToken = 4096
	maxName  = 256
)

// Tokens are static bearer tokens. Only SHA-256 digests of a pepper and the token are kept, and a
// token is looked up by its digest, so that the time a look-up takes reveals no token. The zero
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

// callers are the entries of tokens files. It is not changed after it was parsed.
type callers struct {
	// files are the hashes of each file, with a pepper of its own.
	files []hashes
	// byName has names as folded gives them.
	byName map[string]Role
	// agents has the entries of agents, by such names.
	agents map[string][]Principal
	// plain reports that a file has a token in plain text.
	plain bool
}

// hashes are the entries of a file.
type hashes struct {
	pepper   string
	byDigest map[tokenfile.Digest]Principal
}

var _ Authenticator = (*Tokens)(nil)

// Authenticate describes whose token it is, or ErrUnauthenticated (S23.1).
func (t *Tokens) Authenticate(_ context.Context, token string) (Principal, error) {
	if t == nil || len(token) < minToken || len(token) > maxToken {
		return Principal{}, ErrUnauthenticated
	}
	for _, file := range t.known().files {
		p, ok := file.byDigest[tokenfile.DigestOf(file.pepper, token)]
		switch {
		case !ok:
		case !p.Expires.IsZero() && !time.Now().Before(p.Expires):
			return Principal{}, Refused("it has expired; have another made by `interlock token add`")
		default:
			return p, nil
		}
	}
	return Principal{}, ErrUnauthenticated
}

// Operates reports whether a name has a token that counts now, with the role of an operator or root, in a namespace.
func (t *Tokens) Operates(name, namespace string) bool {
	if t == nil {
		return false
	}
	for _, file := range t.known().files {
		for _, p := range file.byDigest {
			if p.Name == name && (p.Role == Operator || p.Role == Root) && p.Rooted().MayCallIn(namespace) &&
				(p.Expires.IsZero() || time.Now().Before(p.Expires)) {
				return true
			}
		}
	}
	return false
}

// Len returns the number of tokens.
func (t *Tokens) Len() (n int) {
	for _, file := range t.known().files {
		n += len(file.byDigest)
	}
	return n
}

// Plain reports that a file holds a token in plain text.
func (t *Tokens) Plain() bool { return t != nil && t.known().plain }

// ParseTokens reads a tokens file of any form: that with hashes, which `interlock token` writes,
// and those with tokens in plain text: the flat one, {"agent":"<token>","operator":"<token>"},
// where the principal is named like its role, or the long one,
// {"tokens":[{"name":"alice","role":"approver","token":"<token>"}]}. A name may have
// several tokens but only one role. The flat form does not have the role of services.
// Errors never quote a token.
func ParseTokens(data []byte) (*Tokens, error) {
	f, err := tokenfile.Parse(data)
	if err != nil {
		return nil, err
	}
	t, err := callersOf([]part{{File: File(f)}})
	if err != nil {
		return nil, err
	}
	return &Tokens{callers: t}, nil
}

// part is a file, and which roles count of it.
type part struct {
	File
	counts func(Role) bool
}

// callersOf checks the entries of files, and joins those that count.
func callersOf(parts []part) (callers, error) {
	t := callers{byName: map[string]Role{}, agents: map[string][]Principal{}}
	roles := map[string]Role{}
	for _, of := range parts {
		in := hashes{pepper: of.Pepper, byDigest: make(map[tokenfile.Digest]Principal, len(of.Tokens))}
		for i, e := range of.Tokens {
			at := fmt.Sprintf("token %d of the tokens file", i+1)
			sum, err := check(e, of.Pepper)
			if err != nil {
				return callers{}, fmt.Errorf("%s: %w", at, err)
			}
			if of.counts != nil && !of.counts(e.Role) {
				continue
			}
			if role, seen := roles[e.Name]; seen && role != e.Role {
				return callers{}, fmt.Errorf("%s: %q has the roles %s and %s; give each role a name of its own", at, e.Name, role, e.Role)
			}
			roles[e.Name] = e.Role
			if _, seen := in.byDigest[sum]; seen {
				return callers{}, fmt.Errorf("%s: the token is used twice; mint another", at)
			}
			in.byDigest[sum] = principalOf(e)
			t.take(e.Name, e.Role)
			if e.Role.Drives() {
				t.agents[folded(e.Name)] = append(t.agents[folded(e.Name)], principalOf(e))
			}
			t.plain = t.plain || e.Token != ""
		}
		t.files = append(t.files, in)
	}
	return t, nil
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
