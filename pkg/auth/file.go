package auth

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/internal/reread"
)

// maxFile bounds a file with secrets, in bytes.
const maxFile = 1 << 20

// LoadTokens reads a tokens file, as ReadSecret does, and reads it again within a second
// after it has changed. A file that cannot be used then makes no change.
func LoadTokens(file string) (*Tokens, error) {
	v, err := reread.Load("tokens", lookAtTokens, func() (callers, error) {
		data, err := ReadSecret(file)
		if err != nil {
			return callers{}, err
		}
		t, err := parseCallers(data)
		if err != nil {
			return callers{}, fmt.Errorf("%s: %w", file, err)
		}
		return t, nil
	}, file)
	if err != nil {
		return nil, err
	}
	return &Tokens{file: v}, nil
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

// FileToken returns the first token of a role in a tokens file, for clients on the same
// machine as the server.
func FileToken(file string, role Role) (string, error) {
	data, err := ReadSecret(file)
	if err != nil {
		return "", err
	}
	entries, err := parseEntries(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	for _, e := range entries {
		if e.Role == role {
			return e.Token, nil
		}
	}
	return "", fmt.Errorf("%s has no token of role %s", file, role)
}

// WriteFile writes minted tokens in the flat form, readable by their owner only. It
// writes atomically, and never over an existing file: created is false when there was
// one.
func WriteFile(file string, minted map[Role]string) (created bool, err error) {
	data, err := json.Marshal(minted, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return false, fmt.Errorf("write tokens file: %w", err)
	}
	return WriteSecret(file, append(data, '\n'))
}

// AddToken adds a token to a tokens file, which is then of the long form. It replaces the file
// atomically, and leaves who may read it. Servers that serve see it within a second.
func AddToken(file, name string, role Role, token string) error {
	data, err := ReadSecret(file)
	if err != nil {
		return err
	}
	entries, err := parseEntries(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	long := map[string][]entry{"tokens": append(entries, entry{Name: name, Role: role, Token: token})}
	if data, err = json.Marshal(long, jsontext.WithIndent("  ")); err != nil {
		return fmt.Errorf("write tokens file: %w", err)
	}
	if _, err := ParseTokens(data); err != nil {
		return err
	}
	return replaceSecret(file, append(data, '\n'))
}

// NewTokensFile makes a tokens file of the long form with a token of each role, the services'
// included, and returns them too.
func NewTokensFile() (data []byte, tokens map[Role]string, err error) {
	tokens = map[Role]string{}
	var long struct {
		Tokens []entry `json:"tokens"`
	}
	for _, role := range append(Roles(), Service) {
		name := string(role)
		if role == Service {
			name = "interlock-services"
		}
		tokens[role] = Mint()
		long.Tokens = append(long.Tokens, entry{Name: name, Role: role, Token: tokens[role]})
	}
	data, err = json.Marshal(long, jsontext.WithIndent("  "))
	return append(data, '\n'), tokens, err
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

// ReadSecret reads a file of at most 1 MiB. It refuses one that others than its
// owner may read or change, except that its group may read it: that is how
// Kubernetes mounts a secret for a process that is not root.
func ReadSecret(file string) ([]byte, error) {
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
