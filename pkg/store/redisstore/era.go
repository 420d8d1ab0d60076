package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// lookEvery is how often the server is asked which era it is of. A new connection asks
// too, so this is for a server that goes back without closing any.
const lookEvery = time.Second

// eraWait is how long a new connection waits for the store to turn.
const eraWait = 5 * time.Second

// place is the history of the server.
type place struct {
	key string // of the hash of its era

	mu sync.Mutex
	id string
	// seen is how many writes of this era were acknowledged to this process, and confirmed by
	// the replicas that it asks.
	seen int64
	// doubt is an acknowledgement of an earlier era, which that may not have kept.
	doubt *sight
}

// sight is the knowledge of a process: a number of writes of an era.
type sight struct {
	id   string
	seen int64
}

// now returns the era at hand, and its known writes.
func (p *place) now() sight {
	p.mu.Lock()
	defer p.mu.Unlock()
	return sight{p.id, p.seen}
}

// claim returns the writes that a server has to prove that it has.
func (p *place) claim() sight {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doubt != nil {
		return *p.doubt
	}
	return sight{p.id, p.seen}
}

// saw takes an acknowledgement, and reports whether the era is still the same.
func (p *place) saw(s sight) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id == s.id {
		p.seen = max(p.seen, s.seen)
		return true
	}
	p.doubt = &s
	return false
}

// turn takes the era that a server is of now, which has proved a claim. Later
// acknowledgements stay in doubt.
func (p *place) turn(proved, now sight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doubt != nil && *p.doubt == proved {
		p.doubt = nil
	}
	if old := (sight{p.id, p.seen}); p.id == proved.id && p.id != now.id && p.seen > proved.seen {
		p.doubt = &old
	}
	p.id, p.seen = now.id, now.seen
}

// found is a server's answer about its era.
type found struct {
	sight
	lost  string // the losses that were not accepted
	ended int64  // how many writes the era that was asked about had; -1 when it is not known
	// format of the store, 0 for the first.
	format int
}

// same reports whether all that was seen is still there, in the same era.
func (f *found) same(s sight) bool { return f.lost == "" && f.id == s.id && f.seen >= s.seen }

// gone describes the missing writes, or is empty.
func (f *found) gone(s sight) string {
	switch {
	case f.lost != "":
		return f.lost
	case s.seen == 0 || f.id != s.id && f.ended >= s.seen || f.same(s):
		return ""
	case f.id != s.id && f.ended < 0:
		return fmt.Sprintf("it does not know the era %s, which had %d writes", s.id, s.seen)
	case f.id != s.id:
		return fmt.Sprintf("%d writes were seen of the era %s, and it has %d", s.seen, s.id, f.ended)
	default:
		return fmt.Sprintf("%d writes were seen, and it has %d", s.seen, f.seen)
	}
}

var errClosed = fmt.Errorf("%w: the store is closed", store.ErrUnavailable)

// doer is a client or one of its connections.
type doer interface {
	EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
}

// eras asks a server for the era of a place.
func eras(ctx context.Context, db doer, key, verb string, s sight, loss string) (found, error) {
	args := []any{verb, s.id, s.seen, rand.Text()[:12], loss}
	reply, err := db.EvalSha(ctx, eraScript.text().sha, []string{key}, args...).Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = db.Eval(ctx, eraScript.text().source, []string{key}, args...).Result()
	}
	if err != nil {
		return found{}, err
	}
	answer, _ := reply.([]any)
	if len(answer) != 5 {
		return found{}, fmt.Errorf("the script answered %v", reply)
	}
	f := found{ended: -1}
	f.id, _ = answer[0].(string)
	if f.id != "" { // of an era without a name no process has seen a write that it could lose
		f.seen = number(answer, 1)
	}
	f.lost, _ = answer[2].(string)
	if text, _ := answer[3].(string); text != "" {
		f.ended, err = strconv.ParseInt(text, 10, 64)
	}
	f.format = int(number(answer, 4))
	return f, err
}

// meet lets a new connection in when its server is of the era that is known, and
// makes the store turn when it is not.
func (s *Store) meet(ctx context.Context, conn *redis.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, eraWait)
	defer cancel()
	for {
		saw := s.place.claim()
		f, err := eras(ctx, conn, s.place.key, "look", saw, "")
		if redis.HasErrorPrefix(err, "unknown command") {
			return nil // a sentinel, which keeps no data
		}
		if err != nil {
			return err
		}
		if f.same(saw) && f.format <= s.config.formats.Newest {
			return nil
		}
		if err := s.lookAgain(ctx); err != nil {
			return err
		}
	}
}

// lookAgain wakes the watch, and returns when it has looked; why when the store is lost
// or the turn that follows ends the caller's work.
func (s *Store) lookAgain(ctx context.Context) error {
	looked := make(chan struct{})
	select {
	case s.look <- looked:
	case <-s.closing:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrTurned, ctx.Err())
	}
	select {
	case <-looked:
		return s.gate.Lost()
	case <-s.closing:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrTurned, ctx.Err())
	}
}

// lookSoon wakes the watch, unless it is looking.
func (s *Store) lookSoon() {
	select {
	case s.look <- nil:
	default:
	}
}

// eraWatcher notices new eras of the server.
type eraWatcher struct{ *Store }

// watchEras looks which era the server is of, now and then and when it is asked to.
func (w *eraWatcher) watchEras() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.work.Go(func() {
		<-w.closing
		cancel()
	})
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		var asked chan struct{}
		select {
		case <-tick.C:
		case asked = <-w.look:
		case <-w.closing:
			return
		}
		w.lookAround(ctx)
		if asked != nil {
			close(asked)
		}
	}
}

// lookAround compares the server's writes with the known ones, and acts. A server that
// cannot be reached gives no answer.
func (w *eraWatcher) lookAround(ctx context.Context) {
	lost, saw := w.gate.Lost() != nil, w.place.claim()
	f, gone, err := w.lookAt(ctx, saw)
	switch {
	case err != nil:
	case f.format > w.config.formats.Newest:
		w.outdate(ctx, f.format)
	case gone != "":
		w.lose(ctx, gone)
	case lost || !f.same(saw):
		w.begins(ctx, saw, f.sight)
	}
}

// lookAt asks for the era of the server. Losses are kept there, for all to see; gone
// describes them, unless it may be accepted at once.
func (s *Store) lookAt(ctx context.Context, saw sight) (f found, gone string, err error) {
	f, err = eras(ctx, s.probe, s.place.key, "look", saw, "")
	if gone = f.gone(saw); err != nil || gone == "" {
		return f, "", err
	}
	if f.lost == "" {
		if f, err = eras(ctx, s.probe, s.place.key, "condemn", saw, gone); err != nil {
			return f, "", err
		}
	}
	if !s.config.ContinueAfterRollback {
		return f, gone, nil
	}
	s.config.Logger.ErrorContext(ctx, "THE STORE HAS GONE BACK IN TIME; --on-rollback=continue accepts that", "lost", gone)
	f, err = eras(ctx, s.probe, s.place.key, "accept", saw, "")
	return f, "", err
}

// begins begins a new era in this process, when all work of the one before has ended.
func (w *eraWatcher) begins(ctx context.Context, claim, now sight) {
	open, err := w.gate.Turn(ctx)
	if err == nil {
		w.config.Logger.WarnContext(ctx, "the store begins a new era: cached values are dropped", "era", now.id)
		w.place.turn(claim, w.trusted(now))
	}
	open()
}

// trusted returns the part of a server's answer that a failover cannot take back: when
// replicas have to confirm writes, those that it has may not be confirmed yet.
func (w *eraWatcher) trusted(now sight) sight {
	if w.config.Wait > 0 {
		now.seen = 0
	}
	return now
}

// lose refuses every call from now on, until an operator has accepted the loss.
func (s *Store) lose(ctx context.Context, loss string) {
	if s.gate.Lost() != nil {
		return
	}
	s.config.Logger.ErrorContext(ctx, "THE STORE HAS GONE BACK IN TIME and is not used; restore it, or run: interlock store accept-rollback", "lost", loss)
	s.gate.Lose(&store.RolledBackError{Lost: loss})
}

// Gate returns where work begins that must not continue in another era.
func (s *Store) Gate() *store.Gate { return s.gate }

// AcceptRollback lets a store be used that has gone back in time. It returns the losses,
// none when the store has not gone back.
func AcceptRollback(ctx context.Context, config Config) (lost []string, err error) {
	config.AllowLossy = true
	s, err := openStore(ctx, config)
	if err != nil {
		return nil, err
	}
	f, err := eras(ctx, s.probe, s.place.key, "look", sight{}, "")
	if err == nil && f.lost != "" {
		lost = append(lost, f.lost)
		_, err = eras(ctx, s.probe, s.place.key, "accept", sight{}, "")
	}
	if err != nil {
		return lost, errors.Join(readError(ctx, "accept a rollback", err), s.Close())
	}
	return lost, s.Close()
}
