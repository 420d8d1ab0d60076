package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// profiles writes profiles of the processor time and the allocations of the services under 64 callers.
func (b *bencher) profiles(ctx context.Context) error {
	if err := os.MkdirAll(b.profile, 0o755); err != nil {
		return err
	}
	b.callers = []int{64}
	for _, backend := range []string{"redis", "sqlite"} {
		if b.only != "" && b.only != backend {
			continue
		}
		if err := b.onStage(backend, func(s *stage) error { return b.profileOf(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *bencher) profileOf(ctx context.Context, s *stage) error {
	servers, err := s.serveTo(64, roleInterlock)
	if err != nil {
		return err
	}
	loads, err := gate(ctx, 64, servers[0], servers[0], servers[0])
	if err != nil {
		return err
	}
	more, err := s.atSixtyFour(ctx, servers[0], servers[0])
	if err != nil {
		return err
	}
	loads = append(loads, more...)
	for _, l := range loads {
		l.callers, l.calls = 64, max(1, l.calls)
	}
	for _, name := range []string{
		plainCheck, "check, limits of a policy", "check, streamed", "check, 16 a message", "transition", "patch of 1 KB",
	} {
		l := find(loads, name)
		file := filepath.Join(b.profile, s.backend+"-"+strings.NewReplacer(", ", "-", " ", "-").Replace(name))
		failed := make(chan error, 1)
		const seconds = 4
		go func() {
			time.Sleep(500 * time.Millisecond) // the load warms up
			var kinds sync.WaitGroup
			var errs [2]error
			for i, kind := range []string{"profile", "allocs"} {
				kinds.Go(func() {
					url := fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", servers[0].Admin, kind, seconds)
					errs[i] = fetch(ctx, url, file+"."+kind)
				})
			}
			kinds.Wait()
			failed <- errors.Join(errs[:]...)
		}()
		err := measure(ctx, []*load{l}, 1, (seconds+1)*time.Second)
		if err := errors.Join(err, <-failed); err != nil {
			return err
		}
		fmt.Printf("%s: %.0f calls/s, %.1f us of the server each\n", file, l.of(rate), l.serverTime())
	}
	return nil
}

func fetch(ctx context.Context, url, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
