package pulse

import (
	"time"

	"github.com/go-json-experiment/json"
)

// entityRun is the entity in events of runs.
const entityRun = "run"

// The decisions, as events word them; all others are denials.
const (
	allowed = "ALLOW"
	asked   = "ASK"

	notEnforced = "NOT_ENFORCED"
)

// Event has the fields that the board reads of an event (interlock.event.v1.Event).
type Event struct {
	Namespace string    `json:"namespace"`
	Entity    string    `json:"entity"`
	EntityID  string    `json:"entity_id"`
	Type      string    `json:"type"`
	Time      time.Time `json:"time"`
	Actor     string    `json:"actor"`

	Started      *Started    `json:"run_started"`
	Transitioned *Transition `json:"run_transitioned"`
	Ended        *struct{}   `json:"run_ended"`
	Decided      *Decided    `json:"toolcall_decided"`
	Reported     *Reported   `json:"toolcall_reported"`
	Sealed       *struct{}   `json:"decisions_sealed"`
	// Moved is any other event that has led a run to another state.
	Moved *Transition `json:"-"`

	Joined      *Transition  `json:"run_joined"`
	ChildEnded  *Transition  `json:"run_child_ended"`
	Forced      *Transition  `json:"run_forced"`
	Interrupted *interrupted `json:"run_interrupted"`
	Migrated    *migrated    `json:"run_migrated"`
}

// migrated is a run that has moved to another version of its workflow.
type migrated struct {
	To        string `json:"to"`
	ToVersion number `json:"to_version"`
}

// Started is the start of a run.
type Started struct {
	Workflow string `json:"workflow"`
	Version  number `json:"workflow_version"`
	State    string `json:"state"`
	Session  string `json:"session_id"`
}

// Transition leads from a state to another.
type Transition struct {
	Event string `json:"event"`
	From  string `json:"from"`
	To    string `json:"to"`
}

type interrupted struct {
	Interrupt string `json:"interrupt"`
	From      string `json:"from"`
	To        string `json:"to"`
}

// Decided is a decision about a tool call.
type Decided struct {
	CallID   string `json:"call_id"`
	Tool     string `json:"tool"`
	State    string `json:"state"`
	Decision string `json:"decision"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	// Limits are those of which much is used.
	Limits []Limit `json:"limits"`
}

// Limit is how much of a limit is used after a call.
type Limit struct {
	Policy  string    `json:"policy"`
	Rule    string    `json:"rule"`
	Measure string    `json:"measure"`
	Scope   string    `json:"scope"`
	Subject string    `json:"subject"`
	Used    number    `json:"used"`
	Max     number    `json:"max"`
	Until   time.Time `json:"until"`
}

// Reported is the result of a tool call.
type Reported struct {
	CallID      string `json:"call_id"`
	Tool        string `json:"tool"`
	Unaccounted bool   `json:"unaccounted"`
}

// number is a 64-bit number, which proto's JSON has as a string.
type number int64

// UnmarshalJSON reads it from a string or a number.
func (n *number) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*int64)(n), json.StringifyNumbers(len(text) > 0 && text[0] == '"'))
}

// decode reads an event; unknown parts are ignored.
func decode(payload []byte) (*Event, error) {
	e := &Event{}
	if err := json.Unmarshal(payload, e); err != nil {
		return nil, err
	}
	switch {
	case e.Joined != nil:
		e.Moved = e.Joined
	case e.ChildEnded != nil:
		e.Moved = e.ChildEnded
	case e.Forced != nil:
		e.Moved = &Transition{Event: "$force", From: e.Forced.From, To: e.Forced.To}
	case e.Interrupted != nil:
		e.Moved = &Transition{Event: "$" + e.Interrupted.Interrupt, From: e.Interrupted.From, To: e.Interrupted.To}
	}
	return e, nil
}
