package e2e

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// older is a store that goes back in time.
type older struct {
	// keep copies the store's files; restore puts them back under the running system.
	keep func() (restore func())
	// serves are the addresses that say whether the services are ready.
	serves func() []string
	// accept is the act of an operator then.
	accept func()
}

// goBack replaces the store by an older copy. Until an operator accepts that, no call is
// allowed and everything is refused with STORE_ROLLED_BACK. Afterwards all is there that
// was acknowledged before the copy, and no later record.
func (c *campaign) goBack(o older) {
	c.Helper()
	c.rest()
	c.close()
	kept := c.chapter
	restore := o.keep()
	c.settle()
	c.open()
	c.load()
	c.works("a copy was made")
	c.rest()
	lost := c.chapter
	restore()
	for _, ch := range []*chapter{kept, lost} {
		ch.refused(c)
	}
	for _, address := range o.serves() {
		eventually(c, address+" is not ready", func() error {
			if ready(address) == nil {
				return errors.New("it is")
			}
			return nil
		})
	}
	o.accept()
	for _, address := range o.serves() {
		eventually(c, address+" is ready again", func() error { return ready(address) })
	}
	c.chapter = kept
	c.settle()
	kept.unchanged(c.T)
	lost.gone(c)
	c.open()
	c.load()
}

// refused asks for everything until it is refused because of the rollback.
func (ch *chapter) refused(t testing.TB) {
	t.Helper()
	run := ch.moves.runs[0]
	ask := map[string]func() error{
		"a tool call": func() error {
			d, err := ch.caller.policy.CheckToolCall(within(t), &policyv1.CheckToolCallRequest{RunId: run, Tool: toolAt(1)})
			if d.GetDecision() == allow {
				t.Fatal("a tool is allowed while the store has gone back in time")
			}
			if err == nil && strings.Contains(d.GetMessage(), string(fault.StoreRolledBack)) {
				return fault.New(fault.StoreRolledBack, "denied")
			}
			return err
		},
		"a transition": func() error {
			_, err := ch.caller.runs.TransitionRun(within(t), &enginev1.TransitionRunRequest{RunId: run, Event: "GO"})
			return err
		},
		"a run": func() error {
			_, err := ch.caller.runs.GetRun(within(t), &enginev1.GetRunRequest{RunId: run})
			return err
		},
		"a patch": func() error {
			_, err := ch.appends.states.UpdateState(within(t), &statev1.UpdateStateRequest{
				StateId: ch.appends.id, Change: &statev1.UpdateStateRequest_Patch{Patch: []byte(`[{"op":"add","path":"/list/-","value":"0.0"}]`)},
			})
			return err
		},
	}
	for what, do := range ask {
		eventually(t, what+" is refused with STORE_ROLLED_BACK", func() error {
			err := do()
			switch reason := fault.ReasonOf(err); {
			case err == nil && what == "a tool call": // denied for another reason
				return fault.New(fault.Unavailable, "it is denied for another reason")
			case err == nil:
				t.Fatalf("%s is answered while the store has gone back in time", what)
			case reason != fault.StoreRolledBack:
				return err
			}
			return nil
		})
	}
}

// unchanged demands of a chapter that was verified before a copy was made that it is as it was.
func (ch *chapter) unchanged(t *testing.T) {
	t.Helper()
	for _, id := range ch.moves.runs {
		history := ch.caller.history(t, id)
		contiguous(t, id, history)
		if want := len(ch.moves.moved[id]) + 1; len(history) != want {
			t.Errorf("after the rollback run %s has %d entries, not %d", id, len(history), want)
		}
	}
	ch.appends.verify(t)
}

// gone demands that no record is left of a chapter that began after the copy was made.
func (ch *chapter) gone(t testing.TB) {
	t.Helper()
	ask := []func() error{func() error {
		_, err := ch.appends.states.GetState(within(t), &statev1.GetStateRequest{StateId: ch.appends.id})
		return err
	}}
	for _, id := range ch.moves.runs {
		ask = append(ask, func() error {
			_, err := ch.caller.runs.GetRun(within(t), &enginev1.GetRunRequest{RunId: id})
			return err
		})
	}
	for _, get := range ask {
		eventually(t, "what is lost is not found", func() error {
			err := get()
			if err == nil {
				t.Fatal("something is there that the older copy did not have")
			}
			if fault.ReasonOf(err) == fault.NotFound {
				return nil
			}
			return err
		})
	}
}

// accept runs the command by which an operator accepts a rollback.
func (c *campaign) accept(args ...string) {
	c.Helper()
	cmd := exec.CommandContext(within(c), binary(c, "interlock"), append([]string{"store", "accept-rollback"}, args...)...)
	cmd.Env = cleanEnv()
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Accepted:") {
		c.Fatalf("accept-rollback: %v: %s", err, out)
	}
}

// copyOf copies files and folders, those that there are, and returns a function that puts them back.
func copyOf(t testing.TB, paths ...string) (restore func()) {
	t.Helper()
	base := t.TempDir()
	move := func(from, to string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(to), copyTree(from, to)); err != nil {
			t.Fatal(err)
		}
	}
	copied := func(path string) string { return filepath.Join(base, filepath.Base(path)) }
	for _, path := range paths {
		move(path, copied(path))
	}
	return func() {
		t.Helper()
		for _, path := range paths {
			move(copied(path), path)
		}
	}
}

// copyTree copies a file or a folder, and syncs the copy. An absent one is no error.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == from {
			return nil
		}
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(text)
		return errors.Join(err, file.Sync(), file.Close())
	})
}

// alive is the answer of /healthz: whether only a restart helps.
func alive(base string) bool {
	resp, err := http.Get(base + "/healthz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
