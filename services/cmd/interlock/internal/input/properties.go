package input

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// PropertiesOf returns the name of the file of properties that is read with a definition.
func PropertiesOf(file string) string {
	return strings.TrimSuffix(file, filepath.Ext(file)) + ".properties.yaml"
}

// WithProperties adds the properties of the file next to a workflow to its definition, so that a server can prove them.
// Without such a file, and for a text that is no object, the source is unchanged.
func WithProperties(src Source, io console.Streams) (Source, error) {
	if src.Name == "-" {
		return src, nil
	}
	file := PropertiesOf(src.Name)
	text, err := File(file, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return src, nil
	}
	if err != nil {
		return src, err
	}
	more := Source{Name: file, Text: text}
	added, problems := more.Parse()
	if problems.HasErrors() {
		return src, more.Refuse(problems, io)
	}
	if inner, ok := added.Get("properties"); ok {
		added = inner
	}
	whole, problem := document.Parse(src.JSON, Limits)
	if problem != nil || whole.Kind() != document.Object || added.Kind() != document.Object {
		return src, nil // the server says why it is no workflow
	}
	var members, properties []document.Member
	for name, value := range whole.Members() {
		if name != "properties" {
			members = append(members, document.Member{Name: name, Value: value})
			continue
		}
		for name, value := range value.Members() {
			properties = append(properties, document.Member{Name: name, Value: value})
		}
	}
	own, _ := whole.Get("properties")
	for name, value := range added.Members() {
		if _, twice := own.Get(name); twice {
			return src, fmt.Errorf("property %q is both in %s and in %s: give it another name, or state it once", name, show.Text(src.Name), show.Text(file))
		}
		properties = append(properties, document.Member{Name: name, Value: value})
	}
	members = append(members, document.Member{Name: "properties", Value: document.ObjectValue(properties)})
	src.JSON = document.ObjectValue(members).AppendJSON(nil)
	return src, nil
}
