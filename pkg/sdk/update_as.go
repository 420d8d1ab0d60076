package sdk

import (
	"context"
	"encoding/json"
	"fmt"
)

// UpdateStateAs does the work of [Client.UpdateState] for documents as a Go value. T need not
// have all that the document has: only the differences that change makes are written, and the
// rest stays as it is, numbers to the last digit. When that cannot be, because a list or a
// value would be replaced that T holds only in part, the state is not written.
func UpdateStateAs[T any](ctx context.Context, c *Client, id string, change func(*T) error, opts ...ChangeOption) (State, error) {
	return c.UpdateState(ctx, id, func(text json.RawMessage) (json.RawMessage, error) {
		doc, err := parse(text)
		if err != nil {
			return nil, err
		}
		value := new(T)
		if err := json.Unmarshal(text, value); err != nil {
			return nil, fmt.Errorf("read the state as %T: %w", *value, err)
		}
		before, err := viewed(value)
		if err != nil {
			return nil, err
		}
		if err := change(value); err != nil {
			return nil, err
		}
		after, err := viewed(value)
		if err != nil {
			return nil, err
		}
		next, err := merge("", doc, before, after)
		if err != nil {
			return nil, fmt.Errorf("the state was not changed: %T %w; give it fields for that, or use UpdateState", *value, err)
		}
		return write(next)
	}, opts...)
}

// viewed returns the document that a Go value encodes to.
func viewed(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return parse(text)
}
