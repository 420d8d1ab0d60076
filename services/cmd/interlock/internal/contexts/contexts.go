// Package contexts keeps the servers that a person works with, each under a name: where it
// is, and a token for it.
//
// The file is for its owner only. Its folder has the name of a data folder, so that
// self-protection keeps it from calls of agents (S13). Who may use a token of it is not
// decided here.
package contexts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Context is one server.
type Context struct {
	Server    string `json:"server"`
	Token     string `json:"token,omitempty"`
	TokenFile string `json:"token_file,omitempty"` // absolute; instead of Token
	Namespace string `json:"namespace,omitempty"`
	CA        string `json:"ca,omitempty"`
	Insecure  bool   `json:"insecure,omitempty"`
}

// All are the contexts by their names.
type All struct {
	Use      string             `json:"use,omitempty"` // the one in use; may be empty
	Contexts map[string]Context `json:"contexts"`
}

// IsName reports a name of a context: no address looks like one.
func IsName(text string) bool {
	ok, err := regexp.MatchString(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`, text)
	return ok && err == nil
}

// file returns where contexts are kept: in the user's folder of settings.
func file() (datadir.Dir, string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", "", fmt.Errorf("find the folder of settings: %w", err)
	}
	dir := filepath.Join(folder, datadir.Default)
	return datadir.Dir(dir), filepath.Join(dir, "contexts.json"), nil
}

// Load reads the contexts; none where the user has no file of them.
func Load() (All, error) {
	all := All{Contexts: map[string]Context{}}
	_, name, err := file()
	if err != nil {
		return all, nil //nolint:nilerr // a user without a home has no contexts
	}
	data, err := auth.ReadSecret(name)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	if err := json.Unmarshal(data, &all); err != nil || all.Contexts == nil {
		return all, fmt.Errorf("%s cannot be read; remove it, and add the contexts again", name) // the error may quote a token
	}
	return all, nil
}

// Save replaces the contexts, atomically.
func (a All) Save() error {
	dir, name, err := file()
	if err != nil {
		return err
	}
	if err := dir.Make(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the contexts: %w", err)
	}
	next, err := os.CreateTemp(filepath.Dir(name), "contexts-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("keep the contexts: %w", err)
	}
	defer func() { _ = os.Remove(next.Name()) }() // it is gone when all went well
	_, err = next.Write(append(data, '\n'))
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("keep the contexts: %w", err)
	}
	return nil
}

// Secret returns the token of a context.
func (c Context) Secret() (string, error) {
	if c.TokenFile == "" {
		return c.Token, nil
	}
	data, err := auth.ReadSecret(c.TokenFile)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(data)), nil
}
