package jsonview

import (
	"errors"

	"github.com/interlock-run/interlock/pkg/document"
)

// MayWrite is a list of writers that a schema has for a place (S18.1).
type MayWrite struct {
	Pointer string   `json:"pointer" doc:"The place, with * for any name and index; empty for the whole document."`
	Writers []string `json:"writers" doc:"Who may write there, such as session:reviewer-*. Empty means that no one may after the state was created."`
}

// MayWriteOf returns the lists of a schema.
func MayWriteOf(schema []byte) ([]MayWrite, error) {
	v, problem := document.Parse(schema, document.Limits{})
	if problem != nil {
		return nil, errors.New(problem.Message)
	}
	s, problems := document.CompileSchema(v)
	if problems.HasErrors() {
		return nil, problems.Err()
	}
	lists := []MayWrite{}
	for _, r := range s.Restrictions() {
		list := MayWrite{r.Pointer, []string{}}
		for _, w := range r.Writers {
			list.Writers = append(list.Writers, w.String())
		}
		lists = append(lists, list)
	}
	return lists, nil
}
