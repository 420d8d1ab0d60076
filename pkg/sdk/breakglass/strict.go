package breakglass

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// members returns the members of a JSON object, which has none twice.
func members(text []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	all := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errors.New("it is not a JSON object")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.New("it is not a JSON object")
		}
		key, _ := name.(string) // the names of an object are texts
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("it has the member %.40q twice", key)
		}
		all[key] = value
	}
	if !json.Valid(text) { // finds text after the last member
		return nil, errors.New("it is not a JSON object")
	}
	return all, nil
}

// strictly reads a JSON object that has members of these names only, in this case of letters, and none twice.
func strictly(text []byte, into any, names ...string) error {
	all, err := members(text)
	if err != nil {
		return err
	}
	for name, value := range all {
		if !slices.Contains(names, name) || string(value) == "null" {
			return fmt.Errorf("the member %.40q does not belong there", name)
		}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New("a member has a value of another kind")
	}
	return nil
}
