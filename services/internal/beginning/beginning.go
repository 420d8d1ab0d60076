// Package beginning puts the definitions in force that a new server begins with.
//
// It must never replace a definition of operators.
package beginning

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Definition is a workflow or a policy.
type Definition struct {
	Name string
	// Workflow or Policy is its text; the other one is empty.
	Workflow, Policy []byte
	// Agents attaches the policy to all callers of the role agent.
	Agents bool
}

// String returns the kind and the name.
func (d *Definition) String() string {
	if d.Policy != nil {
		return "policy " + d.Name
	}
	return "workflow " + d.Name
}

// Put stores the definitions whose names are free. It returns a sentence for each that it has stored, and for each whose
// name has another text in the server. The caller is an operator.
func Put(ctx context.Context, conn grpc.ClientConnInterface, all []Definition) (notes []string, err error) {
	for i := range all {
		d := &all[i]
		live, there, err := d.live(ctx, conn)
		switch {
		case err == nil && !there:
			err = d.put(ctx, conn)
			notes = append(notes, "the "+d.String()+" is stored, and in force")
		case err == nil && !d.is(live):
			notes = append(notes, "the "+d.String()+" is NOT the one in force, which stays: `"+d.command()+"` puts the file in force")
		}
		if err != nil {
			return nil, fmt.Errorf("put the %s in force: %w", d, err)
		}
	}
	return notes, nil
}

// live returns the definition of the name in the server, and whether there is one.
func (d *Definition) live(ctx context.Context, conn grpc.ClientConnInterface) (text []byte, there bool, err error) {
	if d.Policy != nil {
		var got *policyv1.GetPolicyResponse
		got, err = policyv1.NewPolicyServiceClient(conn).GetPolicy(ctx, &policyv1.GetPolicyRequest{Name: d.Name})
		text = got.GetPolicy().GetDefinition()
	} else {
		var got *enginev1.GetWorkflowResponse
		got, err = enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: d.Name})
		text = got.GetWorkflow().GetDefinition()
	}
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, false, nil
	}
	return text, err == nil, err
}

// is reports that a text is the definition, apart from its layout.
func (d *Definition) is(text []byte) bool {
	own, problem := document.Parse(slices.Concat(d.Workflow, d.Policy), document.Limits{})
	other, bad := document.Parse(text, document.Limits{})
	return problem == nil && bad == nil && document.Equal(own, other)
}

// command returns the command that puts the file of a pack in force.
func (d *Definition) command() string {
	if d.Policy != nil {
		return "interlock policy put interlock/" + d.Name + ".policy.json"
	}
	return "interlock workflow register interlock/" + d.Name + ".json"
}

func (d *Definition) put(ctx context.Context, conn grpc.ClientConnInterface) error {
	if d.Policy == nil {
		_, err := enginev1.NewWorkflowServiceClient(conn).RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: d.Workflow})
		return err
	}
	policies := policyv1.NewPolicyServiceClient(conn)
	_, err := policies.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Name: d.Name, Definition: d.Policy})
	if err != nil || !d.Agents {
		return err
	}
	_, err = policies.AttachPolicy(ctx, &policyv1.AttachPolicyRequest{Name: d.Name, To: []*policyv1.Attachment{
		{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, Id: string(auth.Agent)},
	}})
	return err
}
