package policystore

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/catalog"
)

// Accept makes signatures by one of these keys a condition of sets, and calls applied with the time of each application. It is
// called before the first request; without keys, sets need no signature.
func (st *Store) Accept(keys bundle.Keys, applied func(time.Time)) {
	st.signers, st.applied = keys, applied
}

// statement is the signed statement that a set rests on; zero for none.
type statement struct {
	serial int64
	digest string
}

// signed checks that a signed statement says exactly what the set gets, where the deployment wants one (S26.8).
func (st *Store) signed(a *applying, before catalog.Set) (statement, error) {
	if len(st.signers) == 0 {
		return statement{serial: before.Serial}, nil // no older statement counts after a time without keys
	}
	refuse := func(format string, args ...any) (statement, error) {
		return statement{}, fault.New(fault.FailedPrecondition, "set %s was not applied, and stays as it is: its bundle does not count: "+format, append([]any{a.Name}, args...)...).
			Violate("/bundle", "SIGNATURE", "sign the folder as it is with `interlock bundle sign`, and apply it again")
	}
	s, digest, err := st.signers.Open(a.Bundle)
	if err != nil {
		return refuse("%s", err)
	}
	if err := s.Fits(a.caller.Namespace, a.Name, st.clock()); err != nil {
		return refuse("%s", err)
	}
	if s.Serial < before.Serial || s.Serial == before.Serial && before.Bundle != "" && digest != before.Bundle {
		return refuse("its serial is %d, and serial %d was applied before; sign the set again", s.Serial, before.Serial)
	}
	if differences := s.Differs(a.gets()); len(differences) > 0 {
		return refuse("%s", strings.Join(differences, "; "))
	}
	return statement{s.Serial, digest}, nil
}

// gets returns the objects that the set has after the application, as statements name them. One that no change is about has
// another content than any.
func (a *applying) gets() []bundle.Object {
	var all []bundle.Object
	for object, status := range a.objects {
		o := bundle.Object{Kind: string(object.Kind), Name: object.Name}
		i := slices.IndexFunc(a.Changes, func(c SetChange) bool { return c.Object == object })
		if i >= 0 {
			o.Digests = []string{status.Digest}
			if c := &a.Changes[i]; c.Attached {
				to := []string{}
				for _, one := range c.Attachments {
					to = append(to, string(one.Kind)+":"+one.ID)
				}
				o.Attachments = &to
			}
		}
		all = append(all, o)
	}
	return all
}
