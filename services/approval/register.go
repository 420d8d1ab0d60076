package approval

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/people"
)

// register is the people of this deployment as votes know them.
type register struct{ people *people.App }

// ByIdentity implements app.People.
func (r register) ByIdentity(ctx context.Context, identity string) (*app.Person, error) {
	p, err := r.people.ByIdentity(ctx, identity)
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &app.Person{Name: p.Name, Roles: p.Roles, Namespaces: p.Scope()}, nil
}
