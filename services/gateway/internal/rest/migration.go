package rest

import (
	"net/http"
	"reflect"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// PlanMigrationRequest names the versions of a move.
type PlanMigrationRequest struct {
	FromVersion int64             `json:"from_version" doc:"The version that runs have now."`
	ToVersion   int64             `json:"to_version,omitempty" doc:"The version to move them to; the latest without it."`
	States      map[string]string `json:"states,omitempty" doc:"The names in the other version of states of the one. A state that is not here keeps its name."`
	MaxStates   int64             `json:"max_states,omitempty" doc:"The most pairs of conditions to compare; 20,000 without it."`
}

// MigrateRunRequest names the version to move a run to.
type MigrateRunRequest struct {
	ToVersion       int64             `json:"to_version" doc:"The version to move it to."`
	States          map[string]string `json:"states,omitempty" doc:"The names in the other version of states of the one."`
	Accept          string            `json:"accept,omitempty" doc:"The digest of the plan whose gains are accepted."`
	ExpectedVersion int64             `json:"expected_version,omitempty" doc:"409 unless the run is at this version; 0 or absent for any."`
	DryRun          bool              `json:"dry_run,omitempty" doc:"Return the outcome, without the change."`
}

// MigrateRunResponse is the outcome of moving a run.
type MigrateRunResponse struct {
	Changed   bool                `json:"changed" doc:"True when the run has moved."`
	Run       jsonview.Run        `json:"run"`
	Rejection *jsonview.Rejection `json:"rejection,omitempty" doc:"Set when the other version has no place for the run."`
	Note      string              `json:"note,omitempty"`
}

func (h *workflows) migrationRoutes(add func(route)) {
	add(route{
		method: http.MethodPost, path: "/v1/workflows/{name}/migration-plans", id: "planMigration", summary: "The new rights that moving runs to another version would give",
		about:  "Compares every condition of a run of the one version in both versions. It does not move runs.",
		params: []param{inPath("name", "Name of the workflow, percent-encoded.")}, body: jsonBody, request: reflect.TypeFor[PlanMigrationRequest](),
		fields: map[string]string{"workflow": "name"}, answers: answers[*jsonview.MigrationPlan](http.StatusOK), serve: taking(h.planMigration),
	})
}

func (h *runs) migrationRoutes(add func(route)) {
	add(route{
		method: http.MethodPost, path: "/v1/runs/{id}/migrate", id: "migrateRun", summary: "Move a run to another version of its workflow",
		about: "For operators. 409 when the move newly allows something, or it is not proved that it does not, unless accept names that " +
			"plan. A run that has no place in the other version is a 200 with changed = false and a rejection that teaches.",
		params: []param{inPath("id", "Id of the run."), idempotencyParam}, body: jsonBody, request: reflect.TypeFor[MigrateRunRequest](),
		fields: map[string]string{"run_id": "id"}, answers: answers[MigrateRunResponse](http.StatusOK), serve: taking(h.migrate),
	})
}

func (h *workflows) planMigration(c *call, in PlanMigrationRequest) (*answer, error) {
	if err := missing(requirement{"/from_version", in.FromVersion != 0}); err != nil {
		return nil, err
	}
	resp, err := h.workflows.PlanMigration(c.ctx, &enginev1.PlanMigrationRequest{
		Workflow: c.path("name"), FromVersion: in.FromVersion, ToVersion: in.ToVersion, States: in.States, MaxStates: in.MaxStates,
	})
	if err != nil {
		return nil, err
	}
	return ok(jsonview.MigrationPlanOf(in.FromVersion, resp)), nil
}

func (h *runs) migrate(c *call, in MigrateRunRequest) (*answer, error) {
	if err := missing(requirement{"/to_version", in.ToVersion != 0}); err != nil {
		return nil, err
	}
	resp, err := h.runs.MigrateRun(c.ctx, &enginev1.MigrateRunRequest{
		RunId: c.path("id"), ToVersion: in.ToVersion, States: in.States, Accept: in.Accept, DryRun: in.DryRun,
		ExpectedVersion: in.ExpectedVersion, IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, err
	}
	return ok(MigrateRunResponse{
		Changed: resp.GetChanged(), Run: jsonview.RunOf(resp.GetRun()), Rejection: jsonview.RejectionOf(resp.GetRejection()), Note: resp.GetNote(),
	}), nil
}
