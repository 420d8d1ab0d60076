package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

func TestOnlyKnownCallersAreRead(t *testing.T) {
	t.Parallel()
	tokens, err := auth.ParseTokens([]byte(`{"agent":"0123456789abcdef0123456789abcdef"}`))
	if err != nil {
		t.Fatal(err)
	}
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, c := range []struct {
		cfg           Config
		authorization string
		want          int
	}{
		{Config{Tokens: tokens}, "", http.StatusUnauthorized},
		{Config{Tokens: tokens}, "Bearer wrong", http.StatusUnauthorized},
		{Config{Tokens: tokens}, "Basic 0123456789abcdef0123456789abcdef", http.StatusUnauthorized},
		{Config{Tokens: tokens}, "Bearer 0123456789abcdef0123456789abcdef", http.StatusNoContent},
		{Config{}, "", http.StatusNoContent}, // the services judge
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/hook", nil)
		r.Header.Set("Authorization", c.authorization)
		w := httptest.NewRecorder()
		known(c.cfg, next).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%q: %d, want %d", c.authorization, w.Code, c.want)
		}
	}
}
