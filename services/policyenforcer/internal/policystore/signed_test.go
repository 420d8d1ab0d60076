package policystore_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// TestOlderStatement: an older statement does not count, also after a set was applied by a server without keys (S26.8).
func TestOlderStatement(t *testing.T) {
	t.Parallel()
	private, public, err := receipt.NewKey(rand.NewChaCha8([32]byte{1}))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := receipt.ReadSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := bundle.ReadKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	everywhere(t, func(r *rig) {
		r.staged("a", "tool:A")
		r.staged("a", "tool:B")
		versions, err := r.Get(r.Context(), enforcertest.Namespace, "a", 1)
		if err != nil {
			r.Fatal(err)
		}
		apply := func(expected, live, version, serial int64) string {
			signed, err := bundle.Sign(&bundle.Statement{
				Set: "s", Namespace: enforcertest.Namespace, Serial: serial, NotAfter: r.Clock.Now().Add(time.Hour),
				Objects: []bundle.Object{{Kind: "policy", Name: "a", Digests: []string{versions.Digest}}},
			}, signer)
			if err != nil {
				r.Fatal(err)
			}
			_, _, err = r.Apply(r.Context(), enforcertest.Operator, &policystore.Application{
				Name: "s", Expected: expected, Changes: []policystore.SetChange{policyChange("a", live, version)}, Bundle: signed,
			})
			if err != nil {
				return err.Error()
			}
			return ""
		}
		r.Accept(keys, func(time.Time) {})
		if refused := apply(0, 0, 1, 5); refused != "" {
			r.Fatal(refused)
		}
		r.Accept(nil, nil)
		if refused := apply(1, 1, 2, 1); refused != "" { // its bundle does not matter
			r.Fatal(refused)
		}
		r.Accept(keys, func(time.Time) {})
		if refused := apply(2, 2, 1, 4); !strings.Contains(refused, "serial 5 was applied before") {
			r.Errorf("an older statement: %q", refused)
		}
		if refused := apply(2, 2, 1, 5); refused != "" { // as it was signed
			r.Error(refused)
		}
	})
}
