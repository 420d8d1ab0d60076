package consent_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/consent"
)

// A danger that nobody knows is above all others, and none is medium: relays decide neither by mistake (S23.35).
func TestDanger(t *testing.T) {
	t.Parallel()
	order := []consent.Danger{consent.Low, consent.Medium, consent.High, "extreme"}
	for i, a := range order {
		for j, b := range order {
			if got := a.Above(b); got != (i > j) {
				t.Errorf("%q above %q: %v", a, b, got)
			}
		}
	}
	none := consent.Danger("")
	if !none.Above(consent.Low) || none.Above(consent.Medium) || !consent.High.Above(none) {
		t.Error("no danger is not medium")
	}
	for _, tc := range []struct{ of, term, want consent.Danger }{
		{"", "", ""}, {"", consent.High, consent.High}, {"", consent.Low, ""}, {consent.High, consent.Low, consent.High}, {consent.Low, consent.Medium, consent.Medium},
	} {
		if got := (consent.Terms{Danger: tc.of}).With(consent.Circle{Danger: tc.term}).Danger; got != tc.want {
			t.Errorf("%q with a term of %q is %q, want %q", tc.of, tc.term, got, tc.want)
		}
	}
}
