package rest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/services/gateway/internal/pulse"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/presence"
)

// Pulse gives statistics of the latest events of a namespace.
type Pulse interface {
	// Look shows the board of a namespace; complete is false while it still reads the past.
	Look(namespace string, at func(b *pulse.Board, now time.Time)) (complete bool)
}

// Stats describe the activity in a namespace.
type Stats struct {
	Seen
	Rates        []pulse.Rate        `json:"rates" doc:"Decisions in the last 15 minutes, in steps of ten seconds, oldest first."`
	Waiting      []jsonview.Approval `json:"waiting" doc:"Approvals that wait for a human, newest first; the first of many."`
	Looping      []pulse.Loop        `json:"looping" doc:"Runs with three or more denials in a row, and none allowed since; the worst first."`
	Stopped      []StoppedRun        `json:"stopped" doc:"Runs that are paused or held, newest first; the first of many."`
	NearLimits   []pulse.NearLimit   `json:"near_limits" doc:"Limits of which more than 80 percent are used, newest first, at most 50: until the window or period is over, or the run has left the state."`
	NearDeadline []Deadline          `json:"near_deadline" doc:"Automatic changes within an hour, the next first: of the newest 200 approvals that wait."`
	NotEnforced  []pulse.Incident    `json:"not_enforced" doc:"Calls that passed although no rule of a state judged them, and calls that were reported without permission, newest first."`
	SealedAt     *time.Time          `json:"sealed_at,omitempty" doc:"When decisions were sealed last; absent when that was before the events that were seen."`
	Delivery     *pulse.Delivery     `json:"delivery,omitempty" doc:"How the newest event has reached the stream; absent when there was none."`
}

// Deadline is the time of an automatic change.
type Deadline struct {
	ApprovalID string    `json:"approval_id,omitzero"`
	RunID      string    `json:"run_id,omitzero"`
	Kind       string    `json:"kind" enum:"approval_expires,approval_escalates"`
	DueAt      time.Time `json:"due_at"`
}

// Seen says which events an answer is derived from.
type Seen struct {
	Since    *time.Time `json:"since,omitempty" doc:"Time of the first event that this is derived from; absent for none."`
	Complete bool       `json:"complete" doc:"False for some seconds after the first look, while the past is still read."`
}

// StoppedRun is a run that is paused or held.
type StoppedRun struct {
	RunID     string          `json:"run_id"`
	Workflow  string          `json:"workflow"`
	State     string          `json:"state"`
	SessionID string          `json:"session_id,omitzero"`
	Status    string          `json:"status" enum:"PAUSED,HELD" doc:"PAUSED by its agent, or HELD: then tool calls are denied."`
	Holds     []jsonview.Hold `json:"holds" doc:"The causes of its holds."`
	UpdatedAt time.Time       `json:"updated_at"`
}

// WorkflowCoverage has the parts that runs of a version of a workflow have used.
type WorkflowCoverage struct {
	Seen
	Version     int64             `json:"version"`
	Runs        int64             `json:"runs" doc:"Runs that have started."`
	UnderWay    int64             `json:"under_way" doc:"Those of them that have not ended."`
	States      []StateEntries    `json:"states" doc:"The states that were entered, most often first."`
	Transitions []TransitionTaken `json:"transitions" doc:"The transitions that were taken, most often first."`
}

// StateEntries is how often a state was entered.
type StateEntries struct {
	State   string `json:"state"`
	Entries int64  `json:"entries"`
}

// TransitionTaken is how often a transition was taken.
type TransitionTaken struct {
	From  string `json:"from"`
	Event string `json:"event" doc:"The event; $force for force-state, and $NAME for an interrupt."`
	To    string `json:"to"`
	Count int64  `json:"count"`
}

// PrincipalList has the acts of principals.
type PrincipalList struct {
	Seen
	Principals []pulse.Person `json:"principals" doc:"Who was seen last first."`
}

// System has the condition of the server and its dependencies.
type System struct {
	Version string        `json:"version"`
	Ready   bool          `json:"ready" doc:"False when calls would fail now."`
	Checks  health.Report `json:"checks" doc:"The dependencies."`
	// Processes are empty where there is no NATS.
	Processes []presence.Heard `json:"processes" doc:"The processes of all services that announced themselves on NATS in the last 10 minutes: replicas, their part of the outbox, and their sweepers."`
}

// Most of each in the stats.
const (
	mostWaiting = 50
	mostStopped = 50
	mostLooping = 50
	mostNear    = 50
	// mostDue is of how many approvals deadlines are looked for, and dueWithin how far ahead.
	mostDue   = 200
	dueWithin = time.Hour
)

// activity serves the present activity, and the condition of the server.
type activity struct {
	version   string
	checks    health.Checks
	heard     func(now time.Time) []presence.Heard
	runs      enginev1.RunServiceClient
	workflows enginev1.WorkflowServiceClient
	approvals approvalv1.ApprovalServiceClient
	boards    *boards
	may       *readers
	now       func() time.Time
}

func (h *activity) routes(add func(route)) {
	const derived = " Derived from the stream of events: the latest 200,000 at the first look, and all since. For observers and above."
	add(route{
		method: http.MethodGet, path: "/v1/stats", id: "getStats", summary: "Present activity",
		about:   "Decisions a second, and open questions to humans." + derived,
		answers: answers[Stats](http.StatusOK), serve: h.stats,
	})
	add(route{
		method: http.MethodGet, path: "/v1/workflows/{name}/coverage", id: "getWorkflowCoverage",
		summary: "Which states and transitions have runs used?", about: "Of runs whose start was seen." + derived,
		params:  []param{inPath("name", "Name of the workflow, percent-encoded."), intQuery("version", "The version; the newest when absent.")},
		answers: answers[WorkflowCoverage](http.StatusOK), serve: h.coverage,
	})
	add(route{
		method: http.MethodGet, path: "/v1/principals", id: "listPrincipals", summary: "Who did what",
		about:   "Everyone who caused an event." + derived,
		answers: answers[PrincipalList](http.StatusOK), serve: h.principals,
	})
	add(route{
		method: http.MethodGet, path: "/v1/system", id: "getSystem", summary: "How the server and its dependencies are",
		about:   "As /readyz?verbose, and 200 also when calls would fail.",
		answers: answers[System](http.StatusOK), serve: h.system,
	})
}

// boards shows the latest events of a namespace to callers that may see all of it.
type boards struct {
	pulse Pulse // nil where there is no event stream
	may   *readers
}

// look shows the board of the caller's namespace to at, when the caller may see it.
func (h *boards) look(c *call, at func(b *pulse.Board, now time.Time)) (Seen, error) {
	var seen Seen
	if h.pulse == nil {
		return seen, fault.New(fault.Unavailable, "this server has no event stream")
	}
	namespace := c.namespace()
	all, err := h.may.mayFollow(c.ctx, namespace, subjectRoot+"."+namespace+".>")
	if err != nil {
		return seen, err
	}
	if !all {
		return seen, fault.New(fault.PermissionDenied, "this covers all runs and trees: it is for observers, operators and approvers")
	}
	seen.Complete = h.pulse.Look(namespace, func(b *pulse.Board, now time.Time) {
		seen.Since = moment64(b.Since())
		at(b, now)
	})
	return seen, nil
}

// moment64 returns a time for JSON; nil for the zero time.
func moment64(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func (h *activity) stats(c *call) (*answer, error) {
	var s Stats
	var err error
	s.Seen, err = h.boards.look(c, func(b *pulse.Board, now time.Time) {
		s.NearLimits = b.NearLimits(now, mostNear)
		s.Rates, s.Looping, s.NotEnforced, s.SealedAt = b.Rates(now), b.Loops(now, mostLooping), b.Incidents(), moment64(b.Sealed())
		s.Delivery = b.Delivery()
	})
	if err != nil {
		return nil, err
	}
	waiting, err := h.approvals.ListApprovals(c.ctx, &approvalv1.ListApprovalsRequest{
		PageSize: mostDue, Filter: listing.Filter(listing.Term{Key: "status", Value: "PENDING"}),
	})
	if err != nil {
		return nil, err
	}
	all := jsonview.Each(waiting.GetApprovals(), jsonview.ApprovalOf)
	s.Waiting, s.NearDeadline = all[:min(mostWaiting, len(all))], dueSoon(all, h.now())
	s.Stopped, err = h.stopped(c.ctx)
	return ok(s), err
}

// dueSoon returns when approvals escalate or expire, within an hour.
func dueSoon(waiting []jsonview.Approval, now time.Time) []Deadline {
	due := []Deadline{}
	for i := range waiting {
		a := &waiting[i]
		add := func(kind string, at time.Time) {
			if !at.IsZero() && !at.Before(now) && at.Sub(now) <= dueWithin {
				due = append(due, Deadline{ApprovalID: a.ApprovalID, RunID: a.RunID, Kind: kind, DueAt: at})
			}
		}
		add("approval_expires", a.ExpiresAt)
		if after := a.Terms.EscalateAfterSeconds; after > 0 && !a.Escalated {
			add("approval_escalates", a.CreatedAt.Add(time.Duration(after)*time.Second))
		}
	}
	slices.SortFunc(due, func(a, b Deadline) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ApprovalID, b.ApprovalID))
	})
	return due
}

// stopped returns runs that are paused.
func (h *activity) stopped(ctx context.Context) ([]StoppedRun, error) {
	var all []*enginev1.Run
	for _, status := range []string{"PAUSED", "HELD"} {
		resp, err := h.runs.ListRuns(ctx, &enginev1.ListRunsRequest{
			PageSize: mostStopped, Filter: listing.Filter(listing.Term{Key: "status", Value: status}),
		})
		if err != nil {
			return nil, err
		}
		all = append(all, resp.GetRuns()...)
	}
	slices.SortStableFunc(all, func(a, b *enginev1.Run) int { return b.GetUpdatedAt().AsTime().Compare(a.GetUpdatedAt().AsTime()) })
	return jsonview.Each(all[:min(len(all), mostStopped)], func(r *enginev1.Run) StoppedRun {
		run := jsonview.RunOf(r)
		stopped := StoppedRun{
			RunID: run.RunID, Workflow: run.Workflow, State: run.State, SessionID: run.SessionID,
			Status: run.Status, Holds: run.Holds, UpdatedAt: run.UpdatedAt,
		}
		if stopped.Holds == nil {
			stopped.Holds = []jsonview.Hold{}
		}
		return stopped
	}), nil
}

func (h *activity) coverage(c *call) (*answer, error) {
	number, err := h.versionOr(c, "version")
	if err != nil {
		return nil, err
	}
	w := WorkflowCoverage{Version: number, States: []StateEntries{}, Transitions: []TransitionTaken{}}
	w.Seen, err = h.boards.look(c, func(b *pulse.Board, _ time.Time) {
		used := b.CoverageOf(c.path("name"), number)
		w.Runs, w.UnderWay = used.Runs, used.UnderWay
		for state, n := range used.Entries {
			w.States = append(w.States, StateEntries{state, n})
		}
		for taken, n := range used.Transitions {
			w.Transitions = append(w.Transitions, TransitionTaken{taken.From, taken.Event, taken.To, n})
		}
	})
	slices.SortFunc(w.States, func(a, b StateEntries) int {
		return cmp.Or(cmp.Compare(b.Entries, a.Entries), cmp.Compare(a.State, b.State))
	})
	slices.SortFunc(w.Transitions, func(a, b TransitionTaken) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From), cmp.Compare(a.Event, b.Event), cmp.Compare(a.To, b.To))
	})
	return ok(w), err
}

func (h *activity) principals(c *call) (*answer, error) {
	var list PrincipalList
	var err error
	list.Seen, err = h.boards.look(c, func(b *pulse.Board, _ time.Time) { list.Principals = b.People() })
	return ok(list), err
}

func (h *activity) system(c *call) (*answer, error) {
	if err := h.may.mayRead(c.ctx, c.namespace()); err != nil {
		return nil, err
	}
	report := h.checks.Run(c.ctx)
	return ok(System{Version: h.version, Ready: report.Ready(), Checks: report, Processes: h.processes()}), nil
}

// processes returns the processes of the deployment, as far as they are known.
func (h *activity) processes() []presence.Heard {
	if h.heard == nil {
		return []presence.Heard{}
	}
	return h.heard(h.now())
}
