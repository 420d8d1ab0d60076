package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// How the store that the console looks at is filled, and how its calls are measured.
const (
	// perRun is how many decisions a run has.
	perRun = 100
	// consoleCalls is how often each call is made, one after the other.
	consoleCalls = 100
	// consoleGoal is the bound on the 99th percentile of each.
	consoleGoal = 100 * time.Millisecond
	// caughtUp is how long the events of the past may take to be read.
	caughtUp = 5 * time.Minute
	// stateVersions is how many versions the shared state has.
	stateVersions = 500
)

// consoleCall is a call that a page of the console makes. {run} and {state} stand for ids.
type consoleCall struct{ page, path string }

// theConsoleCalls are those that pages make, but for changes.
var theConsoleCalls = []consoleCall{
	{"now", "/v1/stats"},
	{"now, health", "/v1/system"},
	{"approvals", "/v1/approvals?status=PENDING"},
	{"approvals", "/v1/approvals?page_size=100"},
	{"runs", "/v1/runs?page_size=50"},
	{"runs", "/v1/runs?page_size=50&status=RUNNING&workflow=bench"},
	{"runs", "/v1/runs?page_size=50&not_status=RUNNING"},
	{"runs", "/v1/runs?page_size=50&text=nowhere"},
	{"runs", "/v1/runs?page_size=50&session_id=nobody"},
	{"runs", "/v1/runs?page_size=50&denied=true"},
	{"run", "/v1/runs/{run}"},
	{"run", "/v1/runs/{run}/history?page_size=100"},
	{"run", "/v1/runs/{run}/versions/1"},
	{"run, decision", "/v1/decisions?run_id={run}&page_size=100"},
	{"audit", "/v1/decisions?page_size=100"},
	{"audit", "/v1/decisions?page_size=100&decision=DENY"},
	{"audit", "/v1/decisions?page_size=100&tool=Nothing"},
	{"audit", "/v1/decisions?page_size=100&not_decision=ALLOW&workflow=bench&since=1h"},
	{"audit", "/v1/principals"},
	{"workflows", "/v1/workflows"},
	{"workflow", "/v1/workflows/bench"},
	{"workflow", "/v1/workflows/bench/versions/1/graph"},
	{"workflow", "/v1/workflows/bench/diff"},
	{"workflow", "/v1/workflows/bench/coverage"},
	{"policies", "/v1/policies"},
	{"sessions", "/v1/sessions"},
	{"sessions", "/v1/states"},
	{"state", "/v1/states/{state}"},
	{"state", "/v1/states/{state}/history?page_size=100"},
	{"state", "/v1/states/{state}/versions/250"},
	{"state", "/v1/states/{state}/writers"},
	{"state", "/v1/states/{state}/writers?version=300"},
	{"components", "/v1/components"},
}

// forConsole measures every call of the console over many decisions.
func (b *bencher) forConsole(ctx context.Context, backend string, decisions int) error {
	return b.onStage(backend, func(st *stage) error {
		g := &grown{stage: st, program: b.interlock}
		sheets, err := g.consoleSheets(ctx, decisions)
		if err != nil {
			return errors.Join(err, g.end())
		}
		for _, s := range sheets {
			b.print(s)
		}
		return g.end()
	})
}

// consoleSheets fills the store and measures the calls, and the pages if there is a script for them.
func (g *grown) consoleSheets(ctx context.Context, decisions int) ([]*sheet, error) {
	if err := g.begin(); err != nil {
		return nil, err
	}
	p, err := g.dial(&g.up.child, fillers)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := g.fill(ctx, p, max(decisions/perRun, 1)); err != nil {
		return nil, err
	}
	if err := g.decide(ctx, p, decisions); err != nil {
		return nil, err
	}
	run := g.ids[len(g.ids)/2]
	if g.b.paint != "" {
		if err := g.lengthen(ctx, p, run); err != nil {
			return nil, err
		}
	}
	filled := time.Since(began)
	operator, err := g.operator(&g.up.child, "")
	if err != nil {
		return nil, err
	}
	state, err := sharedState(ctx, statev1.NewSchemaServiceClient(operator), statev1.NewStateServiceClient(operator))
	if err != nil {
		return nil, err
	}
	look := looker{url: g.up.http, token: g.tokensOf[auth.Operator]}
	if err := look.untilComplete(ctx); err != nil {
		return nil, err
	}
	s := &sheet{
		title:  fmt.Sprintf("The console's calls over %d decisions of %d runs, `interlock up` on %s", decisions, len(g.ids), g.backend),
		notes:  fmt.Sprintf("One caller, %d calls of each. The store was filled in %s.", consoleCalls, filled.Round(time.Second)),
		header: []string{"page", "call", "p50, ms", "p99, ms", "below " + strconv.Itoa(int(consoleGoal.Milliseconds())) + " ms"},
	}
	ids := strings.NewReplacer("{run}", url.PathEscape(run), "{state}", url.PathEscape(state))
	for _, call := range theConsoleCalls {
		half, most, err := look.measure(ctx, ids.Replace(call.path))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.path, err)
		}
		met := "yes"
		if most > consoleGoal {
			met = "NO"
		}
		s.add(call.page, call.path, milliseconds(half), milliseconds(most), met)
	}
	if g.b.paint == "" {
		return []*sheet{s}, nil
	}
	pages, err := g.paintSheet(ctx, g.b.paint, run)
	return []*sheet{s, pages}, err
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64)
}

// decide makes decisions of all runs: every tenth is a denial.
func (g *grown) decide(ctx context.Context, p pool, decisions int) error {
	errs := make([]error, fillers)
	var next atomic.Int64
	var callers sync.WaitGroup
	for i := range fillers {
		callers.Go(func() {
			client := policyv1.NewPolicyEnforcerServiceClient(p.of(i))
			for n := next.Add(1) - 1; n < int64(decisions) && errs[i] == nil; n = next.Add(1) - 1 {
				req := checkRequest(g.ids[n%int64(len(g.ids))])
				if n/int64(len(g.ids))%10 == 9 {
					req.Tool = "Write"
				}
				_, errs[i] = client.CheckToolCall(ctx, req)
			}
		})
	}
	callers.Wait()
	return errors.Join(errs...)
}

// sharedState makes a state with many versions.
func sharedState(ctx context.Context, schemas statev1.SchemaServiceClient, states statev1.StateServiceClient) (string, error) {
	if _, err := schemas.RegisterSchema(ctx, &statev1.RegisterSchemaRequest{Name: "bench", JsonSchema: []byte(`{}`)}); err != nil {
		return "", err
	}
	made, err := states.CreateState(ctx, &statev1.CreateStateRequest{SchemaName: "bench", Data: []byte(`{"list": [], "n": 0}`)})
	if err != nil {
		return "", err
	}
	id := made.GetState().GetStateId()
	for i := range stateVersions - 1 {
		patch := fmt.Appendf(nil, `[{"op":"add","path":"/list/-","value":{"n":%d}},{"op":"replace","path":"/n","value":%d}]`, i, i)
		_, err := states.UpdateState(ctx, &statev1.UpdateStateRequest{StateId: id, Change: &statev1.UpdateStateRequest_Patch{Patch: patch}})
		if err != nil {
			return "", err
		}
	}
	return id, nil
}

// looker makes calls as a page does.
type looker struct{ url, token string }

func (l *looker) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url+path, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %d %s", resp.StatusCode, body)
	}
	return string(body), err
}

// untilComplete waits until the events of the past are read.
func (l *looker) untilComplete(ctx context.Context) error {
	for begin := time.Now(); ; {
		body, err := l.get(ctx, "/v1/stats")
		if err != nil {
			return err
		}
		if strings.Contains(body, `"complete":true`) {
			return nil
		}
		if time.Since(begin) > caughtUp {
			return errors.New("the events of the past are not read after " + caughtUp.String())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// measure returns the median and the 99th percentile of a call.
func (l *looker) measure(ctx context.Context, path string) (half, most time.Duration, err error) {
	times := make([]time.Duration, consoleCalls)
	for i := range times {
		begin := time.Now()
		if _, err := l.get(ctx, path); err != nil {
			return 0, 0, err
		}
		times[i] = time.Since(begin)
	}
	slices.Sort(times)
	return times[len(times)/2], times[len(times)*99/100], nil
}
