package unlock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
)

// maxSocketPath is the longest path of a unix socket on the systems that there are.
const maxSocketPath = 103

// Elsewhere returns the socket of the log-in at a server on another machine, of the commands that a shell
// starts. Its folder is the user's alone.
func Elsewhere(server string, shell int) (Socket, error) {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" {
		base = os.TempDir()
	}
	folder := filepath.Join(base, "interlock-"+strconv.Itoa(os.Geteuid()))
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make the folder of log-ins: %w", err)
	}
	if err := ownFolder(folder); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.TrimRight(server, "/")))
	path := filepath.Join(folder, "login-"+hex.EncodeToString(sum[:6])+"-"+strconv.Itoa(shell)+".sock")
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("the path %s is too long for a socket; set XDG_RUNTIME_DIR to a shorter one", path)
	}
	return Socket(path), nil
}

// At returns the terminal of a process that a shell has started in the foreground.
func (s *Server) At(pid int) (Terminal, error) {
	at, err := s.terminalOfProcess(pid, false)
	return Terminal{at}, err
}

// Terminal is where a person has logged in.
type Terminal struct{ at terminal }

// Keep unlocks a terminal for as long as the tokens of a log-in last. They are read-only unless decide is set.
func (s *Server) Keep(ctx context.Context, t Terminal, l *identityv1.Login, decide bool) (Answer, error) {
	a := s.keep(ctx, t.at, l, decide, nil)
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}
