package hookclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// Testimony has the witness of a jail about one command, signed with the key of the call.
type Testimony struct {
	RunID     string `json:"run_id"`
	CallID    string `json:"call_id"`
	Witness   []byte `json:"witness"`
	Signature []byte `json:"signature"`
}

// Of the testimonies while the server was away, mostKept are kept. A hook hands mostAtOnce in.
const (
	mostKept   = 512
	mostAtOnce = 8
)

// spool returns the folder of testimonies that the server has not heard.
func (c *Client) spool() (string, error) {
	folder, err := c.Kept()
	if err != nil {
		return "", err
	}
	return path.Join(folder, "witnesses"), nil
}

// Keep keeps a testimony until the server can hear it.
func (c *Client) Keep(t Testimony) error {
	folder, err := c.spool()
	if err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	kept, err := unheard(folder)
	if err != nil {
		return err
	}
	if len(kept) >= mostKept {
		return fmt.Errorf("%s has %d already", folder, len(kept))
	}
	return replaceFile(path.Join(folder, spooled(t)+waiting), text)
}

// Endings of a spool's files: what was witnessed, and what is handed in of a command whose process was killed.
const (
	waiting = ".json"
	running = ".running"
)

// spooled is the name of a testimony, without its ending.
func spooled(t Testimony) string { return datadir.Digest(t.RunID + " " + t.CallID)[:32] }

// Expect keeps what is handed in of a command if this process is killed while it runs: no one else would say that the command may
// have changed files. The function that it returns drops it.
func (c *Client) Expect(t Testimony) (drop func(), err error) {
	folder, err := c.spool()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return nil, err
	}
	name := path.Join(folder, spooled(t)+running)
	_, err = file.Write(text)
	if err = errors.Join(err, lock(file)); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return func() {
		_ = os.Remove(name) // it is refused where the command's own witness was heard
		_ = file.Close()
	}, nil
}

// Unheard returns how many testimonies wait for the server.
func (c *Client) Unheard() (int, error) {
	folder, err := c.spool()
	if err != nil {
		return 0, err
	}
	kept, err := unheard(folder)
	return len(kept), err
}

// unheard returns the files of a spool, oldest first.
func unheard(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		waits := strings.HasSuffix(e.Name(), waiting) || strings.HasSuffix(e.Name(), running) && !busy(path.Join(folder, e.Name()))
		return !waits || !e.Type().IsRegular()
	})
	age := func(e fs.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return int(min(max(age(a)-age(b), -1), 1)) })
	var files []string
	for _, e := range entries {
		files = append(files, path.Join(folder, e.Name()))
	}
	return files, nil
}

// HandIn hands in the testimonies that the server lacks, some of them where there are many. It returns
// those that it refuses.
func (c *Client) HandIn(to *Connection) (refused string) {
	folder, err := c.spool()
	if err != nil {
		return ""
	}
	files, err := unheard(folder)
	if err != nil {
		return fmt.Sprintf("Interlock cannot read %s: %v", folder, err)
	}
	var all []string
	for _, file := range files[:min(len(files), mostAtOnce)] {
		var t Testimony
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, &t) != nil {
			all = append(all, fmt.Sprintf("Interlock cannot read the witness in %s, and removes it", file))
			_ = os.Remove(file)
			continue
		}
		said, err := to.Finish(t)
		var no *Refused
		switch {
		case errors.As(err, &no) && !no.Away:
			all = append(all, fmt.Sprintf("Interlock refuses the witness of the jail of call %s: %s", t.CallID, no.Why))
		case err != nil:
			return strings.Join(all, "\n") // it is away again
		case said.Notice != "":
			all = append(all, said.Notice)
		}
		_ = os.Remove(file)
	}
	return strings.Join(all, "\n")
}

// Refused is a request that the server has refused. Away: it could not be asked in full, and the request may be made
// again.
type Refused struct {
	Why  string
	Away bool
}

func (e *Refused) Error() string { return e.Why }

// Started is a call that was claimed: the profile of its jail, and the key of its
// witness.
type Started struct {
	RunID   string          `json:"run_id"`
	Level   int             `json:"level"`
	Digest  string          `json:"digest"`
	Profile json.RawMessage `json:"profile"`
	Key     []byte          `json:"key"`
}

// Start claims a call.
func (to *Connection) Start(run, call, line string, level int) (*Started, error) {
	var s Started
	err := to.exchange(hookwire.StartPath, struct {
		RunID   string `json:"run_id"`
		CallID  string `json:"call_id"`
		Command []byte `json:"command"`
		Level   int    `json:"level"`
	}{run, call, []byte(line), level}, &s)
	switch {
	case err != nil:
		return nil, err
	case len(s.Profile) == 0 || len(s.Key) == 0:
		return nil, errors.New("the server's answer has no profile")
	}
	return &s, nil
}

// Heard has the consequences of a testimony.
type Heard struct {
	Evidence []string `json:"evidence"`
	Notice   string   `json:"notice"`
}

// Finish hands in a testimony.
func (to *Connection) Finish(t Testimony) (h Heard, err error) {
	err = to.exchange(hookwire.FinishPath, t, &h)
	return h, err
}

// exchange asks, and reads the answer. It is a *Refused where the server refuses.
func (to *Connection) exchange(path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	status, body, err := to.post(Request{Path: path, Body: body})
	if err != nil {
		return err
	}
	var no struct {
		Refused string `json:"refused"`
		Away    bool   `json:"away"`
	}
	switch {
	case status != 200:
		return fmt.Errorf("the server answered with status %d; is it Interlock's edge?", status)
	case json.Unmarshal(body, &no) != nil:
		return errors.New("the server's answer is not JSON; is it Interlock's edge?")
	case no.Refused != "":
		return &Refused{no.Refused, no.Away}
	case json.Unmarshal(body, answer) != nil:
		return errors.New("the server's answer cannot be read")
	}
	return nil
}
