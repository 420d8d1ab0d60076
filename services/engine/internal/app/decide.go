package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// decision is what a request is carried out on, or why it fails.
type decision struct {
	aim authority.Aim
	m   definition.Compiled
	// name of the first answer, or empty.
	name   string
	failed error
}

// decideOn decides on a request before the machine is asked.
func (s *scene) decideOn(ctx context.Context, r request) (d decision, err error) {
	if r.session != "" {
		s.Target.Session = r.session
	}
	aim, refusal, err := s.aim(ctx, r.op)
	if refusal != nil {
		d.failed = refused(refusal)
	}
	if refusal != nil || err != nil {
		return d, err
	}
	d.aim, d.name = aim, r.key
	if d.name != "" && aim.Asked.Branch != "" {
		d.name += " in " + aim.Asked.Branch // sessions in other branches have keys of their own
	}
	if d.m, err = s.app.machine(ctx, s.namespace, aim.At.Run.Workflow, aim.At.Run.WorkflowVersion); err != nil {
		return d, err
	}
	refusal, err = s.permit(ctx, r.op, aim)
	d.failed = r.failed(refusal, aim.At.Run, d.m)
	return d, err
}
