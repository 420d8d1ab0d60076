package approvalpage

import (
	"cmp"
	"math"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/visible"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

const (
	// shownChanges is how many changes of the run are shown.
	shownChanges = 20
	// maxSpan is how many versions back they are looked for.
	maxSpan = 10_000
	// maxChangeData is how much of a change's data is shown, in bytes.
	maxChangeData = 2000
)

// changeView is one change of the run, as its history has it.
type changeView struct {
	Version                      int64
	Time, Actor, What, Why, Data string
}

// recent are the newest changes of a run, oldest first, or why there are none. What
// is asked for stands without them.
func (p *page) recent(v *visit, runID string) (changes []changeView, none string) {
	if runID == "" {
		return nil, "It was requested outside a run."
	}
	entries, err := p.newest(v, runID)
	if err != nil {
		return nil, visible.Text("The history cannot be read: "+fault.From(err).Message, false)
	}
	now := p.now()
	for _, h := range entries {
		change := changeView{
			Version: h.GetRunVersion(), Time: moment(h.GetTime(), now), Actor: line(h.GetActor()), What: line(happened(h)),
			Why: visible.Text(cmp.Or(h.GetRationale(), h.GetReason()), true), Data: visible.JSON(clip(string(h.GetData()), maxChangeData)),
		}
		changes = append(changes, change)
	}
	return changes, ""
}

// newest are the last entries of a run's history, without tool results: history is
// read from its beginning, so it is looked forever further back.
func (p *page) newest(v *visit, runID string) ([]*enginev1.HistoryEntry, error) {
	run, err := p.Runs.GetRun(v.ctx, &enginev1.GetRunRequest{RunId: runID})
	if err != nil {
		return nil, err
	}
	version := run.GetRun().GetVersion()
	for span := int64(shownChanges); ; span = min(span*10, maxSpan) {
		entries, err := p.changesAfter(v, runID, max(0, version-span))
		if err != nil || len(entries) == shownChanges || span >= min(version, maxSpan) {
			return entries, err
		}
	}
}

// changesAfter are the last of the changes after a version.
func (p *page) changesAfter(v *visit, runID string, after int64) ([]*enginev1.HistoryEntry, error) {
	var last []*enginev1.HistoryEntry
	for {
		resp, err := p.Runs.GetRunHistory(v.ctx, &enginev1.GetRunHistoryRequest{
			RunId: runID, AfterVersion: after, AfterResult: math.MaxInt64, PageSize: 1000,
		})
		if err != nil {
			return nil, err
		}
		last = append(last, resp.GetEntries()...)
		last = last[max(0, len(last)-shownChanges):]
		if next := resp.GetNextAfterVersion(); next > after {
			after = next
			continue
		}
		return last, nil
	}
}

// happened is what an entry tells, in a few words.
func happened(h *enginev1.HistoryEntry) string {
	text := protomap.HistoryWord(h.GetType())
	if h.GetEvent() != "" {
		text += " " + h.GetEvent()
	}
	if h.GetFrom() != "" || h.GetTo() != "" {
		text += ": " + h.GetFrom() + " -> " + h.GetTo()
	}
	if h.GetBranch() != "" {
		text += ", in branch " + h.GetBranch()
	}
	return text
}
