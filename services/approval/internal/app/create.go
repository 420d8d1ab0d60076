package app

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Bounds of a question, in bytes.
const (
	MaxSubject = 64 << 10
	MaxData    = 1 << 20
)

// Question is a request for an approval.
type Question struct {
	// ID is minted when it is empty.
	ID   string
	Kind consent.Kind
	// Subject and Data are JSON; Data may be empty.
	Subject, Data []byte
	Editable      bool
	Asker         consent.Asker
	Message       string
	Terms         consent.Terms
	RunID         string
	// Reuse returns the approval of this question that there is, as long as it says
	// something (S7.6).
	Reuse bool
	// UsedBy is the act that would use it: with Reuse, one that was used just now is
	// answered again, but for one that SettledUse has used.
	UsedBy, SettledUse string
	// Why is the cause of the question.
	Why Why
	// Facts are what the call does: JSON of facet.Record, or nil. They are not part of the question.
	Facts []byte
}

// Create asks humans. created is false when they have been asked before.
func (a *App) Create(ctx context.Context, caller Caller, q Question) (r *Record, created bool, err error) {
	req, err := q.read()
	if err != nil {
		return nil, false, err
	}
	if q.Reuse {
		return a.reuse(ctx, caller, req, &q)
	}
	if req.ID == "" {
		req.ID = typeid.New(typeid.Approval)
	}
	return a.open(ctx, caller, req, &q)
}

// open commits a new approval, or answers the one that has its id.
func (a *App) open(ctx context.Context, caller Caller, req consent.Request, q *Question) (*Record, bool, error) {
	now := a.now()
	result, err := consent.Open(req, now)
	if err != nil {
		return nil, false, invalid("/kind", err)
	}
	t := &transaction{app: a, after: &Record{Approval: result.Approval, Namespace: caller.Namespace, RunID: q.RunID, Why: q.Why, Facts: q.Facts, Secret: newSecret()}, at: now}
	t.announce(req.Asker.Principal, result.Events)
	_, err = t.commit(ctx)
	switch {
	case err == nil:
		return t.after, true, nil
	case !retry.Lost(err):
		return nil, false, tooMany(err)
	}
	r, err := a.same(ctx, caller, req, q.RunID)
	return r, false, err
}

// same returns the approval that has the id of a request, if it is of the same
// question.
func (a *App) same(ctx context.Context, caller Caller, req consent.Request, runID string) (*Record, error) {
	r, err := a.load(ctx, approvalKey(caller.Namespace, req.ID))
	if err != nil {
		return nil, err
	}
	if !r.of(&req, runID) {
		return nil, fault.From(&store.ReplayMismatchError{Owner: r.key(), Name: req.ID})
	}
	return r.at(a.now()), nil
}

// ids that a caller may choose can be part of a path and of a subject as they are.
var ids = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` + typeid.Approval + `_[0-9A-Za-z_-]{1,120}$`)
})

// read checks a request, but for the checks of the core.
func (q *Question) read() (consent.Request, error) {
	req := consent.Request{
		ID: q.ID, Action: consent.Action{Kind: q.Kind}, Editable: q.Editable, Asker: q.Asker, Message: q.Message, Terms: q.Terms,
	}
	if q.ID != "" && !ids().MatchString(q.ID) {
		return req, fault.New(fault.InvalidRequest, "the approval id %s must be %s_ and letters, digits, _ and -; leave it out to get one",
			document.Quote(q.ID), typeid.Approval).Violate("/approval_id", "FORMAT", "must be "+ids().String())
	}
	var err error
	if req.Action.Subject, err = parse("subject", q.Subject, MaxSubject); err != nil {
		return req, err
	}
	if req.Action.Subject.Kind() != document.Object {
		return req, fault.New(fault.InvalidRequest, "the subject must be a JSON object, not a %s", req.Action.Subject.Kind()).
			Violate("/subject", "TYPE", "must be an object")
	}
	if len(q.Data) > 0 {
		if req.Action.Data, err = parse("data", q.Data, MaxData); err != nil {
			return req, err
		}
	}
	if q.Asker.Principal == "" {
		return req, fault.New(fault.InvalidRequest, "the requester has no principal; name the requester, who must not decide").
			Violate("/asker/principal", "REQUIRED", "must not be empty")
	}
	if len(q.Facts) > 0 {
		if _, err := parse("facts", q.Facts, MaxSubject); err != nil {
			return req, err
		}
	}
	return req, q.checkTerms()
}

// Bounds of terms; those of a workflow are the same.
const (
	MaxApprovers = 1_000
	MaxTTL       = 366 * 24 * time.Hour
)

func (q *Question) checkTerms() error {
	t := &q.Terms
	if t.Required > MaxApprovers || t.DenyThreshold > MaxApprovers {
		return invalid("/terms", fmt.Errorf("an approval can require at most %d approvals or rejections", MaxApprovers))
	}
	for _, c := range t.Also {
		if c.Required > MaxApprovers {
			return invalid("/terms/also", fmt.Errorf("a circle can require at most %d approvals", MaxApprovers))
		}
	}
	if t.TTL > MaxTTL || t.Escalation.After > MaxTTL {
		return invalid("/terms", fmt.Errorf("an approval can wait at most %.0f days", MaxTTL.Hours()/24))
	}
	if err := t.Check(q.Asker); err != nil {
		return invalid("/terms", err)
	}
	return nil
}

func invalid(pointer string, err error) error {
	return fault.New(fault.InvalidRequest, "%s", err).Violate(pointer, "INVALID", err.Error())
}

// parse reads JSON of a field of a request.
func parse(field string, text []byte, limit int) (document.Value, error) {
	v, problems := document.ParseAll(text, document.Limits{Bytes: limit})
	if !problems.HasErrors() {
		return v, nil
	}
	e := fault.New(fault.InvalidRequest, "%s: %s", field, problems[0])
	for _, p := range problems {
		if p.Code == document.CodeTooLarge {
			return v, fault.New(fault.TooLarge, "%s: %s", field, p.Message)
		}
		e = e.Violate("/"+field+p.Pointer, p.Code, p.Message)
	}
	return v, e
}
