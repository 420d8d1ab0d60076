package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/interlock-run/interlock/pkg/auth"
)

// Client is this installation as the issuer knows it, for people who sign in with a browser.
type Client struct {
	// ID is the client id; the authenticator's audience when it is empty.
	ID string
	// Secret is empty for a public client.
	Secret string
	// RedirectURL is where the issuer sends browsers back to.
	RedirectURL string
	// Scopes are requested in addition to openid.
	Scopes []string
}

// SignIn lets people sign in at the issuer: the authorization code flow with PKCE.
type SignIn struct {
	client Client
	issuer *Authenticator

	mu       sync.Mutex
	provider *coreos.Provider
	asked    time.Time // when provider was
}

// SignIn makes the flow of a client. It does not call the issuer.
func (a *Authenticator) SignIn(client Client) (*SignIn, error) {
	client.ID = cmp.Or(client.ID, a.cfg.Audience)
	if err := checkURL(client.RedirectURL); err != nil {
		return nil, fmt.Errorf("the URL that browsers come back to: %w", err)
	}
	return &SignIn{client: client, issuer: a}, nil
}

// Attempt is the record of a user who was sent to the issuer. A holder of it can finish the
// attempt, so it belongs into that browser alone, sealed.
type Attempt struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
}

// Token is one that the issuer gave, and until when it is good.
type Token struct {
	Text    string
	Expires time.Time
}

// Begin returns the URL that a browser is sent to.
func (s *SignIn) Begin(ctx context.Context) (string, Attempt, error) {
	flow, err := s.flow(ctx)
	if err != nil {
		return "", Attempt{}, err
	}
	a := Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return flow.AuthCodeURL(a.State, coreos.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), a, nil
}

// Finish takes the parameters that a browser came back with, and returns the tokens that the
// issuer gives for it: the ID token, and the access token, which need not be for this
// installation. The error is ErrUnauthenticated when the attempt is another's or the issuer
// refuses it.
func (s *SignIn) Finish(ctx context.Context, a Attempt, state, code string) ([]Token, error) {
	if a.State == "" || code == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1 {
		return nil, auth.Refused("it was begun elsewhere")
	}
	flow, err := s.flow(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(coreos.ClientContext(ctx, s.issuer.keys.client), patience)
	defer cancel()
	given, err := flow.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if refusal := (*oauth2.RetrieveError)(nil); errors.As(err, &refusal) && refusal.Response != nil && refusal.Response.StatusCode < http.StatusInternalServerError {
		return nil, auth.Refused("the issuer refuses it: %s", clip(cmp.Or(refusal.ErrorCode, refusal.Response.Status)))
	}
	if err != nil {
		return nil, fmt.Errorf("ask the issuer %s for tokens: %s", s.issuer.cfg.Issuer, clip(err.Error()))
	}
	text, _ := given.Extra("id_token").(string)
	id, err := s.issuer.verify(ctx, text, s.client.ID)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.Nonce)) != 1 {
		return nil, auth.Refused("its token is of another attempt")
	}
	tokens := []Token{{Text: text, Expires: id.Expiry}}
	if given.AccessToken != "" {
		tokens = append(tokens, Token{Text: given.AccessToken, Expires: given.Expiry})
	}
	return tokens, nil
}

// flow returns the endpoints of the issuer. It asks again when they are old.
func (s *SignIn) flow(ctx context.Context) (*oauth2.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.issuer.now(); s.provider == nil || now.Sub(s.asked) >= refreshAge {
		ctx, cancel := context.WithTimeout(coreos.ClientContext(ctx, s.issuer.keys.client), patience)
		defer cancel()
		provider, err := coreos.NewProvider(ctx, s.issuer.cfg.Issuer)
		if err != nil {
			return nil, fmt.Errorf("discover the issuer %s: %s", s.issuer.cfg.Issuer, clip(err.Error()))
		}
		for _, at := range []string{provider.Endpoint().AuthURL, provider.Endpoint().TokenURL} {
			if err := checkURL(at); err != nil {
				return nil, fmt.Errorf("where the issuer %s signs people in: %w", s.issuer.cfg.Issuer, err)
			}
		}
		s.provider, s.asked = provider, now
	}
	return &oauth2.Config{
		ClientID: s.client.ID, ClientSecret: s.client.Secret, RedirectURL: s.client.RedirectURL,
		Endpoint: s.provider.Endpoint(), Scopes: append([]string{coreos.ScopeOpenID}, s.client.Scopes...),
	}, nil
}
