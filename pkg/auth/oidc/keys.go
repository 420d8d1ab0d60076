package oidc

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	// refreshAge is how old keys are when new ones are fetched in the background.
	refreshAge = 10 * time.Minute
	// maxAge is how long keys count without the issuer being reached: that long a
	// key that it has withdrawn may still sign.
	maxAge = time.Hour
	// pause is the least time between two attempts to fetch keys: requests of callers
	// must not become a flood at the issuer.
	pause = 5 * time.Second
	// patience is how long one attempt may take.
	patience = 5 * time.Second
	// minRSA is the fewest bits of an RSA key (NIST SP 800-131A).
	minRSA = 2048
)

// errNoKey means that the issuer was asked, lately, and has no such key.
var errNoKey = errors.New("oidc: no such key")

// keys are an issuer's, fetched when they are needed.
type keys struct {
	issuer string
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex
	set     []jose.JSONWebKey
	fetched time.Time // when set was asked for
	tried   time.Time // when the last attempt began
	failed  error     // of the last attempt
	attempt chan struct{}
}

// find returns the keys that may have signed a token that names this key and algorithm; a
// token may name no key. It waits for the issuer only when there are none.
func (k *keys) find(ctx context.Context, id, algorithm string) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	found := k.matching(id, algorithm)
	if len(found) > 0 && k.now().Sub(k.fetched) < refreshAge {
		k.mu.Unlock()
		return found, nil
	}
	attempt := k.fetch()
	k.mu.Unlock()
	if len(found) > 0 {
		return found, nil
	}
	if attempt != nil {
		select {
		case <-attempt:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the issuer's keys: %w", ctx.Err())
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if found := k.matching(id, algorithm); len(found) > 0 {
		return found, nil
	}
	if k.failed != nil {
		return nil, k.failed
	}
	return nil, errNoKey
}

// matching needs the lock.
func (k *keys) matching(id, algorithm string) (found []jose.JSONWebKey) {
	if k.now().Sub(k.fetched) >= maxAge {
		return nil
	}
	for _, key := range k.set {
		if (id == "" || key.KeyID == id) && (key.Algorithm == "" || key.Algorithm == algorithm) {
			found = append(found, key)
		}
	}
	return found
}

// fetch begins an attempt unless one is under way; the channel is closed when it
// has ended. It is nil when it is too early for another. It needs the lock.
func (k *keys) fetch() <-chan struct{} {
	if k.attempt != nil {
		return k.attempt
	}
	begin := k.now()
	if !k.tried.IsZero() && begin.Sub(k.tried) < pause {
		return nil
	}
	done := make(chan struct{})
	k.tried, k.attempt = begin, done
	go func() {
		// Of no caller: others wait for it too.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		set, err := download(ctx, k.client, k.issuer)
		k.mu.Lock()
		defer k.mu.Unlock()
		if err == nil {
			k.set, k.fetched = set, begin
		}
		k.failed, k.attempt = err, nil
		close(done)
	}()
	return done
}

// download asks the issuer where its keys are, and for them.
func download(ctx context.Context, client *http.Client, issuer string) ([]jose.JSONWebKey, error) {
	provider, err := coreos.NewProvider(coreos.ClientContext(ctx, client), issuer)
	if err != nil {
		// The error may quote a whole answer.
		return nil, fmt.Errorf("discover the issuer %s: %s", issuer, clip(err.Error()))
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, fmt.Errorf("discover the issuer %s: %w", issuer, err)
	}
	if err := checkURL(document.Keys); err != nil {
		return nil, fmt.Errorf("the keys of the issuer %s: %w", issuer, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, document.Keys, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("the keys of the issuer %s: %w", issuer, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get the keys of the issuer %s: %w", issuer, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get the keys of the issuer %s: %s", issuer, resp.Status)
	}
	var body struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return nil, fmt.Errorf("read the keys of the issuer %s: %w", issuer, err)
	}
	set := usable(body.Keys)
	if len(set) == 0 {
		return nil, fmt.Errorf("the issuer %s has no key that signs tokens", issuer)
	}
	return set, nil
}

// usable returns the public keys for signatures. Kinds that are not known here may be
// among an issuer's others.
func usable(all []json.RawMessage) (set []jose.JSONWebKey) {
	for _, raw := range all {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) != nil || !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
			continue
		}
		if public, ok := key.Key.(*rsa.PublicKey); ok && public.N.BitLen() < minRSA {
			continue
		}
		set = append(set, key)
	}
	return set
}
