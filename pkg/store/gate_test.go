package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/interlock-run/interlock/pkg/store"
)

// A turn ends the earlier work, waits until it has left, and only then drops
// cached values: so work that caches its reads as it leaves is covered.
func TestGateTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := store.NewGate()
		cached := ""
		g.OnTurn(func() { cached = "" })
		work, leave, err := g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		within, leaveWithin, err := g.Enter(context.WithoutCancel(work))
		if err != nil || g.Pass(work) != nil {
			t.Fatalf("work within work: %v", err)
		}
		turned := make(chan func())
		go func() {
			open, err := g.Turn(t.Context())
			if err != nil {
				t.Error(err)
			}
			turned <- open
		}()
		<-work.Done()
		<-within.Done()
		leave()
		synctest.Wait()
		if _, _, err := g.Enter(context.WithoutCancel(work)); !errors.Is(err, store.ErrTurned) {
			t.Errorf("work of before begins more: %v", err)
		}
		if err := g.Pass(within); !errors.Is(err, store.ErrTurned) || !store.Turned(within) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("work of before may use the store: %v", err)
		}
		entered := make(chan struct{})
		go func() {
			after, leave, err := g.Enter(t.Context())
			if err != nil || cached != "" || store.Turned(after) {
				t.Errorf("work after a turn finds %q, %v", cached, err)
			}
			leave()
			close(entered)
		}()
		synctest.Wait()
		cached = "read before"
		leaveWithin()
		open := <-turned
		open()
		<-entered
		if err := g.Pass(work); !errors.Is(err, store.ErrTurned) {
			t.Errorf("work of before may use the store after the turn: %v", err)
		}
		if err := g.Pass(t.Context()); err != nil || store.Works(t.Context()) || !store.Works(work) {
			t.Errorf("a call of no work: %v", err)
		}
	})
}

func TestGateOfALostStore(t *testing.T) {
	t.Parallel()
	g := store.NewGate()
	g.Lose(&store.RolledBackError{Lost: "2 writes"})
	var gone *store.RolledBackError
	if err := g.Pass(t.Context()); !errors.As(err, &gone) || g.Lost() == nil {
		t.Errorf("a store that is lost may be used: %v", err)
	}
	open, err := g.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open()
	if err := g.Pass(t.Context()); err != nil || g.Lost() != nil {
		t.Errorf("it stays lost: %v", err)
	}
}

func TestNoGate(t *testing.T) {
	t.Parallel()
	var g *store.Gate
	g.OnTurn(nil)
	ctx, leave, err := g.Enter(t.Context())
	leave()
	if err != nil || ctx != t.Context() {
		t.Errorf("entered nothing: %v", err)
	}
}
