package attack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/attack"
)

// The first session shares a state, of which parts are reserved for some writers.
const (
	stateSchema = `{"type": "object", "additionalProperties": false, "properties": {
		"notes": {"type": "string", "maxLength": 1000}, "verdict": {"type": "string", "x-interlock-writers": ["role:operator"]},
		"seal": {"x-interlock-writers": []}}}`
	stateName = "attacked"
)

// share lets the first session share a state.
func share(ctx context.Context, conn grpc.ClientConnInterface) error {
	if _, err := statev1.NewSchemaServiceClient(conn).RegisterSchema(ctx, &statev1.RegisterSchemaRequest{Name: stateName, JsonSchema: []byte(stateSchema)}); err != nil {
		return fmt.Errorf("register the schema of the shared state: %w", err)
	}
	_, err := statev1.NewStateServiceClient(conn).CreateState(ctx, &statev1.CreateStateRequest{
		SchemaName: stateName, Data: []byte(`{"notes": ""}`), Session: "s1", ExistingSession: true,
	})
	if err != nil {
		return fmt.Errorf("create the shared state: %w", err)
	}
	return nil
}

// write edits the shared state.
func (p *player) write(conn grpc.ClientConnInterface, s *attack.Step, a *ack) (string, error) {
	request := &statev1.UpdateStateRequest{
		Session: cmp.Or(s.Session, "s1"), IdempotencyKey: s.Key, Change: &statev1.UpdateStateRequest_MergePatch{MergePatch: bytesOf(s, s.Data)},
	}
	if s.Stale {
		request.ExpectedVersion = 1
	}
	resp, err := statev1.NewStateServiceClient(conn).UpdateState(p.ctx, request)
	if err != nil {
		return "", err
	}
	a.wrote = resp.GetState().GetVersion()
	return fmt.Sprint("version ", a.wrote), nil
}

// shared holds the edits of the shared state that were acknowledged against its history.
func (p *player) shared() (all []Finding) {
	page, err := statev1.NewStateServiceClient(p.honest(attack.Operator)).GetStateHistory(p.ctx, &statev1.GetStateHistoryRequest{StateId: p.state, PageSize: 1000})
	if err != nil {
		return []Finding{{Kind: Lost, Class: "shared state", What: "its history cannot be read: " + err.Error()}}
	}
	told := map[int64]*ack{}
	for _, a := range p.acks {
		if a.wrote > 0 && told[a.wrote] == nil {
			told[a.wrote] = a
		}
	}
	unheard := slices.ContainsFunc(p.acks, func(a *ack) bool { return a.died && a.step.Do == attack.Write })
	for i, v := range page.GetVersions() {
		a := told[v.GetVersion()]
		delete(told, v.GetVersion())
		switch {
		case v.GetVersion() != int64(i+1):
			all = append(all, Finding{Kind: Lost, Class: "shared state", What: fmt.Sprintf("version %d of the shared state is followed by %d", i, v.GetVersion())})
		case i == 0:
		case a == nil && !unheard:
			all = append(all, Finding{Kind: Doubled, Class: "shared state", What: fmt.Sprintf("version %d of the shared state was announced to no one", v.GetVersion())})
		case a != nil && v.GetActor() != people[a.step.As].Name:
			all = append(all, Finding{Kind: Escape, Class: "shared state", Step: a.step.String(), What: "the edit is recorded as that of " + v.GetActor()})
		}
		all = append(all, mayWrite(v, i == 0)...)
	}
	for _, version := range sortedNumbers(told) {
		all = append(all, Finding{Kind: Lost, Class: "shared state", Step: told[version].step.String(), What: fmt.Sprintf("version %d of the shared state was acknowledged and is not there", version)})
	}
	return all
}

// mayWrite compares a version with the reservations of the schema and the tree of
// sessions.
func mayWrite(v *statev1.StateVersion, first bool) []Finding {
	if first || v.GetActor() == people[attack.Operator].Name {
		return nil
	}
	patch := string(v.GetPatch())
	who := slices.IndexFunc([]string{attack.Agent, attack.Child, attack.Runtime}, func(name string) bool { return people[name].Name == v.GetActor() })
	if who < 0 || strings.Contains(patch, `"/verdict`) || strings.Contains(patch, `"/seal`) {
		return []Finding{{Kind: Escape, Class: "writers", What: fmt.Sprintf("%s has written what others write: %s", v.GetActor(), patch)}}
	}
	return nil
}

// stateOf finds the shared state.
func stateOf(ctx context.Context, conn grpc.ClientConnInterface) (string, error) {
	got, err := statev1.NewStateServiceClient(conn).GetState(ctx, &statev1.GetStateRequest{Session: "s1"})
	if err != nil {
		return "", fmt.Errorf("find the shared state: %w", err)
	}
	return got.GetState().GetStateId(), nil
}

func sortedNumbers[V any](m map[int64]V) (all []int64) {
	for n := range m {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}
