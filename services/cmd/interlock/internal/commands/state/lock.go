package state

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// leaseFlags of a lock.
type leaseFlags struct {
	Holder string        `help:"Who holds it, for others to see; by default the session that acts, or this machine." placeholder:"NAME"`
	TTL    time.Duration `name:"ttl" help:"How long it is held, 1s to 1h." default:"60s" placeholder:"DURATION"`
}

type lockCommand struct {
	oneState
	leaseFlags
}

func (c *lockCommand) Run(ctx context.Context, io console.Streams) error {
	return c.lease(ctx, io, "locked", c.leaseFlags, 0)
}

type renewCommand struct {
	oneState
	leaseFlags
	FencingToken int64 `required:"" help:"Of the lock that is held." placeholder:"N"`
}

func (c *renewCommand) Run(ctx context.Context, io console.Streams) error {
	return c.lease(ctx, io, "renewed", c.leaseFlags, c.FencingToken)
}

// leaseView is the JSON of a lock that is held.
type leaseView struct {
	FencingToken int64     `json:"fencing_token"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// lease takes the lock, or renews the one that the token is of.
func (c *oneState) lease(ctx context.Context, io console.Streams, verb string, flags leaseFlags, token int64) error {
	holder := cmp.Or(flags.Holder, c.AsSession)
	if holder == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the name of this machine: %w; give --holder", err)
		}
		holder = host
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewStateServiceClient(conn).LockState(ctx, &statev1.LockStateRequest{
			StateId: c.StateID, Session: c.AsSession, Holder: holder, Ttl: durationpb.New(flags.TTL), FencingToken: token,
		})
		if err != nil {
			return err
		}
		view := leaseView{resp.GetFencingToken(), jsonview.Time(resp.GetExpiresAt())}
		return c.Print(io.Out, view, func(w *show.Sheet) {
			fmt.Fprintf(w, "%s\t%s\tfencing token %d\tuntil %s\n",
				verb, show.Text(c.StateID), view.FencingToken, w.Time(view.ExpiresAt))
		})
	})
}

type unlockCommand struct {
	oneState
	FencingToken int64 `required:"" help:"Of the lock that is held." placeholder:"N"`
}

func (c *unlockCommand) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		_, err := statev1.NewStateServiceClient(conn).UnlockState(ctx, &statev1.UnlockStateRequest{
			StateId: c.StateID, Session: c.AsSession, FencingToken: c.FencingToken,
		})
		if err != nil {
			return err
		}
		view := struct {
			StateID  string `json:"state_id"`
			Unlocked bool   `json:"unlocked"`
		}{c.StateID, true}
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintf(w, "unlocked\t%s\n", show.Text(c.StateID)) })
	})
}
