// Package behalf creates the session of a run that is started on behalf of a person, so that the session keeps
// the person from its first run on (S22.3).
package behalf

import (
	"cmp"
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// Runs returns the runs of an engine.
func Runs(engine enginev1.RunServiceClient, sessions statev1.SessionServiceClient) enginev1.RunServiceClient {
	return runs{engine, keeper{sessions}}
}

// Processes returns the processes of an engine.
func Processes(engine enginev1.ProcessServiceClient, sessions statev1.SessionServiceClient) enginev1.ProcessServiceClient {
	return processes{engine, keeper{sessions}}
}

type runs struct {
	enginev1.RunServiceClient
	sessions keeper
}

func (r runs) StartRun(ctx context.Context, in *enginev1.StartRunRequest, opts ...grpc.CallOption) (*enginev1.StartRunResponse, error) {
	if err := r.sessions.keep(ctx, in.GetSessionId()); err != nil {
		return nil, err
	}
	return r.RunServiceClient.StartRun(ctx, in, opts...)
}

func (r runs) BindBranch(ctx context.Context, in *enginev1.BindBranchRequest, opts ...grpc.CallOption) (*enginev1.BindBranchResponse, error) {
	if err := r.sessions.keep(ctx, in.GetSessionId()); err != nil {
		return nil, err
	}
	return r.RunServiceClient.BindBranch(ctx, in, opts...)
}

type processes struct {
	enginev1.ProcessServiceClient
	sessions keeper
}

func (p processes) StartProcess(ctx context.Context, in *enginev1.StartProcessRequest, opts ...grpc.CallOption) (*enginev1.StartProcessResponse, error) {
	if err := p.sessions.keep(ctx, in.GetSessionId()); err != nil {
		return nil, err
	}
	return p.ProcessServiceClient.StartProcess(ctx, in, opts...)
}

type keeper struct{ sessions statev1.SessionServiceClient }

// keep creates a session that is not there, if the request of ctx has the token of a person. An empty name stands
// for the session of the caller's token.
func (k keeper) keep(ctx context.Context, session string) error {
	sent, _ := metadata.FromOutgoingContext(ctx)
	session = cmp.Or(session, access.CallerOf(ctx).Principal.Session)
	if session == "" || len(sent.Get(rpc.ForKey)) == 0 {
		return nil
	}
	_, err := k.sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: session})
	if fault.ReasonOf(err) != fault.NotFound {
		return err
	}
	_, err = k.sessions.CreateSession(ctx, &statev1.CreateSessionRequest{Name: session})
	return err
}
