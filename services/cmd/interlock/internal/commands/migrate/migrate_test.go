package migrate

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// failing is a server whose answer to every request is an error.
type failing struct {
	grpc.ClientConnInterface
	code codes.Code
}

func (f failing) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return status.Error(f.code, "no")
}

// A server that was killed may have moved the run whose answer was lost: the command does not say
// that it stays.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	plan := &jsonview.MigrationPlan{FromVersion: 1, ToVersion: 2, Verdict: "PROVED"}
	for code, want := range map[codes.Code]string{
		codes.Unavailable: "may have moved", codes.DeadlineExceeded: "may have moved", codes.FailedPrecondition: "stays", codes.PermissionDenied: "stays",
	} {
		c := &Command{Apply: true}
		one := c.move(t.Context(), failing{code: code}, &enginev1.Run{RunId: "run_1", State: "work"}, plan)
		var out bytes.Buffer
		c.print(console.Streams{Out: &out}, &result{Workflow: "w", Plan: plan, Runs: []moved{one}, Applied: true, server: true})
		if !strings.Contains(out.String(), `run_1 in "work" `+want) {
			t.Errorf("%s: %s", code, out.String())
		}
	}
}
