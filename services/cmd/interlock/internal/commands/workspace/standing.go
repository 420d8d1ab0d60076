package workspace

import (
	"context"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/standing"
)

// Standing says whether rules are enforced on new sessions of a workspace that is set up.
type Standing struct {
	Enforcing bool
	// Why names the workflow or the policies, or the missing part.
	Why string

	fix string
}

// anySession stands for a new session of the agent. No session has its name.
const anySession = "interlock-status"

// StandingOf returns the standing of a workspace whose hooks put sessions on a workflow, or observe. Policies apply in any case.
func StandingOf(ctx context.Context, io console.Streams, folder datadir.Dir, workflow string, observe bool) Standing {
	if workflow != "" {
		return Standing{true, "the hooks put each session on workflow " + document.Quote(workflow), ""}
	}
	policies, err := policiesApply(ctx, io, folder)
	switch {
	case err != nil:
		return Standing{true, "the server does not answer, so calls are blocked", ""}
	case policies && observe:
		return Standing{true, "policies apply to each session; the hooks observe, so no workflow is enforced", ""}
	case policies:
		return Standing{true, "policies apply to each session; no workflow is set up", ""}
	case observe:
		return Standing{
			false, "the hooks only observe: every call is recorded and allowed",
			"when it has seen enough, run `interlock suggest --observed --out first.json`, and register and set up that workflow",
		}
	default:
		return Standing{
			false, "the hooks name no workflow, and no policy applies: a session is free until a workflow is loaded in it",
			"",
		}
	}
}

// policiesApply reports that the server judges calls of a new session of the agent.
func policiesApply(ctx context.Context, io console.Streams, folder datadir.Dir) (judged bool, err error) {
	at := client.Connection{Data: string(folder), As: string(auth.Agent)}
	err = at.Do(ctx, io, auth.Agent, func(conn grpc.ClientConnInterface) error {
		judged, err = standing.Judged(ctx, policyv1.NewPolicyEnforcerServiceClient(conn), anySession)
		return err
	})
	return judged, err
}
