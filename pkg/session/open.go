package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Spec has the parameters of a new session.
type Spec struct {
	ID, Name string
	// Skip: the session need not report (S11.2).
	Skip        bool
	AcceptEarly bool
	// NoCallback: its parent is not called back.
	NoCallback bool
	Labels     map[string]string
	// LabelsCount: conditions may look at the labels.
	LabelsCount bool
	StateRef    string
	Agent       string
	// Subject is whose long-term values it uses; by default its parent's, or its
	// own name.
	Subject string
	// Prompt, when not empty, is for a runner to start the agent with.
	Prompt string
	Owner  string
	// Only narrows the session; nil for nothing.
	Only json.RawMessage
}

// Open makes a session under a parent, whose state it shares from then on; nil for
// a root. The parent must count it by ChildOpened.
func Open(spec Spec, parent *Session, c Clock) (Result, error) {
	s := &Session{
		ID: spec.ID, Name: spec.Name, RootID: spec.ID, RootName: spec.Name, Status: Running, Update: UpdateNone,
		AcceptEarly: spec.AcceptEarly, NoCallback: spec.NoCallback, Labels: maps.Clone(spec.Labels), LabelsCount: spec.LabelsCount, StateRef: spec.StateRef, Agent: spec.Agent, Subject: spec.Subject,
		Prompt: spec.Prompt, Starting: spec.Prompt != "", Owner: spec.Owner, Bounds: Bounds{Only: spec.Only}, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	if parent != nil {
		if parent.Depth >= MaxDepth {
			return Result{}, fmt.Errorf("session %q is %d levels below its root, and a tree has at most %d", parent.Name, parent.Depth, MaxDepth)
		}
		s.ParentID, s.ParentName, s.Depth = parent.ID, parent.Name, parent.Depth+1
		s.RootID, s.RootName, s.StateID = parent.RootID, parent.RootName, parent.StateID
		if s.Subject == "" {
			s.Subject = parent.Subject
		}
		if s.Human == nil {
			s.Human = parent.Human
		}
	}
	if s.Subject == "" {
		s.Subject = s.Name
	}
	if parent == nil || spec.Skip {
		s.Update = UpdateSkipped
	}
	r := &Result{Session: s, newTaskID: c.NewTaskID, Changed: true}
	if s.Prompt != "" {
		s.Status = Finished // until a runner has started it
		r.plan(c)
	}
	return *r, nil
}

// WithState returns a root session that has created the state that its tree shares.
func (s *Session) WithState(stateID string, c Clock) Result {
	r := s.begin(c)
	r.Session.StateID = stateID
	r.Changed = true
	return *r
}

// Granted returns a session that may read a state of another tree, or no longer (S10.9).
func (s *Session) Granted(stateID string, revoke bool, c Clock) Result {
	if slices.Contains(s.Grants, stateID) != revoke {
		return unchanged(s)
	}
	r := s.begin(c)
	if revoke {
		r.Session.Grants = slices.DeleteFunc(r.Session.Grants, func(id string) bool { return id == stateID })
	} else {
		r.Session.Grants = append(r.Session.Grants, stateID)
	}
	r.Changed = true
	return *r
}

// Cleaned returns a session whose own values have been removed after its end.
func (s *Session) Cleaned(c Clock) Result {
	r := s.begin(c)
	r.Session.Cleanup = false
	r.Changed = true
	return *r
}
