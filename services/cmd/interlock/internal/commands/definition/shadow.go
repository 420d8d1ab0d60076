package definition

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Shadow is the JSON of a workflow's shadow; the digest is empty when it has
// ended.
type Shadow struct {
	Workflow string `json:"workflow"`
	Digest   string `json:"digest"`
}

// Row writes the shadow for people.
func (v *Shadow) Row(w *show.Sheet) {
	if v.Digest == "" {
		fmt.Fprintf(w, "ended\t%s\n", show.Text(v.Workflow))
		return
	}
	fmt.Fprintf(w, "shadow\t%s\t%s\n", show.Text(v.Workflow), v.Digest)
}

// PutShadow makes a file's definition the shadow of the workflow of its id.
func PutShadow(ctx context.Context, conn grpc.ClientConnInterface, file string, io console.Streams) (Shadow, error) {
	source, err := input.Document(file, io)
	if err != nil {
		return Shadow{}, err
	}
	id, _ := document.Parse(source.JSON, input.Limits)
	name, _ := id.Get("id")
	resp, err := policyv1.NewPolicyServiceClient(conn).ShadowWorkflow(ctx, &policyv1.ShadowWorkflowRequest{
		Definition: source.JSON,
	})
	if err != nil {
		return Shadow{}, client.InvalidFile(source, "", err, io)
	}
	return Shadow{Workflow: name.Str(), Digest: resp.GetDigest()}, nil
}

// PutShadows makes the definitions of the files shadows of their workflows.
func (c *Flags) PutShadows(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		shadows := []Shadow{}
		var refused error
		for _, file := range c.Files {
			view, err := PutShadow(ctx, conn, file, io)
			switch {
			case errors.Is(err, console.ErrNo):
				refused = err
			case err != nil:
				return err
			default:
				shadows = append(shadows, view)
			}
		}
		var value any = shadows
		if len(c.Files) == 1 {
			if refused != nil {
				return refused
			}
			value = shadows[0]
		}
		err := c.Print(io.Out, value, func(w *show.Sheet) {
			for i := range shadows {
				shadows[i].Row(w)
			}
		})
		return errors.Join(err, refused)
	})
}
