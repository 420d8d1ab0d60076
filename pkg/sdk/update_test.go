package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/internal/randtest"

	"github.com/interlock-run/interlock/pkg/fault"
)

type counter struct {
	N int `json:"n"`
}

func (c *counter) increment() error {
	c.N++
	return nil
}

// S10.3: of concurrent read-modify-writes none is lost and none is made twice,
// whatever happens to requests and responses on the way.
func TestUpdateConcurrently(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(rt *rapid.T) {
		writers, each := rapid.IntRange(1, 6).Draw(rt, "writers"), rapid.IntRange(1, 4).Draw(rt, "each")
		ahead := rapid.SliceOfN(rapid.SampledFrom([]trouble{none, lostRequest, lostAnswer, uncertain, silence}), 0, 24).Draw(rt, "trouble")
		states := newStates(t, `{"n": 0, "id": 9007199254740993}`)
		states.way.ahead = slices.Clone(ahead)
		var errs log[error]
		synctest.Test(t, func(t *testing.T) {
			c := New(connect(t, fakes{states: states}), Options{Session: "s"})
			ctx := brief(t, time.Hour)
			var group sync.WaitGroup
			for range writers {
				group.Go(func() {
					for range each {
						_, err := UpdateStateAs(ctx, c, "", (*counter).increment)
						errs.add(err)
					}
				})
			}
			group.Wait()
		})
		if err := errors.Join(errs.all()...); err != nil {
			rt.Fatal(err)
		}
		want := fmt.Sprintf(`{"id":9007199254740993,"n":%d}`, writers*each)
		if doc, version := states.now(); doc != want || version != int64(1+writers*each) {
			rt.Fatalf("%s at version %d, want %s", doc, version, want)
		}
	})
}

func TestUpdateAnswersWhatItWrote(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		states := newStates(t, `{"n": 1}`)
		c := New(connect(t, fakes{states: states}), Options{Session: "s"})
		st, err := c.UpdateState(t.Context(), "", func(doc json.RawMessage) (json.RawMessage, error) {
			if string(doc) != `{"n":1}` {
				t.Errorf("given %s", doc)
			}
			return json.RawMessage(`{"n": 2}`), nil
		})
		if err != nil || st.Version != 2 || string(st.Data) != `{"n": 2}` || st.UpdatedBy != "s" {
			t.Errorf("%+v, %v", st, err)
		}
		// What was read is what is written, whatever the session shares now.
		if req := states.written.all()[0]; req.GetStateId() != "wfstate_1" || req.GetExpectedVersion() != 1 {
			t.Errorf("written as %v", req)
		}
	})
}

// What the caller's own function refuses is written nowhere and said as it is.
func TestUpdateRefusedByItsFunction(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		states := newStates(t, `{"n": 1}`)
		c := New(connect(t, fakes{states: states}), Options{Session: "s"})
		own := errors.New("not now")
		_, err := c.UpdateState(t.Context(), "", func(json.RawMessage) (json.RawMessage, error) { return nil, own })
		if err != own { //nolint:errorlint // the very error
			t.Error(err)
		}
		_, err = UpdateStateAs(t.Context(), c, "", func(*counter) error { return own })
		if err != own { //nolint:errorlint // the very error
			t.Error(err)
		}
		if len(states.written.all()) != 0 {
			t.Error("something was written")
		}
	})
}

// A race that is always lost ends with the caller's time, and says why.
func TestUpdateLosesEveryRace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		states := newStates(t, `{"n": 0}`)
		c := New(connect(t, fakes{states: states}), Options{Session: "s"})
		outrun := func(json.RawMessage) (json.RawMessage, error) {
			states.mu.Lock()
			defer states.mu.Unlock()
			states.version++
			return json.RawMessage(`{"n": -1}`), nil
		}
		begun := time.Now()
		if _, err := c.UpdateState(t.Context(), "", outrun); Reason(err) != fault.VersionConflict {
			t.Error(err)
		}
		if waited := time.Since(begun); waited < patience/2 || waited > patience {
			t.Errorf("gave up after %s", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.UpdateState(ctx, "", outrun); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if doc, _ := states.now(); doc != `{"n":0}` {
			t.Errorf("became %s", doc)
		}
	})
}

// Not every conflict is a lost race.
func TestUpdateRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		states := newStates(t, `{"n": 0}`)
		c := New(connect(t, fakes{states: states}), Options{Session: "s"})
		calls := 0
		_, err := c.UpdateState(t.Context(), "", func(json.RawMessage) (json.RawMessage, error) {
			calls++
			return json.RawMessage(`{`), nil
		})
		if Reason(err) != fault.InvalidJSON || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}
