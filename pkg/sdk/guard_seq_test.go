package sdk

import (
	"context"
	"errors"
	"iter"
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// yielding is a tool that yields items, and then an error or a panic.
func yielding[T any](ran *int, failed error, panics bool, items ...T) func(context.Context) iter.Seq2[T, error] {
	return func(context.Context) iter.Seq2[T, error] {
		*ran++
		return func(yield func(T, error) bool) {
			for _, one := range items {
				if !yield(one, nil) {
					return
				}
			}
			if panics {
				panic("boom")
			}
			if failed != nil {
				var none T
				yield(none, failed)
			}
		}
	}
}

// S3.9: a tool that yields its output is checked before its first item, and reported once, as its
// items have ended.
func TestGuardSeq(t *testing.T) {
	own := errors.New("its own")
	refuse := func(*policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
		return nil, fault.New(fault.IdempotencyMismatch, "reported otherwise")
	}
	for name, row := range map[string]struct {
		failed         error
		panics, cancel bool
		refuse         bool
		take           int
		items          int // that its caller gets
		ok, unknown    bool
		output         string
		is             error
	}{
		"all of them":              {take: 9, items: 2, ok: true, output: "onetwo"},
		"an error at the end":      {take: 9, items: 2, failed: own, output: "onetwo", is: own},
		"left early":               {take: 1, items: 1, unknown: true, output: "one"},
		"left at the last":         {take: 2, items: 2, unknown: true, output: "onetwo"},
		"a panic":                  {take: 9, items: 2, panics: true},
		"a cancelled caller":       {take: 9, items: 2, cancel: true, failed: context.Canceled, unknown: true, output: "onetwo", is: context.Canceled},
		"a report that is refused": {take: 9, items: 2, refuse: true, ok: true, output: "onetwo", is: fault.New(fault.IdempotencyMismatch, "")},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				policy := &fakePolicy{}
				if row.refuse {
					policy.answer = refuse
				}
				c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ran, items, notices := 0, 0, 0
				var last error
				func() {
					defer func() {
						if p := recover(); (p != nil) != row.panics {
							t.Errorf("panicked with %v", p)
						}
					}()
					seq := GuardSeq(ctx, c, "Read", nil, yielding(&ran, row.failed, row.panics, "one", "two"), OnReport(func(Report) { notices++ }))
					if ran != 0 || len(policy.asked.all()) != 0 {
						t.Error("it began before an item was asked for")
					}
					for _, err := range seq {
						if last = err; err == nil {
							items++
						}
						if row.cancel && items == 2 {
							cancel()
						}
						if items == row.take {
							break
						}
					}
				}()
				if ran != 1 || items != row.items || !errors.Is(last, row.is) {
					t.Errorf("ran %d times, %d items, %v", ran, items, last)
				}
				told := policy.told.all()
				if len(told) != 1 || told[0].GetOk() != row.ok || told[0].GetOutcomeUnknown() != row.unknown || string(told[0].GetOutput()) != row.output {
					t.Errorf("reported as %v", told)
				}
				if want := !row.refuse && !row.panics; (notices == 1) != want {
					t.Errorf("%d notices", notices)
				}
			})
		})
	}
}

// A denied tool does not begin, and items other than text are JSON in the output.
func TestGuardSeqOfOthers(t *testing.T) {
	t.Parallel()
	ran := 0
	policy := &fakePolicy{}
	c := New(connect(t, fakes{policy: policy}), Options{Session: "s"})
	for range GuardSeq(t.Context(), c, "Read", nil, yielding(&ran, nil, false, map[string]int{"n": 1}, map[string]int{"n": 2})) {
	}
	if told := policy.told.all()[0]; string(told.GetOutput()) != `{"n":1}{"n":2}` || told.GetResultBytes() != 14 {
		t.Errorf("reported as %v", told)
	}
	policy.decide = func(*policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
		return &policyv1.CheckToolCallResponse{Decision: deny}, nil
	}
	for _, err := range GuardSeq(t.Context(), c, "Read", nil, yielding(&ran, nil, false, "one")) {
		if denied := (*DeniedError)(nil); !errors.As(err, &denied) {
			t.Error(err)
		}
	}
	if ran != 1 {
		t.Errorf("ran %d times", ran)
	}
}
