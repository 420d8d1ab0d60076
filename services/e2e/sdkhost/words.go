package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// short returns an enum of a contract without its prefix, empty for unspecified.
func short[E interface {
	~int32
	fmt.Stringer
}](value E, prefix string,
) string {
	if value == 0 {
		return ""
	}
	return strings.TrimPrefix(value.String(), prefix)
}

// memberNames returns those of a JSON object, in order.
func memberNames(object []byte) ([]string, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(members)), nil
}
