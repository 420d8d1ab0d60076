package show

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
)

// identifiers are the members of results that commands take as arguments. The first of them
// in a result is the object of the result.
var identifiers = []string{
	"run_id", "halt_id", "freeze_id", "approval_id", "session_id", "state_id", "task_id", "execution_id", "call_id", "slug", "name", "workflow",
	"tool", "fencing_token", "entity_id", "version", "backup_id",
}

// nested are the members that hold the result itself, behind how it came about.
var nested = []string{"run"}

// ids returns the id of the object of a result, or each of a list, one a line.
func ids(value jsontext.Value) ([]byte, error) {
	list, err := elements(value)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, one := range list {
		id, err := identifier(one)
		if err != nil {
			return nil, err
		}
		if id == "" {
			return nil, console.Misusedf("-q prints ids, and this has none: leave it out, or give -o json")
		}
		b.WriteString(Text(id) + "\n")
	}
	return b.Bytes(), nil
}

// identifier returns the first identifier in a result, empty when there is none.
func identifier(result jsontext.Value) (string, error) {
	if result.Kind() != jsontext.KindBeginObject {
		return "", nil
	}
	members, err := jsonfile.Members(result, jsontext.KindBeginObject)
	if err != nil {
		return "", err
	}
	for _, m := range members {
		if slices.Contains(nested, m.Name) && m.Value.Kind() == jsontext.KindBeginObject {
			return identifier(m.Value)
		}
		if !slices.Contains(identifiers, m.Name) {
			continue
		}
		if m.Value.Kind() == jsontext.KindString {
			text, err := jsontext.AppendUnquote(nil, m.Value)
			return string(text), err
		}
		return string(m.Value), nil
	}
	return "", nil
}

// jsonLines returns a result on a line, or each of a list.
func jsonLines(value jsontext.Value) ([]byte, error) {
	list, err := elements(value)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, one := range list {
		line, err := jsontext.AppendFormat(nil, one)
		if err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

// elements returns those of a list, or the one result.
func elements(value jsontext.Value) ([]jsontext.Value, error) {
	if value.Kind() != jsontext.KindBeginArray {
		return []jsontext.Value{value}, nil
	}
	members, err := jsonfile.Members(value, jsontext.KindBeginArray)
	if err != nil {
		return nil, err
	}
	list := make([]jsontext.Value, len(members))
	for i, m := range members {
		list[i] = m.Value
	}
	return list, nil
}
