package auth

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// File is the content of a tokens file: hashes of tokens, and tokens in plain text that were
// written by hand.
type File struct {
	// Pepper is hashed before each token. It is not in any other file.
	Pepper string  `json:"pepper,omitempty"`
	Tokens []Entry `json:"tokens"`
}

// Entry is one token: its digest, or itself in plain text.
type Entry struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Namespaces are those that it may call in. Without any, it is the default one for a hash, and
	// all for a token in plain text and for services.
	Namespaces []string `json:"namespaces,omitempty"`
	// Person is whose token it is, where that is a registered person.
	Person string `json:"person,omitempty"`
	// SpeaksFor is set for a program that names the people on whose behalf it calls, and is believed (auth.Gateway).
	SpeaksFor bool `json:"speaks_for,omitzero"`
	// ID names the token, and Digest is "sha256:" and the digest of pepper and token.
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
	Token  string `json:"token,omitempty"`

	Created time.Time `json:"created,omitzero"`
	// Expires is when it counts no more; never without one.
	Expires time.Time `json:"expires,omitzero"`
}

const (
	digestPrefix = "sha256:"
	// minPepper is the fewest bytes of a pepper.
	minPepper = 16
	// defaultNamespace is that of requests that name none. pkg/rpc, which has the name, is above.
	defaultNamespace = "default"
)

// parseFile reads any form of a tokens file, strictly: duplicate and unknown keys are
// errors, and so is a flat file without any token.
func parseFile(data []byte) (File, error) {
	const fix = `want {"agent":"<token>",...} or {"tokens":[{"name":...,"role":...,"token":...}]}, or what interlock token add has written`
	var f File
	longErr := json.Unmarshal(data, &f, json.RejectUnknownMembers(true))
	if longErr == nil && (len(f.Tokens) > 0 || f.Pepper != "") {
		return f, nil
	}
	var flat map[Role]string
	if err := json.Unmarshal(data, &flat); err != nil {
		// The decoder's error may quote its input: a secret. Drop it.
		return File{}, errors.New("the tokens file cannot be read: " + fix)
	}
	f = File{}
	for _, role := range Roles() {
		if token, ok := flat[role]; ok {
			f.Tokens = append(f.Tokens, Entry{Name: string(role), Role: role, Token: token})
			delete(flat, role)
		}
	}
	if _, ok := flat[Service]; ok {
		return File{}, errors.New(`the token of a service must be an entry with a name and the role "service": ` + fix)
	}
	if len(flat) > 0 {
		return File{}, errors.New("the tokens file names a role that does not exist: " + fix)
	}
	if len(f.Tokens) == 0 {
		return File{}, errors.New("the tokens file has no tokens: " + fix)
	}
	return f, nil
}

// check returns the digest of a token by which it is looked up.
func (e Entry) check(pepper string) (digest, error) {
	switch {
	case !ValidName(e.Name): // "ann" and "ann " would be two people with a vote each
		return digest{}, fmt.Errorf("the name %q must have 1 to %d bytes of printable text, and no space at its ends", e.Name, maxName)
	case e.Person != "" && !ValidName(e.Person):
		return digest{}, fmt.Errorf("the person %q must have 1 to %d bytes of printable text, and no space at its ends", e.Person, maxName)
	case !e.Role.Valid():
		return digest{}, fmt.Errorf("the role must be one of %v", append(GivenRoles(), Relay))
	case slices.ContainsFunc(e.Namespaces, func(n string) bool { return n == "" || strings.ContainsAny(n, " \t\n") }):
		return digest{}, errors.New(`each of its namespaces must be a name, or "*" for all`)
	case (e.Token == "") == (e.Digest == ""):
		return digest{}, errors.New("it must have either a token or a digest")
	case e.Digest != "":
		return e.hashed(pepper)
	case len(e.Token) < minToken || len(e.Token) > maxToken:
		return digest{}, fmt.Errorf("the token must have %d to %d bytes", minToken, maxToken)
	case strings.ContainsFunc(e.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return digest{}, errors.New("the token must be printable ASCII without spaces")
	}
	return digestOf(pepper, e.Token), nil
}

// hashed returns the digest that an entry holds.
func (e Entry) hashed(pepper string) (sum digest, err error) {
	text, known := strings.CutPrefix(e.Digest, digestPrefix)
	raw, err := hex.DecodeString(text)
	switch {
	case len(pepper) < minPepper:
		return digest{}, fmt.Errorf("a digest needs the pepper of the file, of at least %d bytes", minPepper)
	case !known || err != nil || len(raw) != len(sum):
		return digest{}, errors.New(`its digest must be "sha256:" and 64 hexadecimal digits`)
	case e.ID == "":
		return digest{}, errors.New("a digest needs the id of its token")
	}
	copy(sum[:], raw)
	return sum, nil
}

// principal returns whose token it is.
func (e Entry) principal() Principal {
	p := Principal{Name: e.Name, Role: e.Role, Kind: Static, TokenID: e.id(), Expires: e.Expires, Person: e.Person, SpeaksFor: e.SpeaksFor, Namespaces: NamespacesOf(e.Namespaces...)}
	switch {
	case e.Role == Service, len(e.Namespaces) == 0 && e.Token != "":
		p.Namespaces = AllNamespaces
	case len(e.Namespaces) == 0:
		p.Namespaces = NamespacesOf(defaultNamespace)
	}
	return p.Rooted()
}

func (e Entry) id() string {
	if e.Token != "" {
		return tokenID(e.Token)
	}
	return e.ID
}

// AddHash adds an entry for a token, and keeps only its digest.
func (f *File) AddHash(e Entry, token string) {
	if f.Pepper == "" {
		f.Pepper = newPepper()
	}
	sum := digestOf(f.Pepper, token)
	e.Token, e.ID, e.Digest = "", tokenID(token), digestPrefix+hex.EncodeToString(sum[:])
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
	of := digestOf(f.Pepper, token)
	i := slices.IndexFunc(f.Tokens, func(e Entry) bool {
		sum, err := e.check(f.Pepper)
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
		match := e.Name == which || e.id() == which
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
		all[i].ID, all[i].Namespaces = e.id(), e.principal().Namespaces.List()
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
