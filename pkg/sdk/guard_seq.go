package sdk

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// errStopped is the failure of a tool whose items were not all taken.
var errStopped = errors.New("its caller has taken no more items")

// GuardSeq does the work of [Client.Guard] for a tool that yields its output in items. The call is
// not checked before the first item is asked for. The call is reported when the items end: as
// successful; as failed when one is an error; and as failed with an unknown outcome when its caller
// takes no more, or ctx has ended. A refusal, or a report that failed, is the last item's error.
//
// The items that are text or bytes are its output, others the JSON of them.
func GuardSeq[T any](ctx context.Context, c *Client, tool string, input any, do func(context.Context) iter.Seq2[T, error], opts ...CallOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		q, d, err := c.admit(ctx, tool, input, opts)
		if err != nil {
			yield(none, err)
			return
		}
		p := performed{client: c, call: q, decision: d}
		defer p.panicked(ctx)
		var result Result
		var failed error
		stopped := false
		for item, err := range do(ctx) {
			if err != nil {
				failed = err
				stopped = !yield(item, err)
				break
			}
			result.add(item)
			if !yield(item, nil) {
				failed, stopped, result.OutcomeUnknown = errStopped, true, true
				break
			}
		}
		if _, err := p.end(ctx, result, failed); !stopped {
			if lost := (*ReportError)(nil); errors.As(err, &lost) {
				yield(none, lost)
			}
		}
	}
}

// add adds an item to the output.
func (r *Result) add(item any) {
	var text []byte
	switch v := item.(type) {
	case []byte:
		text = v
	case string:
		text = []byte(v)
	default:
		var err error
		if text, err = encode("item", item); err != nil {
			text = fmt.Append(nil, item)
		}
	}
	r.Bytes += int64(len(text))
	if left := mostOutput - len(r.Output); left > 0 {
		r.Output = append(r.Output, text[:min(len(text), left)]...)
	}
}
