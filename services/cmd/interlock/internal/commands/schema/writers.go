package schema

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

type writersCommand struct {
	client.Connection
	show.Printer
	Name    string `arg:"" help:"Name of the schema."`
	Version int64  `help:"Version; the latest by default." placeholder:"N"`
}

// mayWrite is the JSON of one list of writers.
type mayWrite struct {
	Pointer string   `json:"pointer"`
	Writers []string `json:"writers"`
}

func (c *writersCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSchemaServiceClient(conn).GetSchema(ctx, &statev1.GetSchemaRequest{Name: c.Name, Version: c.Version})
		if err != nil {
			return err
		}
		lists, err := writersIn(resp.GetSchema().GetJsonSchema())
		if err != nil {
			return err
		}
		const columns = "POINTER\tMAY WRITE"
		return show.Table(c.Printer, io.Out, columns, lists, func(l *mayWrite) []any {
			who := ""
			for i, w := range l.Writers {
				if i > 0 {
					who += ", "
				}
				who += w
			}
			if who == "" {
				who = "(nobody after the state was created)"
			}
			if l.Pointer == "" {
				return []any{"(the document)", who}
			}
			return []any{l.Pointer, who}
		})
	})
}

// writersIn are the lists of a schema.
func writersIn(text []byte) ([]mayWrite, error) {
	v, problem := document.Parse(text, document.Limits{})
	if problem != nil {
		return nil, errors.New(problem.Message)
	}
	s, problems := document.CompileSchema(v)
	if problems.HasErrors() {
		return nil, problems.Err()
	}
	lists := []mayWrite{}
	for _, r := range s.Restrictions() {
		list := mayWrite{r.Pointer, []string{}}
		for _, w := range r.Writers {
			list.Writers = append(list.Writers, w.String())
		}
		lists = append(lists, list)
	}
	return lists, nil
}
