// Package attack draws the steps of a hostile agent against a workflow: calls and command
// lines, events, reports, approvals, races, kills and jumps of the clock, all of it by a
// seed. It also minimizes findings.
//
// It is pure: it decides the steps to try, and never whether that was right.
// services/internal/attack plays the steps against the services, and compares the outcome
// with pkg/verify.
package attack

import (
	"fmt"
	"strings"
)

// Do is the kind of a step.
type Do string

// The kinds of steps.
const (
	// Check asks whether a call may be made.
	Check Do = "check"
	// Report reports how a call has ended.
	Report Do = "report"
	// Fire requests a transition.
	Fire Do = "event"
	// Answer is an answer to the question of a process.
	Answer Do = "answer"
	// Decide approves or rejects an approval.
	Decide Do = "decide"
	// Settle, Consume and Void are requests between services.
	Settle  Do = "settle"
	Consume Do = "consume"
	Void    Do = "void"
	Pause   Do = "pause"
	Resume  Do = "resume"
	Cancel  Do = "cancel"
	// Force jumps to a state.
	Force Do = "force"
	// Bind gives a branch of a fork to a session.
	Bind Do = "bind"
	// Interrupt claims that a call has fired one.
	Interrupt Do = "interrupt"
	// Start starts a run.
	Start Do = "start"
	// Register registers a definition under the name of the workflow.
	Register Do = "register"
	// Policy registers a policy that allows everything.
	Policy Do = "policy"
	// Stop and Revive end and resume a session.
	Stop   Do = "stop"
	Revive Do = "revive"
	// Write edits the state that the session's tree shares.
	Write Do = "write"
	// Advance turns the clock, back when it is negative, and fires due timers.
	Advance Do = "advance"
	// Kill ends the services in the middle of the next step, and opens them again.
	Kill Do = "kill"
)

// Who acts. Every name stands for one token.
const (
	Agent    = "agent"    // of session s1, which drives the run
	Loose    = "loose"    // an agent of the same name with a token that is bound to no session
	Other    = "other"    // an agent of another session
	Child    = "child"    // an agent of a session below the first
	Runtime  = "runtime"  // the harness that makes the agent's calls and sees their results
	Asker    = "asker"    // an approver with the agent's name
	Approver = "approver" // a person
	Second   = "second"   // another person
	Operator = "operator"
	Observer = "observer"
	Nobody   = "nobody" // without credentials
)

// Step is one act of a caller. Runs, calls and approvals are named by the order in which a
// schedule has met them, from 1: ids differ each time.
type Step struct {
	Do Do     `json:"do"`
	As string `json:"as,omitzero"`
	// Run is the run that is named; 0 names the session alone, and a number that no run has
	// one that does not exist.
	Run     int    `json:"run,omitzero"`
	Session string `json:"session,omitzero"`
	Branch  string `json:"branch,omitzero"`

	Tool      string `json:"tool,omitzero"`
	Qualified string `json:"qualified,omitzero"`
	// Input is JSON as the caller writes it, which may be wrong.
	Input string `json:"input,omitzero"`
	// Call is the id of the call.
	Call    string   `json:"call,omitzero"`
	Failed  bool     `json:"failed,omitzero"`
	Unknown bool     `json:"unknown,omitzero"`
	Files   []string `json:"files,omitempty"`
	Output  string   `json:"output,omitzero"`
	// Garbled ends the input or the data with a byte that is not UTF-8.
	Garbled bool  `json:"garbled,omitzero"`
	Bytes   int64 `json:"bytes,omitzero"`

	// Event is the event, the answer, or the state that is forced.
	Event string `json:"event,omitzero"`
	Data  string `json:"data,omitzero"`
	// Stale expects the run at a version before the present one, Current at the present one.
	Stale   bool `json:"stale,omitzero"`
	Current bool `json:"current,omitzero"`
	// Key makes the step repeatable.
	Key string `json:"key,omitzero"`

	Approval int  `json:"approval,omitzero"`
	Reject   bool `json:"reject,omitzero"`

	Seconds int64 `json:"seconds,omitzero"`

	// Commit is before which commit of this step Race is played, or at which the services die,
	// from 1. Applied: that commit has been made when they die.
	Commit  int   `json:"commit,omitzero"`
	Applied bool  `json:"applied,omitzero"`
	Race    *Step `json:"race,omitempty"`
}

// String describes a step to people.
func (s *Step) String() string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	if s.As != "" {
		add("%s: ", s.As)
	}
	add("%s", s.Do)
	for _, part := range []struct{ name, value string }{
		{"", s.Event}, {"", s.Tool}, {"", clip(s.Input)}, {"data", clip(s.Data)}, {"call", clip(s.Call)}, {"branch", s.Branch}, {"session", s.Session},
	} {
		switch {
		case part.value == "":
		case part.name == "":
			add(" %s", part.value)
		default:
			add(" %s %s", part.name, part.value)
		}
	}
	for _, part := range []struct {
		name string
		is   bool
	}{
		{"failed", s.Failed},
		{"unknown", s.Unknown},
		{"at an old version", s.Stale},
		{"at this version", s.Current},
		{"reject", s.Reject},
		{"run " + fmt.Sprint(s.Run), s.Run > 1},
		{"approval " + fmt.Sprint(s.Approval), s.Approval > 0},
		{fmt.Sprint(s.Seconds, " s"), s.Seconds != 0},
		{"before commit " + fmt.Sprint(s.Commit), s.Do == Kill && !s.Applied},
		{"after commit " + fmt.Sprint(s.Commit), s.Do == Kill && s.Applied},
	} {
		if part.is {
			add(" (%s)", part.name)
		}
	}
	if s.Race != nil {
		add(" {before commit %d: %s}", s.Commit, s.Race.String())
	}
	return b.String()
}

func clip(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}
