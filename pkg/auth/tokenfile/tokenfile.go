// Package tokenfile reads files with tokens, and asks servers to prove that they know one. It is the part of package auth that
// hooks need: Go initialises it before most packages, because it imports no logging, no file paths and no big numbers.
package tokenfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/go-json-experiment/json"
)

// maxFile bounds a file with secrets, in bytes.
const maxFile = 1 << 20

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

// Parse reads any form of a tokens file, strictly: duplicate and unknown keys are
// errors, and so is a flat file without any token.
func Parse(data []byte) (File, error) {
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

// Read reads a tokens file, as ReadSecret does.
func Read(file string) (File, error) {
	data, err := ReadSecret(file)
	if err != nil {
		return File{}, err
	}
	f, err := Parse(data)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", file, err)
	}
	return f, nil
}

// Token returns the first token of a role that a file has in plain text, for clients on the
// same machine as the server.
func Token(file string, role Role) (string, error) {
	f, err := Read(file)
	if err != nil {
		return "", err
	}
	hashed := ""
	for _, e := range f.Tokens {
		switch {
		case e.Role != role:
		case e.Token != "":
			return e.Token, nil
		default:
			hashed = ", only its hash"
		}
	}
	return "", fmt.Errorf("%s has no token of role %s%s", file, role, hashed)
}

// SealedPrefix begins a file whose text is sealed.
const SealedPrefix = "interlock-sealed-1 "

// IsSealed reports whether the text of a file is sealed.
func IsSealed(data []byte) bool { return bytes.HasPrefix(data, []byte(SealedPrefix)) }

// ErrSealed refuses a sealed file: only the server has the key that opens it.
var ErrSealed = errors.New("it is sealed, and opens with the passphrase of its data folder only")

// ReadSecret reads a file as ReadSealed does, and refuses one that is sealed.
func ReadSecret(file string) ([]byte, error) {
	data, err := ReadSealed(file)
	if err == nil && IsSealed(data) {
		return nil, fmt.Errorf("%s: %w", file, ErrSealed)
	}
	return data, err
}

// ReadSealed reads a file of at most 1 MiB. It refuses one that others than its
// owner may read or change, except that its group may read it: that is how
// Kubernetes mounts a secret for a process that is not root.
func ReadSealed(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	defer func() { _ = f.Close() }()
	// The open file is asked, not the path: the path may change in between.
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o037 != 0 {
		return nil, fmt.Errorf("%s has mode %04o, so others can use its secrets: run chmod 600 on it, "+
			"and create new ones if others had access to this machine", file, mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", file, maxFile)
	}
	return data, nil
}
