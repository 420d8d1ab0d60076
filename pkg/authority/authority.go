// Package authority decides on operations: which run a request means, whether its caller
// may do that to it, and whether an agent would escape the run's rules by it.
//
// A decision is a function of a Scene, which holds everything that it may depend on. The
// loader of a Scene must make each record that it read a precondition of the commit that
// follows, so that a decision never outlives its facts. The package must never read
// anything itself, and never take missing knowledge for permission.
package authority

import (
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// Role is the part of a caller that counts for its authority over runs and sessions goes.
type Role string

// The roles. Which calls reach a service at all is settled before, by pkg/auth.
const (
	// Agent is bound by the rules of the runs that it works in.
	Agent Role = "agent"
	// Operator stands for every human role.
	Operator Role = "operator"
	// System is Interlock itself: it carries out decisions of humans, and the end of
	// sessions.
	System Role = "system"
)

// Who is the caller of a request.
type Who struct {
	Role Role
	// Name of the principal.
	Name string
	// Session and Branch are the bounds of the caller's token; empty for no limit. A
	// caller whose token is bound acts for that session alone.
	Session, Branch string
}

// Op is an operation that a caller requests.
type Op string

// The operations.
const (
	Transition Op = "transition" // fire an event
	Answer     Op = "answer"     // answer the question of a process
	Force      Op = "force"      // jump to a state
	Interrupt  Op = "interrupt"  // divert to a handler, for a tool call that was allowed
	Pause      Op = "pause"
	Resume     Op = "resume"
	Cancel     Op = "cancel"
	Start      Op = "start" // start a run in a session
	Take       Op = "take"  // resume a paused run in a session
	Bind       Op = "bind"  // give a branch to a session
	Read       Op = "read"
	Migrate    Op = "migrate"     // move a run to another version of its workflow
	Settle     Op = "settle"      // carry out a decided approval
	EndSession Op = "end_session" // hold the run of a session that has ended
	LiftEnd    Op = "lift_end"    // lift that hold, for the session is resumed
	Elapse     Op = "elapse"      // carry out what time has made due
)

// Ops lists every operation.
func Ops() []Op {
	return []Op{
		Transition, Answer, Force, Interrupt, Pause, Resume, Cancel, Start, Take, Bind, Read, Migrate, Settle, EndSession, LiftEnd, Elapse,
	}
}

// aims is which run of a family an operation is carried out on.
type aims int

const (
	named     aims = iota // the run that the request names
	innermost             // the one whose rules are in force: the last that was invoked
	outermost             // the one that no run invoked, with all that it waits for
)

// Works reports that an agent works in a session by an operation, which ends with the session
// (S11.6): it may still pause, cancel and read.
func Works(op Op) bool {
	return slices.Contains([]Op{Transition, Answer, Force, Start, Take, Bind, Resume}, op)
}

// leaving names the runs that an agent would leave by an operation.
type leaving int

const (
	nothing leaving = iota
	itsRun          // the run that the operation is carried out on
	driven          // the runs that the session drives, for another run
)

// rule describes an operation.
type rule struct {
	aims aims
	// sessions: named by its session it is the innermost run, named by its id that run.
	bySession bool
	// whole: it concerns every branch of the run.
	whole bool
	// leaves: the runs that an agent would leave by it.
	leaves leaving
	// lifts: a run that is held continues by it.
	lifts []workflow.HoldCause
	// system: only Interlock itself does it.
	system bool
	// human: no agent does it.
	human bool
	// admitted: the cause of the operation has settled who may do it.
	admitted bool
}

// every hold is lifted by an operator who resumes the run.
var every = []workflow.HoldCause{workflow.HoldOperator, workflow.HoldSessionEnd, workflow.HoldStale}

// rules is the whole table: an operation that is not in it is refused.
var rules = map[Op]rule{
	Transition: {aims: innermost},
	Answer:     {aims: innermost},
	Force:      {aims: named, bySession: true, whole: true, leaves: itsRun},
	Interrupt:  {aims: named, admitted: true},
	Pause:      {aims: outermost, whole: true, leaves: itsRun},
	Resume:     {aims: outermost, whole: true, leaves: driven, lifts: every},
	Cancel:     {aims: named, whole: true, leaves: itsRun},
	Start:      {leaves: driven},
	Take:       {aims: named, leaves: driven, lifts: every, admitted: true},
	Bind:       {aims: named, leaves: driven},
	Read:       {aims: named},
	Migrate:    {aims: named, whole: true, human: true},
	Settle:     {aims: named, system: true, admitted: true},
	EndSession: {aims: outermost, system: true},
	Elapse:     {aims: named, system: true, admitted: true},
	LiftEnd:    {aims: outermost, system: true, lifts: []workflow.HoldCause{workflow.HoldSessionEnd}},
}

// ruleOf returns the rule of an operation, as far as the caller may do such a thing at
// all.
func (s *Scene) ruleOf(op Op) (rule, *Refusal) {
	r, known := rules[op]
	if !known || r.system && s.Who.Role != System {
		return r, refuse(PermissionDenied, "only Interlock itself can do that")
	}
	if r.human && s.Who.Role == Agent {
		return r, refuse(PermissionDenied, "no agent can do that: ask an operator")
	}
	return r, nil
}

// Lifts returns the causes of holds that a caller lifts by an operation: none for an
// agent, which resumes only runs that are not held.
func (w Who) Lifts(op Op) []workflow.HoldCause {
	if w.Role == Agent {
		return nil
	}
	return rules[op].lifts
}

// Code is why a request is refused: one of the reasons of pkg/fault.
type Code string

// The codes.
const (
	InvalidRequest     Code = "INVALID_REQUEST"
	NotFound           Code = "NOT_FOUND"
	PermissionDenied   Code = "PERMISSION_DENIED"
	EnforcementKept    Code = "ENFORCEMENT_KEPT"
	RunHeld            Code = "RUN_HELD"
	SessionEnded       Code = "SESSION_ENDED"
	FailedPrecondition Code = "FAILED_PRECONDITION"
	// Incomplete refuses for lack of knowledge: the Scene lacks a run that the
	// decision depends on.
	Incomplete Code = "INTERNAL"
)

// Refusal is why a request is refused, for its caller.
type Refusal struct {
	Code    Code
	Message string
	// Need is the fact that the Scene lacks; it is nil in a refusal that stands.
	Need *Need
}

// Error makes a Refusal an error.
func (r *Refusal) Error() string { return r.Message }

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// The parts of a message that name the objects outside of a bound token. No message
// reports whether there is such a run.
const (
	anotherSession = "the request names another session"
	anotherRun     = "that run is not assigned to the session"
	anotherBranch  = "that branch is not assigned to the session"
	wholeRun       = "the run as a whole is not assigned to the session"
	noStart        = "a token of a branch cannot start a run; take the branch instead"
)

// outside refuses an object that the caller's token does not cover.
func (w Who) outside(what string) *Refusal {
	if w.Branch != "" {
		return refuse(PermissionDenied,
			"this token is bound to branch %q of the run that session %q drives, and %s; name no other session, run or branch",
			w.Branch, w.Session, what)
	}
	return refuse(PermissionDenied,
		"this token is bound to session %q, and %s; name no other session, and no run that this session does not drive",
		w.Session, what)
}
