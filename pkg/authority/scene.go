package authority

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// Node is a run, with the rules of its definition on leaving it.
type Node struct {
	Run *workflow.Run
	// Enforcement is the definition's meta.enforcement (S2.9, S6.6).
	Enforcement workflow.Enforcement
	// Process: the definition is a process (S8).
	Process bool
	// Digest of the definition, where a run would be started.
	Digest string
}

// keeps reports that agents cannot leave the run before it has ended.
func (n Node) keeps() bool { return n.Enforcement.Keeps() || n.Process }

// Target is the object that a request names: a run by its id, or else the one that a
// session drives; and the branch of its fork, or none for the caller's own.
type Target struct{ RunID, Session, Branch string }

// Binding is the run that a session drives.
type Binding struct {
	Session string
	// RunID is empty for a session that drives no run.
	RunID string
	// Branch is the path of the branch that is the session's own; empty for the run.
	Branch string
	// Ended: the session has ended, and was not resumed since.
	Ended bool
}

// Offer is the workflow that a request would start.
type Offer struct {
	Workflow string
	// Version that would be started, and the newest that is registered.
	Version, Newest int64
	Enforcement     workflow.Enforcement
	// Claims are the keys that the request sets in the context, and that agents may not
	// set at the start (S6.8).
	Claims []string
	// Digest of the definition, and ByAgent where only agents have registered it.
	Digest  string
	ByAgent bool
	// Workspace that the request names, and Vouched where someone vouches for that who is no agent.
	Workspace string
	Vouched   bool
}

// Scene is all that a decision may depend on, as far as it is known. A decision that
// depends on more is a Refusal with a Need: the caller adds that to the Scene and asks
// again.
type Scene struct {
	Who    Who
	Target Target
	// Bindings that were read, also of sessions that drive no run.
	Bindings []Binding
	// Runs that were read, and the ids of those that there are not.
	Runs   []Node
	Absent []string
	// Above are the sessions above the caller's own in their tree, once AboveKnown.
	Above      []string
	AboveKnown bool
	// Offer is set where a run would be started.
	Offer *Offer
}

// Need is a fact that a decision depends on and a Scene lacks: one of these.
type Need struct {
	// RunID of a run, or Session whose binding counts.
	RunID, Session string
	// Above asks for the sessions above the caller's own.
	Above bool
}

func lacks(n Need) *Refusal {
	return &Refusal{Code: Incomplete, Message: "the decision depends on a record that was not read; no change was made", Need: &n}
}

// run finds a run; found is false when there is none of this id.
func (s *Scene) run(id string) (n Node, found bool, _ *Refusal) {
	if id == "" || slices.Contains(s.Absent, id) {
		return Node{}, false, nil
	}
	for _, n := range s.Runs {
		if n.Run.ID == id {
			return n, true, nil
		}
	}
	return Node{}, false, lacks(Need{RunID: id})
}

// member finds a run that others of its family name.
func (s *Scene) member(id string) (Node, *Refusal) {
	n, found, refusal := s.run(id)
	if refusal == nil && !found {
		refusal = refuse(Incomplete, "run %s is part of this run's family, but it does not exist; no change was made", id)
	}
	return n, refusal
}

// drives returns the binding of a session; found is false when it drives no run.
func (s *Scene) drives(session string) (b Binding, n Node, found bool, _ *Refusal) {
	i := slices.IndexFunc(s.Bindings, func(b Binding) bool { return b.Session == session })
	if i < 0 {
		return b, n, false, lacks(Need{Session: session})
	}
	b = s.Bindings[i]
	if b.RunID == "" {
		return b, n, false, nil
	}
	n, refusal := s.member(b.RunID)
	return b, n, refusal == nil, refusal
}

// Place is a run, and the branch of it that is meant.
type Place struct {
	Node
	Branch string
	// Owner is set when the branch is meant only as long as it is this session's own: a
	// later fork may have one of the same name, or another session have taken it over.
	Owner string
	// OwnerEnded: that session has ended.
	OwnerEnded bool
}

// Lost reports that the branch is no longer its owner's, or that its owner has ended: no
// operation is allowed there.
func (p Place) Lost() bool {
	return p.Owner != "" && (p.OwnerEnded || !p.Run.Bound(p.Branch, p.Owner))
}

// View returns the run as the place sees it.
func (p Place) View() workflow.View {
	if p.Lost() {
		return p.Run.Lost(p.Branch)
	}
	return p.Run.At(p.Branch)
}

// parent returns the run that waits for another; waits is false when none does any more.
func (s *Scene) parent(n Node) (parent Node, waits bool, _ *Refusal) {
	if n.Run.Parent == nil || n.Run.Status.Ended() {
		return Node{}, false, nil
	}
	parent, refusal := s.member(n.Run.Parent.RunID)
	return parent, refusal == nil && slices.Contains(parent.Run.Children(), n.Run.ID), refusal
}

// Innermost follows the runs that a place waits for, to the one whose rules are in force.
func (s *Scene) Innermost(at Place) (Place, *Refusal) {
	for range workflow.MaxInvokeDepth + 1 {
		child := at.View().Child
		if child == nil {
			return at, nil
		}
		next, refusal := s.member(child.RunID)
		if refusal != nil {
			return at, refusal
		}
		at = Place{Node: next}
	}
	return at, tooDeep(at.Run)
}

// outermost follows the runs that wait for a place's.
func (s *Scene) outermost(at Place) (Place, *Refusal) {
	for range workflow.MaxInvokeDepth + 1 {
		parent, waits, refusal := s.parent(at.Node)
		if refusal != nil || !waits {
			return at, refusal
		}
		at = Place{Node: parent}
	}
	return at, tooDeep(at.Run)
}

func tooDeep(run *workflow.Run) *Refusal {
	return refuse(Incomplete, "run %s waits for more runs than can be nested; no change was made", run.ID)
}
