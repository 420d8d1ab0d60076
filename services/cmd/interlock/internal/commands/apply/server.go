package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// server reads the objects that a plan depends on.
type server struct {
	workflows  enginev1.WorkflowServiceClient
	processes  enginev1.ProcessServiceClient
	runs       enginev1.RunServiceClient
	schemas    statev1.SchemaServiceClient
	components statev1.ComponentServiceClient
	policies   policyv1.PolicyServiceClient
	sets       policyv1.SetServiceClient
	decisions  policyv1.DecisionServiceClient
	// since is the beginning of the calls that policies are tried on.
	since time.Duration
}

func newServer(conn grpc.ClientConnInterface, since time.Duration) *server {
	return &server{
		enginev1.NewWorkflowServiceClient(conn), enginev1.NewProcessServiceClient(conn), enginev1.NewRunServiceClient(conn),
		statev1.NewSchemaServiceClient(conn), statev1.NewComponentServiceClient(conn), policyv1.NewPolicyServiceClient(conn), policyv1.NewSetServiceClient(conn), policyv1.NewDecisionServiceClient(conn), since,
	}
}

// ownership is the sets of a namespace.
type ownership struct {
	version int64
	// all has the versions of all sets.
	all string
	// owned are the objects of this set.
	owned []object
	owner map[object]owned
	// shadow is that of this set; nil for none.
	shadow *jsonview.SetShadow
}

type owned struct{ set, digest string }

// ownership reads all sets.
func (s *server) ownership(ctx context.Context, set string) (*ownership, error) {
	resp, err := s.sets.ListSets(ctx, &policyv1.ListSetsRequest{})
	if err != nil {
		return nil, err
	}
	o := &ownership{owner: make(map[object]owned)}
	for _, one := range resp.GetSets() {
		view := jsonview.SetOf(one)
		o.all += fmt.Sprintf("%s@%d ", view.Name, view.Version)
		for _, held := range view.Objects {
			key := object{held.Kind, held.Name}
			o.owner[key] = owned{view.Name, held.Digest}
			if view.Name == set {
				o.owned = append(o.owned, key)
			}
		}
		if view.Name == set {
			o.version, o.shadow = view.Version, view.Shadow
		}
	}
	return o, nil
}

// remote reads an object.
func (s *server) remote(ctx context.Context, o object, own *ownership) (*remote, error) {
	r := &remote{object: o, owner: own.owner[o].set, recorded: own.owner[o].digest}
	err := s.read(ctx, r)
	if fault.ReasonOf(err) == fault.NotFound {
		r.noContent = true
		return r, nil
	}
	return r, err
}

// read fills in an object as it is live.
func (s *server) read(ctx context.Context, r *remote) error {
	switch r.Kind {
	case kindPolicy:
		resp, err := s.policies.GetPolicy(ctx, &policyv1.GetPolicyRequest{Name: r.Name})
		p := jsonview.PolicyOf(resp.GetPolicy())
		r.live, r.digest, r.by, r.text, r.attached = p.Version, p.Digest, p.CreatedBy, p.Definition, p.Attachments
		return err
	case kindSchema:
		resp, err := s.schemas.GetSchema(ctx, &statev1.GetSchemaRequest{Name: r.Name})
		v := resp.GetSchema()
		r.live, r.digest, r.by, r.text, r.retired = v.GetVersion(), v.GetDigest(), v.GetCreatedBy(), v.GetJsonSchema(), v.GetRetired() != nil
		return err
	case kindComponent:
		resp, err := s.components.GetComponent(ctx, &statev1.GetComponentRequest{Slug: r.Name})
		c := resp.GetComponent()
		r.live, r.digest, r.by, r.text = c.GetVersion(), c.GetDigest(), c.GetUpdatedBy(), c.GetDefinition()
		return err
	default:
		resp, err := s.workflows.GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: r.Name})
		w := resp.GetWorkflow()
		r.live, r.digest, r.by, r.text, r.retired = w.GetVersion(), w.GetDigest(), w.GetCreatedBy(), w.GetDefinition(), w.GetRetired() != nil
		return err
	}
}

// running returns the runs of a workflow or process that have not ended.
func (s *server) running(ctx context.Context, name string) ([]*enginev1.Run, error) {
	filter := listing.Filter(listing.Term{Key: "workflow", Value: name}, listing.Term{Key: "not_status", Value: "COMPLETED,FAILED,BLOCKED,CANCELLED"})
	return client.Collect(client.NoLimit, func(r *enginev1.Run) *enginev1.Run { return r }, func(token string, size int32) ([]*enginev1.Run, string, error) {
		page, err := s.runs.ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: size, PageToken: token, Filter: filter})
		return page.GetRuns(), page.GetNextPageToken(), err
	})
}

// plan makes the plan of a set. When a set is applied meanwhile, it reads everything again.
func (s *server) plan(ctx context.Context, f *folder, enforcement workflow.Enforcement, t terms) (*plan, error) {
	for range mostReads {
		own, err := s.ownership(ctx, f.name)
		if err != nil {
			return nil, err
		}
		p, err := s.planOn(ctx, own, f, enforcement, t)
		if err != nil {
			return nil, err
		}
		now, err := s.ownership(ctx, f.name)
		if err != nil || now.all == own.all {
			return p, err
		}
	}
	return nil, errors.New("sets are applied all the time, so there is no plan to rely on: plan again")
}

// mostReads is how often a plan is made before others that apply sets are given way.
const mostReads = 10

// planOn makes the plan of a set, from the sets that were read.
func (s *server) planOn(ctx context.Context, own *ownership, f *folder, enforcement workflow.Enforcement, t terms) (*plan, error) {
	p := &plan{set: f.name, namespace: f.namespace, version: own.version, migrate: t.migrate}
	named := make(map[string]string)
	for _, l := range f.objects {
		r, err := s.remote(ctx, l.object, own)
		if err != nil {
			return nil, err
		}
		p.items = append(p.items, decide(f.name, f.prune, l, r, t))
		for _, name := range l.policies {
			named[name] = l.Name
		}
	}
	for _, o := range own.owned {
		if slices.ContainsFunc(f.objects, func(l *local) bool { return l.object == o }) {
			continue
		}
		r, err := s.remote(ctx, o, own)
		if err != nil {
			return nil, err
		}
		if o.runs() {
			runs, err := s.running(ctx, o.Name)
			if err != nil {
				return nil, err
			}
			r.running = len(runs)
		}
		i := decide(f.name, f.prune, nil, r, t)
		if by := named[o.Name]; i.action == remove && o.Kind == kindPolicy && by != "" {
			i.action, i.why = conflict, fmt.Sprintf("is no longer in the folder, and workflow %s names it in meta.policy", by)
		}
		p.items = append(p.items, i)
	}
	for _, i := range p.items {
		if err := s.describe(ctx, i, enforcement, t); err != nil {
			return nil, err
		}
	}
	var err error
	if p.trial, err = s.trial(ctx, own, p, t.accept); err != nil {
		return nil, err
	}
	return p, s.missingPolicies(ctx, f, p)
}

// missingPolicies adds to workflows the policies that they name and that will not exist.
func (s *server) missingPolicies(ctx context.Context, f *folder, p *plan) error {
	for _, i := range p.items {
		if i.local == nil {
			continue
		}
		for _, name := range i.local.policies {
			if slices.ContainsFunc(f.objects, func(l *local) bool { return l.object == object{kindPolicy, name} }) {
				continue
			}
			_, err := s.policies.GetPolicy(ctx, &policyv1.GetPolicyRequest{Name: name})
			switch {
			case fault.ReasonOf(err) == fault.NotFound:
				i.what = append(i.what, fmt.Sprintf("warning: policy %q does not exist, so no run can start", name))
			case err != nil:
				return err
			}
		}
	}
	return nil
}
