package sdk

import (
	"encoding/json"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
)

func TestCreateState(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		states := newStates(t, `{}`)
		states.way.ahead = []trouble{lostAnswer, uncertain, lostRequest}
		c := New(connect(t, fakes{states: states}), Options{Session: "root"})
		st, err := c.CreateState(t.Context(), "review", map[string]int{"n": 1})
		if err != nil || st.ID != "wfstate_1" || st.SchemaName != "review" || string(st.Data) != `{"n":1}` || st.RootSessionName != "root" {
			t.Errorf("%+v, %v", st, err)
		}
		if len(states.created) != 1 {
			t.Errorf("made %d states", len(states.created))
		}
	})
}

// S10.4: reads may name parts.
func TestReadState(t *testing.T) {
	t.Parallel()
	states := newStates(t, `{"id": 9007199254740993, "a": {"b": [1, 2]}}`)
	c := New(connect(t, fakes{states: states}), Options{Session: "s"})
	whole, err := c.ReadState(t.Context(), "")
	if err != nil || string(whole.Data) != `{"a":{"b":[1,2]},"id":9007199254740993}` || whole.Version != 1 || whole.Parts != nil {
		t.Errorf("%+v, %v", whole, err)
	}
	parts, err := c.ReadState(t.Context(), "", "/a/b/1", "/nothing")
	if _, there := parts.Parts["/nothing"]; err != nil || there || string(parts.Parts["/a/b/1"]) != "2" || parts.Data != nil {
		t.Errorf("%+v, %v", parts, err)
	}
}

// Whose state is meant when none is named.
func TestWhichState(t *testing.T) {
	t.Parallel()
	states := newStates(t, `{}`)
	c := New(connect(t, fakes{states: states}), Options{Session: "s", State: "wfstate_env"})
	for _, client := range []*Client{c, c.ForSession("other"), c.ForRun("run_1")} {
		for _, id := range []string{"", "wfstate_7"} {
			if _, err := client.ReadState(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := [][2]string{{"s", "wfstate_env"}, {"s", "wfstate_7"}, {"other", ""}, {"other", "wfstate_7"}, {"s", "wfstate_env"}, {"s", "wfstate_7"}}
	for i, req := range states.read.all() {
		if got := [2]string{req.GetSession(), req.GetStateId()}; got != want[i] {
			t.Errorf("read %d is of %v, want %v", i, got, want[i])
		}
	}
}

// RFC 6902, as it goes over the wire.
func TestOps(t *testing.T) {
	t.Parallel()
	for want, op := range map[string]Op{
		`{"op":"add","path":"/a/-","value":{"n":1}}`:        Add("/a/-", map[string]int{"n": 1}),
		`{"op":"add","path":"/a","value":null}`:             Add("/a", nil),
		`{"op":"add","path":"","value":[9007199254740993]}`: Add("", []byte(`[9007199254740993]`)),
		`{"op":"replace","path":"/a","value":""}`:           Replace("/a", ""),
		`{"op":"remove","path":"/a"}`:                       Remove("/a"),
		`{"op":"test","path":"/a","value":false}`:           Test("/a", false),
		`{"op":"move","from":"/a","path":"/b"}`:             Move("/a", "/b"),
		`{"op":"copy","from":"","path":"/b"}`:               Copy("", "/b"),
	} {
		got, err := json.Marshal(op)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	if _, err := json.Marshal([]Op{Add("/a", func() {})}); err == nil {
		t.Error("a value that is not valid JSON was encoded")
	}
}

// S10.3, S6.5: a patch is made once, whatever is lost.
func TestPatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		states := newStates(t, `{"list": [], "n": 1}`)
		states.way.ahead = []trouble{uncertain, lostAnswer, silence}
		c := New(connect(t, fakes{states: states}), Options{Session: "s"})
		st, err := c.PatchState(t.Context(), "", Patch{Test("/n", 1), Add("/list/-", "x"), Replace("/n", 2)})
		if doc, version := states.now(); err != nil || st.Version != 2 || version != 2 || doc != `{"list":["x"],"n":2}` {
			t.Errorf("%s at %d, %+v, %v", doc, version, st, err)
		}
		if _, err = c.PatchState(t.Context(), "", Patch{Test("/n", 1)}); Reason(err) != fault.PatchFailed {
			t.Errorf("a failed test is %v", err)
		}
		if states.way.calls() != 5 {
			t.Errorf("%d calls: what is refused must not be tried again", states.way.calls())
		}
		if _, err = c.PatchState(t.Context(), "", nil); err != nil {
			t.Errorf("no operations: %v", err)
		}
	})
}
