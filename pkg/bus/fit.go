package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// leastServer is the oldest NATS that has all that the stream of events needs.
const leastServer = "2.10"

// UnfitError is a NATS that can be reached and cannot keep events.
type UnfitError struct{ URL, Why string }

func (e *UnfitError) Error() string {
	return fmt.Sprintf("the NATS at %s cannot keep events: %s", e.URL, e.Why)
}

// Fit returns an *UnfitError when a NATS can be reached that will never keep events: it
// is too old, or has no JetStream. One that cannot be reached may still come.
func (e Endpoint) Fit(ctx context.Context) error {
	nc, err := e.dial(nats.Name("interlock-fit"), nats.NoReconnect(), nats.Timeout(2*time.Second))
	if err != nil {
		return nil //nolint:nilerr // it may still come
	}
	defer nc.Close()
	why := unfit(ctx, nc)
	if why == "" {
		return nil
	}
	return &UnfitError{URL: nc.ConnectedUrlRedacted(), Why: why}
}

// unfit describes why a server cannot keep events; empty when it can, for all that is
// known.
func unfit(ctx context.Context, nc *nats.Conn) string {
	if version := nc.ConnectedServerVersion(); older(version, leastServer) {
		return fmt.Sprintf("it has version %s, and %s or newer is needed; Debian 12 has an older one: take https://github.com/nats-io/nats-server/releases",
			version, leastServer)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	switch _, err := js.AccountInfo(ctx); {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return "it runs without JetStream; start it with nats-server -js -sd FOLDER"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return "the account of its URL has no JetStream; enable it in the server's configuration (jetstream: enabled)"
	}
	return ""
}

// older reports whether a version like 2.9.25 comes before another; one that cannot be
// read does not.
func older(version, than string) bool {
	have, want := strings.Split(version, "."), strings.Split(than, ".")
	for i := range want {
		if i >= len(have) {
			return false
		}
		h, err := strconv.Atoi(have[i])
		w, _ := strconv.Atoi(want[i])
		if err != nil || h != w {
			return err == nil && h < w
		}
	}
	return false
}
