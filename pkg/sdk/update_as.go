package sdk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
)

// UpdateAs is [Client.Update] for documents as a Go value. T need not have all that
// the document has: only what change makes different is written, and the rest stays
// as it is, numbers to the last digit. When that cannot be, because a list or a
// value would be replaced that T holds only in part, nothing is written.
func UpdateAs[T any](ctx context.Context, c *Client, id string, change func(*T) error) (State, error) {
	return c.Update(ctx, id, func(text json.RawMessage) (json.RawMessage, error) {
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
		next, err := merge(nil, doc, before, after)
		if err != nil {
			return nil, fmt.Errorf("the state was not changed: %T %w; give it fields for that, or use Update", *value, err)
		}
		return next.AppendJSON(nil), nil
	})
}

// viewed is the document that a Go value encodes to.
func viewed(value any) (document.Value, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return document.Value{}, fmt.Errorf("encode the state: %w", err)
	}
	return parse(text)
}

func parse(text []byte) (document.Value, error) {
	// How large a state may be is the server's to say.
	v, problem := document.Parse(text, document.Limits{Bytes: 1 << 30})
	if problem != nil {
		return document.Value{}, fmt.Errorf("read the state: %w", problem)
	}
	return v, nil
}
