package access

import (
	"context"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// One principal has its share, agents leave a tenth to people, and a place that is given back
// is free, once.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := &Places{What: "event streams", Flag: "streams-per-principal", Total: 20, Each: 6}
	as := func(name string, role auth.Role) context.Context {
		return context.WithValue(t.Context(), callerKey{}, Caller{Principal: auth.Principal{Name: name, Role: role}})
	}
	take := func(ctx context.Context, want int) (give func()) {
		t.Helper()
		got := 0
		for {
			one, err := p.Take(ctx)
			if err != nil {
				if fault.ReasonOf(err) != fault.QuotaExceeded || !strings.Contains(err.Error(), "event streams") {
					t.Error(err)
				}
				break
			}
			give = one
			got++
		}
		if got != want {
			t.Errorf("%d places, want %d", got, want)
		}
		return give
	}
	give := take(as("a", auth.Agent), 6)
	take(as("b", auth.Agent), 6)
	take(t.Context(), 6) // nobody that is known here
	take(as("c", auth.Agent), 0)
	give()
	give()
	take(as("c", auth.Agent), 1)
	take(as("olga", auth.Operator), 2)
}
