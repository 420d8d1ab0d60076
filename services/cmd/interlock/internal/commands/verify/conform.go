package verify

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/go-json-experiment/json"
	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	runs "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

// conform checks a recorded run.
func (c *Command) conform(ctx context.Context, io console.Streams) error {
	if len(c.Files) > 0 {
		return console.Misusedf("--run checks a run by its own definitions: leave the files out")
	}
	r, err := c.recorded(ctx, io)
	if err != nil {
		return err
	}
	if c.Save != "" {
		text, err := json.Marshal(r, indented)
		if err != nil {
			return fmt.Errorf("encode the run: %w", err)
		}
		if err := os.WriteFile(c.Save, append(text, '\n'), 0o600); err != nil {
			return fmt.Errorf("write the run: %w", err)
		}
	}
	trace, err := r.Trace()
	if err != nil {
		return err
	}
	out := conform.Conform(trace)
	if c.Format == "json" {
		differences := make([]string, 0, len(out.Differences))
		for _, d := range out.Differences {
			differences = append(differences, d.String())
		}
		err = show.JSON(io.Out, struct {
			RunID       string         `json:"run_id"`
			OK          bool           `json:"ok"`
			History     int            `json:"history"`
			Decisions   int            `json:"decisions"`
			Open        map[string]int `json:"open"`
			Differences []string       `json:"differences"`
		}{r.RunID, len(differences) == 0, out.History, out.Decisions, out.Open, differences})
	} else {
		printConformance(io, r.RunID, &out)
	}
	switch {
	case err != nil:
		return err
	case len(out.Differences) > 0:
		return console.ErrNo
	default:
		return nil
	}
}

func printConformance(io console.Streams, run string, out *conform.Conformance) {
	for _, d := range out.Differences {
		fmt.Fprintf(io.Out, "%s: %s\n", show.Text(run), show.Text(d.String()))
	}
	verdict := "conforms"
	if len(out.Differences) > 0 {
		verdict = "does not conform"
	}
	fmt.Fprintf(io.Out, "%s: %s: %s and %s decided again\n", show.Text(run), verdict, show.Counted(out.History,
		"change"), show.Counted(out.Decisions, "decision"))
	whys := make([]string, 0, len(out.Open))
	for why := range out.Open {
		whys = append(whys, why)
	}
	slices.Sort(whys)
	for _, why := range whys {
		fmt.Fprintf(io.Out, "  not decided again: %d, because %s\n", out.Open[why], why)
	}
}

// recorded returns the run of an exported file, or of a server.
func (c *Command) recorded(ctx context.Context, io console.Streams) (*recorded.Run, error) {
	if _, err := os.Stat(c.Run_); err == nil || c.Run_ == "-" {
		return readRecord(c.Run_, io)
	}
	if err := noFile(c.Run_); err != nil {
		return nil, err
	}
	var r *recorded.Run
	err := c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) (err error) {
		r, err = Load(ctx, conn, c.Run_)
		return err
	})
	return r, err
}

// readRecord reads an exported run.
func readRecord(file string, io console.Streams) (*recorded.Run, error) {
	text, err := input.File(file, io.In)
	if err != nil {
		return nil, err
	}
	return recorded.Read(file, text)
}

// Load reads a run of a server.
func Load(ctx context.Context, conn grpc.ClientConnInterface, id string) (*recorded.Run, error) {
	one := runs.One{RunID: id}
	if err := one.Resolve(ctx, conn); err != nil {
		return nil, err
	}
	return recorded.Load(ctx, recorded.Sources{
		Runs: enginev1.NewRunServiceClient(conn), Workflows: enginev1.NewWorkflowServiceClient(conn),
		Decisions: policyv1.NewDecisionServiceClient(conn), Policies: policyv1.NewPolicyServiceClient(conn),
	}, one.RunID, false)
}

// FromFile returns an exported run as it is replayed.
func FromFile(file string, io console.Streams) (*conform.Trace, error) {
	r, err := readRecord(file, io)
	if err != nil {
		return nil, err
	}
	return r.Trace()
}

// FromServer returns a run of a server as it is replayed.
func FromServer(ctx context.Context, conn grpc.ClientConnInterface, id string) (*conform.Trace, error) {
	r, err := Load(ctx, conn, id)
	if err != nil {
		return nil, err
	}
	return r.Trace()
}
