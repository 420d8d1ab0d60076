package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
	"github.com/interlock-run/interlock/pkg/internal/reread"
)

// TokensFrom is a tokens file, and which roles count of it.
type TokensFrom struct {
	File string
	// Counts reports whether tokens of a role count; nil for all.
	Counts func(Role) bool
	// Read reads the file; nil for ReadSecret.
	Read func(file string) ([]byte, error)
}

func (from TokensFrom) read() (File, error) {
	if from.Read == nil {
		return ReadFile(from.File)
	}
	data, err := from.Read(from.File)
	if err != nil {
		return File{}, err
	}
	return DecodeFile(from.File, data)
}

// LoadTokens reads a tokens file, as ReadSecret does, and reads it again within a second
// after it has changed. A file that cannot be used then makes no change.
func LoadTokens(file string) (*Tokens, error) { return LoadSources(TokensFrom{File: file}) }

// LoadSources reads several files as LoadTokens does one. A name has one role in all of them.
func LoadSources(sources ...TokensFrom) (*Tokens, error) {
	names := make([]string, len(sources))
	for i, from := range sources {
		names[i] = from.File
	}
	v, err := reread.Load("tokens", lookAtTokens, func() (callers, error) {
		var parts []part
		for _, from := range sources {
			f, err := from.read()
			if err != nil {
				return callers{}, err
			}
			parts = append(parts, part{f, from.Counts})
		}
		t, err := callersOf(parts)
		if err != nil {
			return callers{}, fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
		}
		return t, nil
	}, names...)
	if err != nil {
		return nil, err
	}
	return &Tokens{file: v}, nil
}

// ReadFile reads a tokens file, as ReadSecret does.
func ReadFile(file string) (File, error) {
	f, err := tokenfile.Read(file)
	return File(f), err
}

// FileToken returns the first token of a role that a file has in plain text, for clients on the
// same machine as the server.
func FileToken(file string, role Role) (string, error) { return tokenfile.Token(file, role) }

// DecodeFile reads the text of a tokens file.
func DecodeFile(file string, data []byte) (File, error) {
	f, err := tokenfile.Parse(data)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", file, err)
	}
	return File(f), nil
}

// lookAtTokens is how often it is looked whether a tokens file has changed.
const lookAtTokens = time.Second

// FollowToken returns a function that reads FileToken at each call, for clients that
// outlive a rotation of the tokens.
func FollowToken(file string, role Role) (func() string, error) {
	v, err := reread.Load("tokens", lookAtTokens, func() (string, error) { return FileToken(file, role) }, file)
	if err != nil {
		return nil, err
	}
	return v.Get, nil
}

// FollowPassword returns a function that reads ReadPassword at each call.
func FollowPassword(file string) (func() string, error) {
	v, err := reread.Load("token", lookAtTokens, func() (string, error) { return ReadPassword(file) }, file)
	if err != nil {
		return nil, err
	}
	return v.Get, nil
}

// WriteFile writes minted tokens in the flat form, readable by their owner only. It
// writes atomically, and never over an existing file: created is false when there was
// one.
func WriteFile(file string, minted map[Role]string) (created bool, err error) {
	data, err := flat(minted)
	if err != nil {
		return false, err
	}
	return WriteSecret(file, data)
}

func flat(tokens map[Role]string) ([]byte, error) {
	data, err := json.Marshal(tokens, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("write tokens file: %w", err)
	}
	return append(data, '\n'), nil
}

// ChangeFile changes a tokens file, which is then of the long form. It replaces the file
// atomically, and leaves who may read it. Servers that serve see it within a second.
func ChangeFile(file string, change func(*File) error) error {
	f, err := ReadFile(file)
	if err != nil {
		return err
	}
	if err := change(&f); err != nil {
		return err
	}
	data, err := f.Encode()
	if err != nil {
		return err
	}
	return replaceSecret(file, data)
}

// NewTokensFile makes a tokens file with hashes of a token of each role, the services'
// included, and returns the tokens too.
func NewTokensFile(now time.Time) (data []byte, tokens map[Role]string, err error) {
	tokens = map[Role]string{}
	var f File
	for _, role := range append(Roles(), Service) {
		name := string(role)
		if role == Service {
			name = "interlock-services"
		}
		tokens[role] = Mint()
		f.AddHash(Entry{Name: name, Role: role, Namespaces: []string{string(AllNamespaces)}, Created: now.UTC().Truncate(time.Second)}, tokens[role])
	}
	data, err = f.Encode()
	return data, tokens, err
}

// WriteHashes writes a tokens file, also over an existing one.
func WriteHashes(file string, f File) error {
	data, err := f.Encode()
	if err != nil {
		return err
	}
	return PutSecret(file, data)
}

// ReplaceFile writes tokens in the flat form, as WriteFile does, also over an existing file.
func ReplaceFile(file string, tokens map[Role]string) error {
	data, err := flat(tokens)
	if err != nil {
		return err
	}
	return PutSecret(file, data)
}

func replaceSecret(file string, data []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".secret-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, cause(err))
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // it is gone when all went well
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(info.Mode().Perm()), tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// cause returns an error without the name of the file next to the one that is written, which users
// do not know.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// WriteSecret writes a file that only its owner can read, atomically, and never over an
// existing one: created is false when there was one.
func WriteSecret(file string, data []byte) (created bool, err error) {
	if _, err := os.Lstat(file); err == nil { // a full disk would take no other
		return false, nil
	}
	// CreateTemp makes the file with mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(file), ".secret-*")
	if err != nil {
		return false, fmt.Errorf("write %s: %w", file, cause(err))
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return false, fmt.Errorf("write %s: %w", file, err)
	}
	// A link, not a rename: it fails when the name is taken, by any process.
	err = os.Link(tmp.Name(), file)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write %s: %w", file, err)
	}
	return true, nil
}

// SealedPrefix begins a file whose text is sealed.
const SealedPrefix = tokenfile.SealedPrefix

// ErrSealed refuses a sealed file: only the server has the key that opens it.
var ErrSealed = tokenfile.ErrSealed

// IsSealed reports whether the text of a file is sealed.
func IsSealed(data []byte) bool { return tokenfile.IsSealed(data) }

// ReadSecret reads a file as ReadSealed does, and refuses one that is sealed.
func ReadSecret(file string) ([]byte, error) { return tokenfile.ReadSecret(file) }

// ReadSealed reads a file of at most 1 MiB. It refuses one that others than its
// owner may read or change, except that its group may read it.
func ReadSealed(file string) ([]byte, error) { return tokenfile.ReadSealed(file) }

// PutSecret writes a file as WriteSecret does, also over an existing one.
func PutSecret(file string, data []byte) error {
	created, err := WriteSecret(file, data)
	if err != nil || created {
		return err
	}
	return replaceSecret(file, data)
}

// ReadPassword reads a file that holds one password, as ReadSecret does; a newline at its
// end does not count.
func ReadPassword(file string) (string, error) {
	data, err := ReadSecret(file)
	if err != nil {
		return "", err
	}
	password := strings.TrimRight(string(data), "\r\n")
	if password == "" || strings.ContainsAny(password, "\r\n\x00") {
		return "", fmt.Errorf("%s must have one line, with only the password", file)
	}
	return password, nil
}
