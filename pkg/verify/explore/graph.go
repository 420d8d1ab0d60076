package explore

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/interlock-run/interlock/pkg/verify/model"
)

// Graph is the explored state graph.
type Graph struct {
	Globals []Visited
	seen    map[Digest]int32
	// Full is true when a bound was reached.
	Full bool
}

// Digest identifies a global state.
type Digest [16]byte

// Visited is a global state, and how it was first come to.
type Visited struct {
	*model.GlobalState
	from int32
	by   Move
}

// Visitor has the callbacks of an exploration. Each may be nil; each stops the exploration
// by returning false.
type Visitor struct {
	// global state is called for each global state once.
	GlobalState func(g *Graph, at int32) bool
	// Step is called for every step, before it is followed; it may change where it leads.
	// follow reports whether to continue from there.
	Step func(g *Graph, from int32, s *Step) (follow, going bool)
	// edge is called for every step that is followed.
	edge func(g *Graph, from, to int32, s *Step)
	// Better reports that a known global state is to be explored again, in place of the known
	// one.
	Better func(known, now *model.GlobalState) bool
}

// Path returns the moves that lead to a global state, in order, with the global states that they lead
// to.
func (g *Graph) Path(at int32) (moves []Move, globals []*model.GlobalState) {
	for ; at >= 0; at = g.Globals[at].from {
		moves = append(moves, g.Globals[at].by)
		globals = append(globals, g.Globals[at].GlobalState)
	}
	slices.Reverse(moves)
	slices.Reverse(globals)
	return moves, globals
}

// Digest returns one of the explored graph, independent of order.
func (g *Graph) Digest() string {
	all := make([]Digest, 0, len(g.seen))
	for d := range g.seen {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Digest) int { return slices.Compare(a[:], b[:]) })
	h := sha256.New()
	for i := range all {
		h.Write(all[i][:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
