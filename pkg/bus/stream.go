package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// DefaultStream is the stream's name.
const DefaultStream = "INTERLOCK"

// Stream configures the JetStream stream. The zero value works.
type Stream struct {
	// Name, default DefaultStream.
	Name string
	// Replicas; 0 leaves a stream as it is and creates one with 1.
	Replicas int
	// MaxAge is how long the stream keeps an event, default 7 days; negative
	// keeps it forever.
	MaxAge time.Duration
	// MaxBytes is the most that the stream holds: the oldest events go first. 0 leaves a
	// stream as it is and creates one without a bound; negative is no bound.
	MaxBytes int64
	// Duplicates is the window in which JetStream drops a second message with
	// the same id, default 2 minutes. The relay raises it to twice its grace.
	Duplicates time.Duration

	// mark is the last known history of the store; empty leaves that of the stream as it
	// is.
	mark string
}

func (s Stream) withDefaults() Stream {
	if s.Name == "" {
		s.Name = DefaultStream
	}
	switch {
	case s.MaxAge == 0:
		s.MaxAge = 7 * 24 * time.Hour
	case s.MaxAge < 0:
		s.MaxAge = 0 // JetStream's "forever"
	}
	if s.Duplicates == 0 {
		s.Duplicates = 2 * time.Minute
	}
	if s.MaxAge > 0 {
		s.Duplicates = min(s.Duplicates, s.MaxAge)
	}
	return s
}

// Ensure creates the stream, or brings the settings that are Interlock's own up
// to date and leaves an operator's others (placement, limits of messages) alone. It is
// idempotent. A stream that would drop or reorder events is refused.
func (s Stream) Ensure(ctx context.Context, js jetstream.JetStream) (jetstream.Stream, error) {
	return s.withDefaults().createOrUpdate(ctx, js)
}

// createOrUpdate does the work of Ensure for settings that have their defaults.
func (s Stream) createOrUpdate(ctx context.Context, js jetstream.JetStream) (jetstream.Stream, error) {
	stream, err := js.Stream(ctx, s.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = js.CreateStream(ctx, s.config())
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was first
			stream, err = js.Stream(ctx, s.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ensure stream %s: %w", s.Name, err)
	}
	have := stream.CachedInfo().Config
	if have.Retention != jetstream.LimitsPolicy || have.Storage != jetstream.FileStorage || have.NoAck {
		return nil, fmt.Errorf("ensure stream %s: it must have file storage, retention by limits and acknowledgements; delete it, or set another name", s.Name)
	}
	want, changed := s.merge(have)
	if !changed {
		return stream, nil
	}
	stream, err = js.UpdateStream(ctx, want)
	if err != nil {
		return nil, fmt.Errorf("update stream %s: %w", s.Name, err)
	}
	return stream, nil
}

func (s Stream) config() jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name:        s.Name,
		Description: "Events of Interlock, derived from its store",
		Subjects:    []string{Root + ".>"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Replicas:    max(s.Replicas, 1),
		MaxAge:      s.MaxAge,
		MaxBytes:    max(s.MaxBytes, 0),
		Duplicates:  s.Duplicates,
	}
	if s.mark != "" {
		config.Metadata = map[string]string{markKey: s.mark}
	}
	return config
}

// merge returns have with Interlock's own settings, and whether that differs. The
// duplicate window only grows, so that processes with other settings don't fight over it.
// Direct gets are switched off because a lagging replica may answer them, and the relay
// must see the state of the leader.
func (s Stream) merge(have jetstream.StreamConfig) (want jetstream.StreamConfig, changed bool) {
	want = have
	if all := Root + ".>"; !slices.Contains(want.Subjects, all) {
		want.Subjects = append(slices.Clone(want.Subjects), all)
		changed = true
	}
	if s.Replicas != 0 && want.Replicas != s.Replicas {
		want.Replicas, changed = s.Replicas, true
	}
	if want.MaxAge != s.MaxAge {
		want.MaxAge, changed = s.MaxAge, true
	}
	if s.MaxBytes != 0 && max(want.MaxBytes, 0) != max(s.MaxBytes, 0) {
		want.MaxBytes, changed = s.MaxBytes, true
	}
	if want.Duplicates < s.Duplicates || want.MaxAge > 0 && want.Duplicates > want.MaxAge {
		want.Duplicates, changed = s.Duplicates, true
	}
	if want.AllowDirect {
		want.AllowDirect, changed = false, true
	}
	if s.mark != "" && want.Metadata[markKey] != s.mark {
		want.Metadata, changed = maps.Clone(want.Metadata), true
		if want.Metadata == nil {
			want.Metadata = map[string]string{}
		}
		want.Metadata[markKey] = s.mark
	}
	return want, changed
}
