package breakglass

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Settings of a client.
type Settings struct {
	// Grant is the file with the token. Key is that of the public key, and Spool the spool: next to the grant where they are empty.
	Grant, Key, Spool string
	// Namespace and Principal are those of the client.
	Namespace, Principal string
	// Client names the client in the spool.
	Client string
}

// Call is a call of a tool.
type Call struct {
	Tool         string
	Input        []byte // JSON; nil for none
	Session, Run string // empty for none
}

// Glass is a grant that a client may use, with its spool.
type Glass struct {
	*Grant
	spool, client string
	now           func() time.Time
}

// Open reads the grant of a client, and returns an error unless it may be used now.
func Open(s Settings, now func() time.Time) (*Glass, error) {
	keyFile, spool := s.Key, s.Spool
	if keyFile == "" {
		keyFile = s.Grant + ".pub"
	}
	if spool == "" {
		spool = s.Grant + ".spool"
	}
	keyText, err := guarded(keyFile)
	if err != nil {
		return nil, err
	}
	key, err := ReadKey(keyText)
	if err != nil {
		return nil, fmt.Errorf("the key %s: %w", keyFile, err)
	}
	token, err := guarded(s.Grant)
	if err != nil {
		return nil, err
	}
	g, err := Read(string(token), key)
	if err == nil {
		err = g.For(s.Namespace, s.Principal, now())
	}
	if err != nil {
		return nil, fmt.Errorf("the break-glass grant %s: %w", s.Grant, err)
	}
	return &Glass{Grant: g, spool: spool, client: s.Client, now: now}, nil
}

// guarded reads a file that only its owner can write.
func guarded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("break glass: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("break glass: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("break glass: others can write %s, so it does not count; run chmod go-w %s", name, name)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxGrant+2))
	if err != nil {
		return nil, fmt.Errorf("break glass: %w", err)
	}
	return text, nil
}

// ErrNotGranted is wrapped by the error about a call that no grant lets pass.
var ErrNotGranted = errors.New("the break-glass grant does not let it pass")

// Use writes down that a call is made now, while Interlock cannot be reached. With an error the call must not be made.
func (g *Glass) Use(call Call) error {
	command, lets := g.Lets(call.Tool, call.Input)
	if !lets {
		return fmt.Errorf("%w: it names other tools or commands", ErrNotGranted)
	}
	e := &Entry{Kind: Used, Tool: call.Tool, Command: command, Session: call.Session, Run: call.Run}
	if len(call.Input) > maxInput {
		sum := sha256.Sum256(call.Input)
		e.InputSHA256 = hex.EncodeToString(sum[:])
	} else {
		e.Input = json.RawMessage(call.Input)
	}
	return g.change(func(s *Spool) (*Entry, error) {
		if s.refused(e.Tool, e.Command) {
			return nil, fmt.Errorf("%w: Interlock has denied it, or asked people about it, while it could be reached", ErrNotGranted)
		}
		return e, nil
	})
}

// Deny writes down that Interlock has denied a call, or asked people about it, so that the grant does not let it pass later.
func (g *Glass) Deny(call Call) error {
	command, lets := g.Lets(call.Tool, call.Input)
	if !lets {
		return nil
	}
	return g.change(func(s *Spool) (*Entry, error) {
		if s.refused(call.Tool, command) {
			return nil, nil
		}
		return &Entry{Kind: Refused, Tool: call.Tool, Command: command, Session: call.Session, Run: call.Run}, nil
	})
}

// refused reports whether a tool, or a command of it, was refused in contact.
func (s *Spool) refused(tool, command string) bool {
	for i := range s.Entries {
		if e := &s.Entries[i]; e.Kind == Refused && e.Tool == tool && e.Command == command {
			return true
		}
	}
	return false
}

// change appends the entry that decide returns to the spool, durably. It appends no entry for nil.
func (g *Glass) change(decide func(*Spool) (*Entry, error)) (err error) {
	unlock, err := lock(g.spool + ".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	text, err := os.ReadFile(g.spool)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the spool: %w", err)
	}
	lines, whole := split(string(text))
	if !whole || len(lines) >= MostLines {
		return fmt.Errorf("the spool %s is damaged or full: hand it in, put it aside, and ask for another grant", g.spool)
	}
	s := ReadSpool(g.ID, lines)
	if s.Altered != "" {
		return fmt.Errorf("the spool %s was altered (%s): hand it in, put it aside, and ask for another grant", g.spool, s.Altered)
	}
	e, err := decide(s)
	if err != nil || e == nil {
		return err
	}
	e.Grant, e.Sequence, e.Time, e.Client = g.ID, int64(len(lines))+1, g.now().UTC(), g.client
	if len(s.Entries) > 0 {
		e.Spool = s.Entries[0].Spool
	} else if e.Spool, err = newSpool(); err != nil {
		return err
	}
	next, _, err := write(s.Head, e)
	if err != nil {
		return err
	}
	if len(text)+len(next)+1 > maxSpool {
		return fmt.Errorf("the spool %s has %d bytes: hand it in, put it aside, and ask for another grant", g.spool, len(text))
	}
	return add(g.spool, next+"\n", len(text) == 0)
}

func newSpool() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("name the spool: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// add appends to a file, durably.
func add(name, text string, fresh bool) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the spool: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the spool: %w", err)
	}
	if fresh && runtime.GOOS != "windows" {
		folder, err := os.Open(filepath.Dir(name))
		if err != nil {
			return fmt.Errorf("open the folder of the spool: %w", err)
		}
		if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
			return fmt.Errorf("write the folder of the spool: %w", err)
		}
	}
	return nil
}

// patience is how long a client waits for the lock.
const patience = 2 * time.Second

// lock creates a file that only one client has.
func lock(name string) (unlock func() error, err error) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		switch {
		case err == nil:
			return func() error { return os.Remove(name) }, f.Close()
		case !errors.Is(err, fs.ErrExist):
			return nil, fmt.Errorf("lock the spool: %w", err)
		case time.Now().After(end):
			return nil, fmt.Errorf("another client holds the spool; if none is running, remove %s", name)
		}
	}
}

// Lines returns the lines of a spool to hand in.
func Lines(spool string) ([]string, error) {
	text, err := os.ReadFile(spool)
	if err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	if len(text) > maxSpool {
		return nil, fmt.Errorf("the spool %s has more than %d bytes", spool, maxSpool)
	}
	lines, _ := split(string(text))
	return lines, nil
}
