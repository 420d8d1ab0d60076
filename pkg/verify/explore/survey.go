package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Edge is a step between two global states, as far as it matters to whether a run can end.
type Edge struct {
	from, to int32
	path     string // of the run and lane
	Event    string
	Chosen   []model.Assignment
	guards   []string
	words    *model.Vocabulary
	unsure   bool
	doubtful bool
	spends   bool
	// timed is true of a step that time alone brings about, after a wait at most.
	timed bool
	wait  time.Duration
	// whole is true when the wait counts from the begin of the run.
	whole bool
}

// Survey is the exploration without a condition, with every way.
type Survey struct {
	*Graph
	Edges []Edge
	Out   [][]int32 // by global state, places in ways
	// Passed are the guards that have passed, by workflow and name.
	Passed map[[2]string]bool
	// sure: a call that a run may have used up does not lead on from where it stands. It can
	// once the run has come there anew.
	sure bool
}

// Survey explores everything once.
func (x *Explorer) Survey() *Survey {
	s := &Survey{Passed: map[[2]string]bool{}}
	s.Graph = x.Explore("", Visitor{
		edge: func(g *Graph, from, to int32, st *Step) {
			for _, t := range st.runEvents {
				for i := range t.Events {
					for _, name := range t.Events[i].Guards {
						s.Passed[[2]string{t.Unit.Machine.Name(), name}] = true
					}
				}
			}
			if st.Kind == Cancels || st.Kind == Loses { // these are not taken to let a run end
				return
			}
			s.Edges = append(s.Edges, Edge{
				from, to, fmt.Sprint(st.Path, st.Branch), st.Event, st.Chosen, st.guards, st.From.At(st.Path).Unit.Words, st.unsure,
				st.doubtful, st.spends, st.Kind == Elapses || st.Kind == Expires, x.waitOf(st), st.Due.Kind == workflow.DueDeadline,
			})
		},
	}, nil)
	s.index()
	return s
}

func (s *Survey) index() {
	s.Out = make([][]int32, len(s.Globals))
	for i := range s.Edges {
		s.Out[s.Edges[i].from] = append(s.Out[s.Edges[i].from], int32(i))
	}
}

// Certain returns the survey without the steps that are not certainly possible.
func (s *Survey) Certain() *Survey {
	sure := &Survey{Graph: s.Graph, Passed: s.Passed, sure: true}
	for _, w := range s.Edges {
		if !w.doubtful {
			sure.Edges = append(sure.Edges, w)
		}
	}
	sure.index()
	return sure
}

// Timed returns the survey with the steps that time alone brings about (S25.10).
func (s *Survey) Timed() *Survey {
	timed := &Survey{Graph: s.Graph, Passed: s.Passed}
	for _, w := range s.Edges {
		if w.timed {
			timed.Edges = append(timed.Edges, w)
		}
	}
	timed.index()
	return timed
}

// waitOf returns how long a step of time takes at most.
func (x *Explorer) waitOf(s *Step) time.Duration {
	if s.Due.Kind == workflow.DueDeadline {
		return s.From.At(s.Path).Unit.Machine.Meta().Deadline.After
	}
	if s.Kind != Expires {
		return s.Due.After
	}
	if ttl := s.From.At(s.Path).Unit.Machine.Meta().Approval.TTL; ttl > 0 {
		return ttl
	}
	return consent.DefaultTTL
}

// Bound returns the longest time that the steps take to an end, from anywhere. It is not known where they can go round.
func (s *Survey) Bound() (bound time.Duration, known bool) {
	const open, closed = 1, 2
	marks, ends := make([]byte, len(s.Globals)), make([]time.Duration, len(s.Globals))
	known = true
	var visit func(at int32) time.Duration
	visit = func(at int32) time.Duration {
		switch marks[at] {
		case closed:
			return ends[at]
		case open:
			known = false
			return 0
		}
		marks[at] = open
		var most, whole time.Duration
		for _, i := range s.Out[at] {
			w := &s.Edges[i]
			if w.whole { // it comes in any case
				whole = w.wait + visit(w.to)
				continue
			}
			most = max(most, w.wait+visit(w.to))
		}
		if whole > 0 {
			most = whole
		}
		marks[at], ends[at] = closed, most
		return most
	}
	for at := range s.Globals {
		bound = max(bound, visit(int32(at)))
	}
	return bound, known
}

// CanReach returns the global states from which one of those that are wanted can be reached.
func (s *Survey) CanReach(wanted func(*model.GlobalState) bool) []bool {
	into := make([][]int32, len(s.Globals))
	for i := range s.Edges {
		if !s.Edges[i].unsure {
			into[s.Edges[i].to] = append(into[s.Edges[i].to], s.Edges[i].from)
		}
	}
	can := make([]bool, len(s.Globals))
	var queue []int32
	for i := range s.Globals {
		if wanted(s.Globals[i].GlobalState) {
			can[i] = true
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, from := range into[at] {
			if !can[from] {
				can[from] = true
				queue = append(queue, from)
			}
		}
	}
	return can
}

// Stuck finds a global state from which no wanted state can be reached any more, with the values
// of the context that cause it.
func (x *Explorer) Stuck(s *Survey, can []bool, done func(*model.GlobalState) bool) (at int32, values map[string][]model.Assignment,
	found bool,
) {
	for i := range s.Globals {
		w := s.Globals[i].GlobalState
		if done(w) {
			continue
		}
		values, stuck := x.StuckIn(s, int32(i), can)
		if stuck {
			return int32(i), values, true
		}
	}
	return 0, nil, false
}

// StuckIn chooses, for every lane, values under which none of its ways leads on.
func (x *Explorer) StuckIn(s *Survey, at int32, can []bool) (values map[string][]model.Assignment, stuck bool) {
	byLane := map[string][]*Edge{}
	var lanes []string
	for _, i := range s.Out[at] {
		w := &s.Edges[i]
		if !can[w.to] || w.spends && s.sure {
			continue
		}
		if len(w.Chosen) == 0 {
			return nil, false
		}
		if byLane[w.path] == nil {
			lanes = append(lanes, w.path)
		}
		byLane[w.path] = append(byLane[w.path], w)
	}
	values = map[string][]model.Assignment{}
	for _, lane := range lanes {
		blocking, complete := x.blocking(byLane[lane])
		if !complete {
			x.AddCause("the guards of a state distinguish too many combinations of values")
		}
		if blocking == nil {
			return nil, false
		}
		values[lane] = blocking
	}
	return values, true
}

// blocking returns values of the keys that ways depend on, under which none of them is
// open; nil when there are none.
func (x *Explorer) blocking(ways []*Edge) (values []model.Assignment, complete bool) {
	var guards []string
	var members []document.Member
	for _, way := range ways {
		for _, guard := range way.guards {
			if !slices.Contains(guards, guard) {
				guards = append(guards, guard)
			}
		}
		for _, a := range way.Chosen {
			members = append(members, document.Member{Name: a.Key, Value: model.FreeByAgent})
		}
	}
	slices.Sort(guards)
	choices, complete := ways[0].words.Assignments(document.ObjectValue(members), guards)
	for _, choice := range choices {
		open := slices.ContainsFunc(ways, func(way *Edge) bool {
			return !slices.ContainsFunc(way.Chosen, func(a model.Assignment) bool {
				i := slices.IndexFunc(choice, func(b model.Assignment) bool { return a.Key == b.Key })
				return i < 0 || !a.Agrees(choice[i].Value)
			})
		})
		if !open {
			return choice, complete
		}
	}
	return nil, complete
}

// Final reports that the main run has ended in a final state.
func Final(w *model.GlobalState) bool { return w.Root.Run.Status.Ended() }
