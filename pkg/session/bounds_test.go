package session_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/session"
)

func listedID(id string) bool { return strings.HasPrefix(id, "stok_") }

// S22.21: which tokens count, by the records of their sessions.
func TestStandingOfTokens(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	listed := func(id, via string, issued int) session.Token {
		return session.Token{ID: id, Session: "s", Via: via, ViaIssuedAt: at(0), IssuedAt: at(issued), Expires: at(100), Only: json.RawMessage(`["` + id + `"]`)}
	}
	revoked := listed("stok_3", "", 1)
	revoked.RevokedAt, revoked.RevokedBy = at(2), "olga"
	below := session.Bound{Session: "s", Bounds: session.Bounds{Tokens: []session.Token{
		listed("stok_1", "", 1), listed("stok_2", "stok_1", 2), revoked, listed("stok_4", "stok_3", 1), listed("stok_5", "tok_1", 1), listed("stok_6", "tok_2", 1), listed("stok_7", "stok_7", 1),
	}}}
	top := session.Bound{Session: "top", Bounds: session.Bounds{Revoked: []session.RevokedToken{{ID: "tok_1", By: "olga", Until: at(100)}}}}
	all := session.Bound{Session: "top", Bounds: session.Bounds{TokensAfter: at(1)}}
	holder := func(id string, issued int) session.Holder {
		return session.Holder{ID: id, IssuedAt: at(issued), Session: "s", Expires: at(100)}
	}
	wider := holder("stok_1", 1)
	wider.Session = "top"
	longer := holder("stok_1", 1)
	longer.Expires = at(101)
	for name, tt := range map[string]struct {
		lineage []session.Bound
		holder  session.Holder
		only    []string
		why     string
	}{
		"listed":                         {[]session.Bound{top, below}, holder("stok_1", 1), []string{"stok_1"}, ""},
		"minted with another":            {[]session.Bound{top, below}, holder("stok_2", 2), []string{"stok_2", "stok_1"}, ""},
		"revoked":                        {[]session.Bound{top, below}, holder("stok_3", 1), nil, `"olga" has revoked it`},
		"with a revoked one":             {[]session.Bound{top, below}, holder("stok_4", 1), nil, `"olga" has revoked it`},
		"with one that is not listed":    {[]session.Bound{top, below}, holder("stok_6", 1), []string{"stok_6"}, ""},
		"with that, revoked":             {[]session.Bound{top, below}, holder("stok_5", 1), nil, `"olga" has revoked it`},
		"with itself":                    {[]session.Bound{below}, holder("stok_7", 1), nil, "in a row"},
		"not listed":                     {[]session.Bound{top, below}, holder("tok_9", 1), nil, ""},
		"not listed, revoked":            {[]session.Bound{top, below}, holder("tok_1", 1), nil, `"olga" has revoked it`},
		"unknown":                        {[]session.Bound{top, below}, holder("stok_9", 1), nil, "no session that it is for lists it"},
		"without any record":             {nil, holder("stok_1", 1), nil, "no session that it is for lists it"},
		"of another session":             {[]session.Bound{below}, wider, nil, "not the one that was minted"},
		"that ends later":                {[]session.Bound{below}, longer, nil, "not the one that was minted"},
		"all revoked, in that moment":    {[]session.Bound{all, below}, holder("stok_1", 1), nil, "all tokens of session"},
		"all revoked, and a later token": {[]session.Bound{all, below}, holder("tok_9", 2), nil, ""},
		"all revoked, not listed":        {[]session.Bound{all}, holder("tok_9", 1), nil, "all tokens of session"},
		"with one of before that":        {[]session.Bound{all, below}, holder("stok_2", 2), nil, "all tokens of session"},
	} {
		only, why := session.StandingOf(tt.lineage, tt.holder, listedID)
		if (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) || len(only) != len(tt.only) {
			t.Errorf("%s: %s, %q; want %q", name, only, why, tt.why)
			continue
		}
		for i := range only {
			if string(only[i]) != `["`+tt.only[i]+`"]` {
				t.Errorf("%s: %s", name, only)
			}
		}
	}
}

// S22.20: a record lists a bounded number of tokens, and forgets those that have expired.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &session.Session{ID: "ses_1", Name: "s"}
	clock := session.Clock{Now: noon}
	mint := func(id string, only int) error {
		r, err := s.Mint(session.Token{ID: id, IssuedAt: clock.Now, Expires: clock.Now.Add(time.Hour), Only: json.RawMessage(strings.Repeat(" ", only))}, clock)
		if err == nil {
			s = r.Session
		}
		return err
	}
	for n := range session.MostTokens {
		if err := mint("stok_"+string(rune('A'+n)), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := mint("stok_over", 0); err == nil || !strings.Contains(err.Error(), "64 tokens") {
		t.Errorf("one more: %v", err)
	}
	r, err := s.RevokeToken("stok_A", "olga", true, time.Hour, clock)
	if err != nil {
		t.Fatal(err)
	}
	s = r.Session
	if err := mint("stok_instead", 0); err != nil || slices.ContainsFunc(s.Tokens, func(t session.Token) bool { return t.ID == "stok_A" }) {
		t.Errorf("in place of a revoked one: %v", err)
	}
	clock.Now = noon.Add(2 * time.Hour)
	if err := mint("stok_later", 64<<10); err != nil || len(s.Tokens) != 1 {
		t.Errorf("after their end: %v, %d", err, len(s.Tokens))
	}
	if err := mint("stok_wide", 1); err == nil || !strings.Contains(err.Error(), "bytes together") {
		t.Errorf("too many entries: %v", err)
	}
}
