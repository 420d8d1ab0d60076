//go:build unix

package hookclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// hearing is a server that answers each testimony, and counts them.
func hearing(answer string, heard *int) Transport {
	return func(_ time.Time, _ Target, req Request, _ int64) (int, []byte, error) {
		if req.Path != "/v1/hook/finish" {
			return 0, nil, errors.New("asked " + req.Path)
		}
		*heard++
		if answer == "" {
			return 0, nil, errors.New("connection refused")
		}
		return 200, []byte(answer), nil
	}
}

// TestSpool: undelivered data is kept for its owner, bounded, and sent until the server has taken or refused it.
func TestSpool(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer      string
		left, heard int
		says        string
	}{
		"heard":         {`{"evidence": ["tests"]}`, 0, 3, ""},
		"with a notice": {`{"notice": "tests held"}`, 0, 3, "tests held"},
		"refused":       {`{"refused": "it was changed"}`, 0, 3, "it was changed"},
		"away behind":   {`{"refused": "no store", "away": true}`, 3, 1, ""},
		"away":          {"", 3, 1, ""},
		"another":       {`<html>`, 3, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := folder(t, datadir.Endpoints{HTTP: "http://127.0.0.1:1"})
			c := &Client{Data: string(d), Token: sessionToken}
			for i := range 3 {
				if err := c.Keep(Testimony{RunID: "r", CallID: fmt.Sprint("../", i), Witness: []byte("w"), Signature: []byte("s")}); err != nil {
					t.Fatal(err)
				}
			}
			files, err := filepath.Glob(filepath.Join(string(d), "witnesses", "*"))
			if err != nil || len(files) != 3 {
				t.Fatalf("%v, %v", files, err)
			}
			for _, file := range files {
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%v, %v", info.Mode(), err)
				}
			}
			heard := 0
			to, err := c.Connect(time.Now().Add(time.Minute), hearing(tc.answer, &heard))
			if err != nil {
				t.Fatal(err)
			}
			said := c.HandIn(to)
			if left, err := c.Unheard(); err != nil || left != tc.left || heard != tc.heard || !strings.Contains(said, tc.says) || tc.says == "" && said != "" {
				t.Errorf("left %d, heard %d, %q, %v", left, heard, said, err)
			}
		})
	}
}

func TestSpoolIsBounded(t *testing.T) {
	t.Parallel()
	c := &Client{Data: string(folder(t, datadir.Endpoints{}))}
	spool := filepath.Join(c.Data, "witnesses")
	if err := os.Mkdir(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range mostKept {
		if err := os.WriteFile(filepath.Join(spool, fmt.Sprint(i, ".json")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Keep(Testimony{}); err == nil {
		t.Error("one more is kept")
	}
}

// counted is a machine that is asked.
type counted struct {
	support Support
	err     error
	asked   int
}

func (m *counted) Probe() (Support, error) { m.asked++; return m.support, m.err }

// TestSupportIsRemembered: a machine is asked once for each start of it, and again for another program.
func TestSupportIsRemembered(t *testing.T) {
	t.Parallel()
	if boot() == "" {
		t.Skip("this system does not say when it was started")
	}
	m := &counted{support: Support{Level: 2, Missing: "x"}}
	c := &Client{Data: string(folder(t, datadir.Endpoints{})), Jail: m}
	for range 3 {
		if got := c.Support(); got != m.support || m.asked != 1 {
			t.Errorf("%+v, asked %d times", got, m.asked)
		}
	}
	for name, other := range map[string]remembered{
		"another start": {Boot: "b", Program: program(), Support: Support{Level: 3}}, "another program": {Boot: boot(), Program: "p", Support: Support{Level: 3}},
		"no level": {Boot: boot(), Program: program(), Support: Support{Level: 9}},
	} {
		text, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.supportFile(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.Support(); got != m.support {
			t.Errorf("%s: %+v", name, got)
		}
	}
	c.Forget()
	m.err = errors.New("broken")
	if got := c.Support(); got.Level != 0 || got.Missing != "broken" {
		t.Errorf("%+v", got)
	}
}

// TestJailHeaders: the line of a command shows no token, and no jail is offered whose witness would not count.
func TestJailHeaders(t *testing.T) {
	t.Parallel()
	d := folder(t, datadir.Endpoints{})
	m := &counted{support: Support{Level: 3}}
	level := func(c Client) string {
		c.Jail = m
		for _, h := range c.jailHeaders() {
			if strings.Contains(h[1], token) || strings.Contains(h[1], sessionToken) {
				t.Errorf("%q", h)
			}
			if h[0] == "X-Interlock-Jail" {
				return h[1]
			}
		}
		return ""
	}
	const client = "claude-code_2-1-332_harness"
	if got := level(Client{Agent: "claude-code", Program: client, Data: string(d)}); got != "0" {
		t.Errorf("no token of the runtime: %s", got)
	}
	if err := os.WriteFile(d.Local(), []byte(`{"agent":"`+token+`","runtime":"ilk_bbbbbbbbbbbbbbbbbbbbbbbb"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Client{
		"3": {Agent: "claude-code", Program: client, Data: string(d)},
	} {
		if got := level(c); got != want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for name, c := range map[string]Client{
		"a version that is not known": {Agent: "claude-code", Data: string(d)},
		"a token in the line":         {Agent: "claude-code", Program: client, Data: string(d), Token: sessionToken},
		"another machine":             {Agent: "claude-code", Program: client, Server: "https://x", Token: sessionToken},
	} {
		if got := level(c); got != "0" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
