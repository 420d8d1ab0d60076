package allinone

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/decided"
	"github.com/interlock-run/interlock/services/internal/natsserver"
)

// Embedded NATS syncs every second, so events may leave the outbox soon after.
const (
	embeddedSync  = time.Second
	embeddedGrace = 5 * time.Second
)

func (c *Server) openNATS(ctx context.Context) (bus.Endpoint, time.Duration, error) {
	if c.cfg.NATSURL != "" {
		c.Endpoints.NATS = c.cfg.NATSURL
		endpoint, err := c.cfg.NATSLogin.Endpoint(c.cfg.NATSURL)
		if err != nil {
			return bus.Endpoint{}, 0, err
		}
		if err := endpoint.Fit(ctx); err != nil {
			return bus.Endpoint{}, 0, fmt.Errorf("--nats-url: %w", err)
		}
		return endpoint, c.cfg.Grace, nil
	}
	server, err := natsserver.Start(natsserver.Config{
		Dir: c.cfg.Data.NATS(), Addr: c.cfg.NATS, SyncInterval: embeddedSync, Log: c.cfg.Logger,
	})
	if err != nil {
		return bus.Endpoint{}, 0, err
	}
	c.onClose(func() error { server.Stop(); return nil })
	c.Endpoints.NATS = server.URL()
	c.reopen = server.Reopen
	return server.Endpoint(), embeddedGrace, nil
}

func (c *Server) startRelay(st store.Store, witnessed store.Witnessed, endpoint bus.Endpoint, grace time.Duration) error {
	holder, err := c.holder()
	if err != nil {
		return err
	}
	relay, err := bus.NewRelay(decided.Outbox(st), bus.Config{
		NATS: endpoint, Stream: c.cfg.Events.Stream(), Witnessed: witnessed, Holder: holder, Grace: grace, Keep: c.cfg.Events.EventsKeep, Registerer: c.metrics.Registerer(),
		Tracer: c.cfg.Tracer, Log: c.cfg.Logger,
		Reopen: c.reopen,
	})
	if err != nil {
		return err
	}
	c.events = relay
	c.backgroundCtx, c.stop = context.WithCancel(context.WithoutCancel(c.ctx))
	c.relay = make(chan struct{})
	go func() {
		defer close(c.relay)
		if err := relay.Run(c.backgroundCtx); err != nil && c.backgroundCtx.Err() == nil {
			c.cancel(fmt.Errorf("relay: %w", err))
		}
	}()
	return nil
}

// holder names this server among all that relay the same store. It is the same
// after a restart, which then has its shards back at once.
func (c *Server) holder() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name this process: %w", err)
	}
	folder, err := filepath.Abs(string(c.cfg.Data))
	if err != nil {
		return "", fmt.Errorf("name this process: %w", err)
	}
	return "up " + host + " " + folder, nil
}
