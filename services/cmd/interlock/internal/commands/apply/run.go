package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// rollout is how a plan becomes live.
type rollout struct {
	// shadow is how long the changes are shadows first; 0 to apply them.
	shadow time.Duration
	// now ends the shadow of the set.
	now bool
}

// apply carries a plan out: it stores the versions, staged, changes all objects in one commit, and then moves runs. With a
// shadow, the versions are judged next to the live ones, and nothing else changes.
func (s *server) apply(ctx context.Context, p *plan, f *folder, t terms, how rollout, io console.Streams) error {
	signed, err := os.ReadFile(filepath.Join(f.dir, bundle.File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	request := &jsonview.SetApplication{
		ExpectedVersion: p.version, Repo: f.repo, Commit: f.commit, Bundle: signed, ShadowSeconds: int64((how.shadow + time.Second - 1) / time.Second), Now: how.now,
	}
	versions := make(map[object]int64)
	for _, i := range p.items {
		if i.action == left {
			continue
		}
		change := jsonview.SetChange{Kind: i.Kind, Name: i.Name, ExpectedVersion: i.remote.live, Take: i.take}
		if i.action != remove {
			version, err := s.stage(ctx, i)
			if err != nil {
				return fmt.Errorf("%s: the set was not applied: %w", i.local.file, err)
			}
			change.Version, versions[i.object] = version, version
		}
		if i.local != nil && i.local.attach != nil {
			change.OwnsAttachments, change.Attachments, change.ExpectedAttachments = true, i.local.attach, i.remote.attached
		}
		request.Changes = append(request.Changes, change)
	}
	req, at, _ := request.Proto(p.set)
	if at != "" {
		return fmt.Errorf("the request is not valid at %s", at)
	}
	resp, err := s.sets.ApplySet(ctx, req)
	if err != nil {
		return err
	}
	if how.shadow > 0 {
		return shadowed(p, resp.GetSet(), resp.GetChanged(), io)
	}
	fmt.Fprintf(io.Out, "applied    set %s, version %d\n", show.Text(p.set), resp.GetSet().GetVersion())
	return s.moveAll(ctx, p, versions, t, io)
}

// shadowed prints the objects that wait as shadows.
func shadowed(p *plan, set *policyv1.DefinitionSet, changed bool, io console.Streams) error {
	view := jsonview.SetOf(set)
	if view.Shadow == nil {
		return fmt.Errorf("the server has no shadow of set %s after it was begun", p.set)
	}
	how := "shadowed"
	if !changed {
		how = "goes on "
	}
	fmt.Fprintf(io.Out, "%s   set %s, %s, until %s; the live rules are unchanged\n", how, show.Text(p.set), show.Counted(len(view.Shadow.Objects), "object"), view.Shadow.Until.Format(time.RFC3339))
	for _, o := range view.Shadow.Objects {
		switch {
		case o.Judged:
			fmt.Fprintf(io.Out, "  %-9s %s  %s\n", show.Text(o.Kind), show.Text(o.Name), judged(o))
		default:
			fmt.Fprintf(io.Out, "  %-9s %s  is not judged: %s\n", show.Text(o.Kind), show.Text(o.Name), notJudged(o))
		}
	}
	return nil
}

// judged says what of an object calls are judged by.
func judged(o jsonview.ShadowedObject) string {
	switch {
	case o.Version == 0:
		return "calls are judged as if it were removed, next to the live rules"
	case o.Version == o.LiveVersion:
		return "its attachments are judged next to the live rules"
	case o.OwnsAttachments:
		return fmt.Sprintf("version %d and its attachments are judged next to the live rules", o.Version)
	}
	return fmt.Sprintf("version %d is judged next to the live rules", o.Version)
}

// stage stores the text of an item as a version that is not live, and returns the version.
func (s *server) stage(ctx context.Context, i *item) (int64, error) {
	if i.remote.live != 0 && i.local.same(i.remote.digest) {
		return i.remote.live, nil
	}
	switch i.Kind {
	case kindSchema:
		resp, err := s.schemas.RegisterSchema(ctx, &statev1.RegisterSchemaRequest{Name: i.Name, JsonSchema: i.local.text, Staged: true})
		return resp.GetSchema().GetVersion(), err
	case kindComponent:
		resp, err := s.components.CreateComponent(ctx, &statev1.CreateComponentRequest{Definition: i.local.text, Staged: true})
		return resp.GetComponent().GetVersion(), err
	case kindPolicy:
		resp, err := s.policies.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Name: i.Name, Definition: i.local.text, Staged: true})
		return resp.GetPolicy().GetVersion(), err
	case kindProcess:
		resp, err := s.processes.RegisterProcess(ctx, &enginev1.RegisterProcessRequest{Definition: i.local.text, Staged: true})
		return resp.GetProcess().GetVersion(), err
	default:
		resp, err := s.workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: i.local.text, Staged: true})
		return resp.GetWorkflow().GetVersion(), err
	}
}

// moveAll moves the runs of the plan, one commit each. A run that started meanwhile and runs that cannot move stay; the
// next plan lists them.
func (s *server) moveAll(ctx context.Context, p *plan, versions map[object]int64, t terms, io console.Streams) error {
	for _, i := range p.items {
		for _, m := range i.moves {
			if m.Movable == 0 {
				continue
			}
			moved, stays, err := s.moveRuns(ctx, i, m.From, versions[i.object], t)
			if err != nil {
				return err
			}
			fmt.Fprintf(io.Out, "moved      %s of %s from version %d to %d\n", show.Counted(moved, "run"), i.Name, m.From, versions[i.object])
			for _, why := range stays {
				fmt.Fprintf(io.Out, "  %s\n", show.Text(why))
			}
		}
	}
	return nil
}

// moveRuns moves the runs of one version.
func (s *server) moveRuns(ctx context.Context, i *item, from, to int64, t terms) (moved int, stays []string, err error) {
	plan, err := s.workflows.PlanMigration(ctx, &enginev1.PlanMigrationRequest{Workflow: i.Name, FromVersion: from, ToVersion: to})
	if err != nil {
		return 0, nil, err
	}
	accept := ""
	switch {
	case t.migrate == "all":
		accept = plan.GetDigest()
	case plan.GetVerdict() != enginev1.MigrationVerdict_MIGRATION_VERDICT_PROVED:
		return 0, []string{"the server does not prove that they get no new permissions, so they stay"}, nil
	}
	runs, err := s.running(ctx, i.Name)
	if err != nil {
		return 0, nil, err
	}
	for _, run := range runs {
		if run.GetWorkflowVersion() != from {
			continue
		}
		resp, err := s.runs.MigrateRun(ctx, &enginev1.MigrateRunRequest{RunId: run.GetRunId(), ToVersion: to, Accept: accept})
		switch {
		case err != nil:
			stays = append(stays, run.GetRunId()+" stays: "+client.Explain(err))
		case resp.GetRejection() != nil:
			stays = append(stays, run.GetRunId()+" stays: "+resp.GetRejection().GetMessage())
		default:
			moved++
		}
	}
	return moved, stays, nil
}
