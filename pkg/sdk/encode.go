package sdk

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// encode returns a value as JSON, empty for nil. JSON itself ([]byte and json.RawMessage)
// goes as it is: the server reads it strictly.
func encode(what string, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []byte:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the %s: %w", what, err)
	}
	return data, nil
}

// word returns an enum of a contract without its prefix, empty for unspecified.
func word[E interface {
	~int32
	fmt.Stringer
}](value E, prefix string,
) string {
	if value == 0 {
		return ""
	}
	return strings.TrimPrefix(value.String(), prefix)
}

// timeOf returns the time of a stamp, zero for none.
func timeOf(stamp *timestamppb.Timestamp) time.Time {
	if stamp == nil {
		return time.Time{}
	}
	return stamp.AsTime()
}
