package session_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/session"
)

// TestTrees gives random commands to random trees, in random order, and compares the
// sessions with the ledger. At the end all do their work, and every session must end
// (S11).
func TestTrees(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		w := newTree(t.Fatalf)
		w.config = session.Config{
			MaxAttempts: pick(t, 5), MaxDeliveries: pick(t, 4), // 0 is the default
		}
		g := &gardener{t: t, tree: w, ledger: newLedger(w)}
		g.open()
		for range pick(t, 120) {
			g.step()
			g.ledger.check()
		}
		g.finish()
	})
}

// gardener gives random commands to a tree.
type gardener struct {
	t       *rapid.T
	tree    *tree
	ledger  *ledger
	prompts int
}

var bits = rapid.SliceOfN(rapid.Bool(), 10, 10)

// pick draws a number below n, each as often: rapid's own prefer the small ones,
// and do not come far in a tree.
func pick(t *rapid.T, n int) int {
	return rapid.Map(bits, func(bits []bool) int {
		number := 0
		for _, bit := range bits {
			number <<= 1
			if bit {
				number++
			}
		}
		return number % n
	}).Draw(t, "pick")
}

func of[T any](g *gardener, among ...T) T { return among[pick(g.t, len(among))] }

// one is true for one draw in n.
func (g *gardener) one(in int) bool { return pick(g.t, in) == in-1 }

func (g *gardener) step() {
	w := g.tree
	name := of(g, w.names...)
	switch pick(g.t, 28) {
	case 0, 1:
		g.open()
	case 2:
		if root := w.stored[w.names[0]]; root.StateID == "" {
			w.create(root.Name)
		}
		w.deleted = w.deleted || g.one(20)
	case 3, 4, 5, 6, 7:
		g.stop(name)
	case 8, 9, 10:
		w.update(name)
	case 11, 12:
		g.resume(name)
	case 13:
		w.extend(name, g.token(name))
	case 14, 15:
		w.fail(name, g.token(name), "it crashed", g.one(2))
	case 16, 17, 18:
		w.ack(name, g.token(name))
	case 19, 20:
		w.advance(time.Duration(of(g, 0, 1, 4, 5, 29, 30, 90, 120)) * time.Second)
	default:
		g.claim(name)
	}
}

// open makes a session: the root, and mostly children later.
func (g *gardener) open() {
	w := g.tree
	if len(w.names) > 5 {
		return
	}
	spec := session.Spec{
		Name: fmt.Sprint("s", len(w.names)), Owner: "ann", Skip: g.one(4), AcceptEarly: g.one(3),
	}
	if g.one(3) {
		spec.Prompt = "begin"
	}
	parent := ""
	if len(w.names) > 0 {
		parent = of(g, w.names...)
	}
	if err := w.open(spec, parent); err != nil {
		g.t.Fatal(err)
	}
	if parent == "" && !g.one(5) {
		w.create(spec.Name)
	}
}

func (g *gardener) stop(name string) {
	cmd := session.Stop{InPlace: g.one(3), End: g.one(25)}
	if g.one(4) {
		cmd.Error = "it crashed"
	}
	if cmd.End {
		g.ledger.end(name)
	}
	g.tree.stop(name, cmd)
	if cmd.End && g.tree.stored[name].Status != session.Ended {
		g.t.Fatalf("%s was to end: %+v", name, g.tree.stored[name])
	}
}

// resume: every prompt is another, and none may be lost.
func (g *gardener) resume(name string) {
	prompt := ""
	if g.one(2) {
		g.prompts++
		prompt = fmt.Sprintf("prompt %d.", g.prompts)
		g.ledger.say(name, prompt)
	}
	g.tree.resume(name, prompt)
}

// claim: no runner gets the task of another.
func (g *gardener) claim(name string) {
	before := g.tree.stored[name]
	out := g.tree.claim(name, "runner")
	if want := before.Task != nil && before.Task.Ready && !before.Task.Claimed(); out.Changed != want {
		g.t.Fatalf("%s is claimed %t, want %t: %+v", name, out.Changed, want, before.Task)
	}
}

// token is the one that is held, or an old one, or one that was never given. Those must
// have no effect.
func (g *gardener) token(name string) int64 {
	s := g.tree.stored[name]
	if g.one(4) {
		token := int64(pick(g.t, int(s.ClaimToken)+3)) - 1
		if s.Task.Claimed() && token == s.Task.Token {
			token = 0
		}
		for _, out := range []session.Result{
			s.Extend(token, g.tree.clock()), s.Ack(token, nil, g.tree.clock()), s.Fail(token, "", false, g.tree.clock()),
		} {
			if out.Changed || out.Session != s {
				g.t.Fatalf("%s is changed by the token %d: %+v", name, token, s)
			}
		}
		return token
	}
	return s.ClaimToken
}

// finish lets all agents stop and report, and runners do their tasks, until all is
// quiet.
func (g *gardener) finish() {
	w := g.tree
	ended := func(name string) bool { return w.stored[name].Status == session.Ended }
	isEnded := func(names []string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !ended(name) })
	}
	for range 40 * len(w.names) {
		for _, name := range w.names {
			g.behave(name)
			g.ledger.check()
		}
		if isEnded(w.names) {
			w.advance(0)
			if name, due := w.next(); name != "" {
				g.t.Fatalf("all have ended, and %s has something due at %s", name, due)
			}
			return
		}
		w.advance(time.Minute)
	}
	for _, name := range w.names {
		g.t.Logf("%+v", w.stored[name])
	}
	g.t.Fatal("the sessions do not come to an end")
}

// behave does the next thing of one session.
func (g *gardener) behave(name string) {
	w := g.tree
	switch s := w.stored[name]; {
	case s.Task != nil && s.Task.Ready && !s.Task.Claimed():
		w.claim(name, "runner")
		w.update(name)
		w.ack(name, w.stored[name].ClaimToken)
	case s.Status == session.Running && !s.Task.Claimed(),
		s.Root() && s.Status == session.Finished && !s.Closing: // its user is done with it
		w.stop(name, session.Stop{})
	}
}
