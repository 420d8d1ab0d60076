package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/interlock-run/interlock/pkg/telemetry"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/cluster"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

type upCommand struct {
	gateway.Flags
	Data            string `help:"Folder for everything that is kept." default:".interlock" env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	HTTP            string `name:"http" help:"Address of REST, events, MCP and hooks." default:"127.0.0.1:7420" env:"INTERLOCK_HTTP" placeholder:"HOST:PORT"`
	GRPC            string `name:"grpc" help:"Address of the gRPC services." default:"127.0.0.1:7421" env:"INTERLOCK_GRPC" placeholder:"HOST:PORT"`
	NATS            string `name:"nats" help:"Address of the embedded NATS." default:"127.0.0.1:7422" env:"INTERLOCK_NATS" placeholder:"HOST:PORT"`
	Store           string `help:"sqlite, or redis://HOST:PORT/DB." default:"sqlite" env:"INTERLOCK_STORE" placeholder:"STORE"`
	AllowLossyStore bool   `help:"Use a Redis that may lose acknowledged writes." env:"INTERLOCK_ALLOW_LOSSY_STORE"`
	NATSURL         string `name:"nats-url" help:"External NATS instead of the embedded one." env:"INTERLOCK_NATS_URL" placeholder:"URL"`
}

func (c *upCommand) Run(ctx context.Context, io streams) (err error) {
	telemetry.TuneMemory()
	log, err := daemon.Log()
	if err != nil {
		return err
	}
	shutdown, err := telemetry.Setup(ctx, "interlock", version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shutdown(context.WithoutCancel(ctx))) }()
	upstreams, err := c.Upstreams()
	if err != nil {
		return err
	}
	running, err := cluster.Start(ctx, cluster.Config{
		Data: datadir.Dir(c.Data), HTTP: c.HTTP, GRPC: c.GRPC, NATS: c.NATS,
		Store: c.Store, AllowLossyStore: c.AllowLossyStore, NATSURL: c.NATSURL,
		Upstreams: upstreams, ToolPrefix: c.ToolPrefix, AllowUnbound: c.AllowUnbound,
		Version: version, Tracer: telemetry.TracerProvider(), Logger: log,
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; another program has that port: stop it, or choose other ones with --http, --grpc and --nats (127.0.0.1:0 is any free one)", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, welcome, running.Endpoints.HTTP, running.Endpoints.GRPC, running.Endpoints.NATS, c.Data,
		running.TokensFile, running.Endpoints.HTTP)
	select {
	case <-ctx.Done():
	case <-running.Failed():
	}
	fmt.Fprintln(io.out, "draining")
	return running.Close()
}

const welcome = `Interlock is up.

  REST, MCP, hooks  %s
  gRPC              %s
  NATS              %s
  data              %s
  tokens            %s

Try it:
  interlock workflow register FILE.json
  interlock run start WORKFLOW
  interlock check Edit --run RUN
  interlock tail
MCP clients connect to %s/mcp?session=NAME with "Authorization: Bearer <the agent's token>".
Ctrl-C ends it; nothing is lost.
`
