package policystore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

var someNames = []string{"ann", "Ann", "bob", "finance", "support"}

func someAttachments() *rapid.Generator[map[string][]policystore.Attachment] {
	return rapid.Custom(func(t *rapid.T) map[string][]policystore.Attachment {
		all := map[string][]policystore.Attachment{}
		for i := range rapid.IntRange(0, 6).Draw(t, "policies") {
			all[fmt.Sprintf("p%d", i)] = []policystore.Attachment{{
				Kind: rapid.SampledFrom([]policystore.AttachmentKind{
					policystore.AttachedToHuman, policystore.AttachedToGroup, policystore.AttachedToPrincipal, policystore.AttachedToEveryone,
				}).Draw(t, "kind"),
				ID: rapid.SampledFrom(someNames).Draw(t, "id"),
			}}
		}
		return all
	})
}

func someHuman() *rapid.Generator[*auth.Human] {
	return rapid.Custom(func(t *rapid.T) *auth.Human {
		return &auth.Human{
			Name: rapid.SampledFrom(someNames).Draw(t, "name"), Source: rapid.SampledFrom(auth.Sources()).Draw(t, "source"),
			Groups: rapid.SliceOfNDistinct(rapid.SampledFrom(someNames), 0, 3, rapid.ID).Draw(t, "groups"), GroupsKnown: rapid.Bool().Draw(t, "known"),
		}
	})
}

func within(few, many []string) bool {
	return !slices.ContainsFunc(few, func(name string) bool { return !slices.Contains(many, name) })
}

// S22.10, S22.11: more attachments judge no call by fewer policies, and so never allow more; neither does a human of whom less is known: nobody, one
// who is claimed, whose facts have ended, or whose groups are not known.
func TestDoubtAndAttachmentsOnlyAddPolicies(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	randtest.Check(t, func(t *rapid.T) {
		attached, human := someAttachments().Draw(t, "attached"), someHuman().Draw(t, "human")
		caller := auth.Principal{Name: rapid.SampledFrom(someNames).Draw(t, "principal"), Role: auth.Agent}
		index := policystore.IndexOf(attached)
		judged := index.OnBehalf(caller, []*auth.Human{human}, now)

		more := map[string][]policystore.Attachment{}
		for name, to := range someAttachments().Draw(t, "more") {
			more["more-"+name] = to
		}
		for name, to := range attached {
			more[name] = append(slices.Clone(to), more["more-"+name]...)
		}
		if got := policystore.IndexOf(more).OnBehalf(caller, []*auth.Human{human}, now); !within(judged, got) {
			t.Fatalf("with more attachments %v judge, before %v", got, judged)
		}
		less := map[string]*auth.Human{"claimed": new(*human), "ended": new(*human), "of unknown groups": new(*human)}
		less["claimed"].Source, less["ended"].Expires = auth.Claimed, now
		less["of unknown groups"].Groups, less["of unknown groups"].GroupsKnown = nil, false
		for what, h := range less {
			if got := index.OnBehalf(caller, []*auth.Human{h}, now); !within(judged, got) {
				t.Fatalf("%s: %v judge, and %v of the known", what, got, judged)
			}
		}
		if got := index.OnBehalf(caller, nil, now); !within(judged, got) {
			t.Fatalf("for nobody %v judge, and %v of the known", got, judged)
		}
		two := []*auth.Human{human, someHuman().Draw(t, "another")}
		if got := index.OnBehalf(caller, two, now); !within(judged, got) {
			t.Fatalf("for two people %v judge, and %v of the first", got, judged)
		}
	})
}
