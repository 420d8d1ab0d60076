package auth

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
)

// File is the content of a tokens file, as tokenfile.File.
type File tokenfile.File

// Entry is one token: its digest, or itself in plain text.
type Entry = tokenfile.Entry

const (
	digestPrefix = "sha256:"
	// minPepper is the fewest bytes of a pepper.
	minPepper = 16
	// defaultNamespace is that of requests that name none. pkg/rpc, which has the name, is above.
	defaultNamespace = "default"
)

// check returns the digest of a token by which it is looked up.
func check(e Entry, pepper string) (tokenfile.Digest, error) {
	switch {
	case !ValidName(e.Name): // "ann" and "ann " would be two people with a vote each
		return tokenfile.Digest{}, fmt.Errorf("the name %q must have 1 to %d bytes of printable text, and no space at its ends", e.Name, maxName)
	case e.Person != "" && !ValidName(e.Person):
		return tokenfile.Digest{}, fmt.Errorf("the person %q must have 1 to %d bytes of printable text, and no space at its ends", e.Person, maxName)
	case !e.Role.Valid():
		return tokenfile.Digest{}, fmt.Errorf("the role must be one of %v", append(GivenRoles(), Relay))
	case slices.ContainsFunc(e.Namespaces, func(n string) bool { return n == "" || strings.ContainsAny(n, " \t\n") }):
		return tokenfile.Digest{}, errors.New(`each of its namespaces must be a name, or "*" for all`)
	case (e.Token == "") == (e.Digest == ""):
		return tokenfile.Digest{}, errors.New("it must have either a token or a digest")
	case e.Digest != "":
		return hashed(e, pepper)
	case len(e.Token) < minToken || len(e.Token) > maxToken:
		return tokenfile.Digest{}, fmt.Errorf("the token must have %d to %d bytes", minToken, maxToken)
	case strings.ContainsFunc(e.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return tokenfile.Digest{}, errors.New("the token must be printable ASCII without spaces")
	}
	return tokenfile.DigestOf(pepper, e.Token), nil
}

// hashed returns the digest that an entry holds.
func hashed(e Entry, pepper string) (sum tokenfile.Digest, err error) {
	text, known := strings.CutPrefix(e.Digest, digestPrefix)
	raw, err := hex.DecodeString(text)
	switch {
	case len(pepper) < minPepper:
		return tokenfile.Digest{}, fmt.Errorf("a digest needs the pepper of the file, of at least %d bytes", minPepper)
	case !known || err != nil || len(raw) != len(sum):
		return tokenfile.Digest{}, errors.New(`its digest must be "sha256:" and 64 hexadecimal digits`)
	case e.ID == "":
		return tokenfile.Digest{}, errors.New("a digest needs the id of its token")
	}
	copy(sum[:], raw)
	return sum, nil
}

// principal returns whose token it is.
func principalOf(e Entry) Principal {
	p := Principal{Name: e.Name, Role: e.Role, Kind: Static, TokenID: idOf(e), Expires: e.Expires, Person: e.Person, SpeaksFor: e.SpeaksFor, Namespaces: NamespacesOf(e.Namespaces...)}
	switch {
	case e.Role == Service, len(e.Namespaces) == 0 && e.Token != "":
		p.Namespaces = AllNamespaces
	case len(e.Namespaces) == 0:
		p.Namespaces = NamespacesOf(defaultNamespace)
	}
	return p.Rooted()
}

func idOf(e Entry) string {
	if e.Token != "" {
		return tokenfile.ID(e.Token)
	}
	return e.ID
}

// AddHash adds an entry for a token, and keeps only its digest.
func (f *File) AddHash(e Entry, token string) {
	if f.Pepper == "" {
		f.Pepper = newPepper()
	}
	sum := tokenfile.DigestOf(f.Pepper, token)
	e.Token, e.ID, e.Digest = "", tokenfile.ID(token), digestPrefix+hex.EncodeToString(sum[:])
	f.Tokens = append(f.Tokens, e)
}

// HashAll replaces tokens in plain text by their digests, and reports whether there were any. They keep the
// namespaces in which they counted.
func (f *File) HashAll() (changed bool) {
	before := f.Tokens
	f.Tokens = nil
	for _, e := range before {
		if e.Token == "" {
			f.Tokens = append(f.Tokens, e)
			continue
		}
		changed = true
		if len(e.Namespaces) == 0 {
			e.Namespaces = []string{string(AllNamespaces)}
		}
		f.AddHash(e, e.Token)
	}
	return changed
}

// Find returns the entry of a token.
func (f File) Find(token string) (Entry, bool) {
	of := tokenfile.DigestOf(f.Pepper, token)
	i := slices.IndexFunc(f.Tokens, func(e Entry) bool {
		sum, err := check(e, f.Pepper)
		return err == nil && sum == of
	})
	if i < 0 {
		return Entry{}, false
	}
	return f.Tokens[i], true
}

// Revoke removes the tokens of a name, or the one of an id, and returns them.
func (f *File) Revoke(which string) (removed []Entry) {
	f.Tokens = slices.DeleteFunc(f.Tokens, func(e Entry) bool {
		match := e.Name == which || idOf(e) == which
		if match {
			removed = append(removed, e)
		}
		return match
	})
	return removed
}

// Listed returns the entries as they may be shown, with their ids and namespaces, by name.
func (f File) Listed() []Entry {
	all := slices.Clone(f.Tokens)
	for i, e := range all {
		all[i].ID, all[i].Namespaces = idOf(e), principalOf(e).Namespaces.List()
		all[i].Token, all[i].Digest = "", ""
	}
	slices.SortStableFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Created.Compare(b.Created))
	})
	return all
}

// Encode returns the text of the file. It refuses one that no server would read.
func (f File) Encode() ([]byte, error) {
	if _, err := callersOf([]part{{File: f}}); err != nil {
		return nil, err
	}
	data, err := json.Marshal(f, jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("write tokens file: %w", err)
	}
	return append(data, '\n'), nil
}

func newPepper() string {
	var random [minPepper]byte
	_, _ = rand.Read(random[:]) // it never fails
	return hex.EncodeToString(random[:])
}
