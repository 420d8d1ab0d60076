package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/store"
)

// markKey is the key of the stream's metadata that has the mark of the store. The stream and the
// store are kept apart, so an emptied store does not take its mark with it.
const markKey = "interlock-store"

// attestEvery is how often a relay renews the mark.
const attestEvery = time.Minute

// Attest compares a store with the mark that the stream keeps of it, and renews the mark. A store
// that lacks entries that were seen before refuses every commit from then on; that is not an
// error here.
func (e Endpoint) Attest(ctx context.Context, stream Stream, st store.Witnessed) error {
	nc, err := e.dial(nats.Name("interlock-attest"), nats.NoReconnect(), nats.Timeout(2*time.Second))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	_, err = stream.withDefaults().attest(ctx, js, st)
	return err
}

// attest makes sure of the stream, and of the mark in it. st is nil for a store without one.
func (s Stream) attest(ctx context.Context, js jetstream.JetStream, st store.Witnessed) (jetstream.Stream, error) {
	if st == nil {
		return s.createOrUpdate(ctx, js)
	}
	stream, err := js.Stream(ctx, s.Name)
	if err == nil {
		err = st.Compare(ctx, stream.CachedInfo().Config.Metadata[markKey])
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("compare the store with the stream %s: %w", s.Name, err)
	}
	if s.mark, err = st.Mark(); err != nil {
		return nil, err
	}
	if stream, err = s.createOrUpdate(ctx, js); err != nil || s.mark == "" {
		return stream, err
	}
	if vouched, err := st.Vouched(ctx); vouched || err != nil {
		return stream, err
	}
	return stream, st.Vouch(ctx)
}

// attest renews the mark of the store, now and then.
func (r *Relay) attest(ctx context.Context, s *session) error {
	if r.cfg.Witnessed == nil || time.Since(s.attested) < attestEvery {
		return nil
	}
	s.attested = time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.AckTimeout)
	defer cancel()
	_, err := r.cfg.Stream.attest(ctx, s.js, r.cfg.Witnessed)
	return err
}
