package policystore

import (
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
)

// leastSource is the least trusted source of a person's facts that an attachment counts as known. What an agent claims
// about its human takes no policy away.
const leastSource = auth.Gateway

// ofCaller gives the policies that are attached to everyone, the principal, the people on whose behalf it calls and
// their groups. In doubt about a person or their groups, it gives all that are attached to any (S22.11).
func (x *Index) ofCaller(p auth.Principal, people []*auth.Human, now time.Time, give func(kind AttachmentKind, id string, names ...string)) {
	give(AttachedToEveryone, "", x.attachedTo(AttachedToEveryone, Anyone)...)
	give(AttachedToPrincipal, p.Name, x.attachedTo(AttachedToPrincipal, p.Name)...)
	if len(x.kinds[AttachedToHuman])+len(x.kinds[AttachedToGroup]) == 0 {
		return
	}
	everyHuman, everyGroup := len(people) == 0, len(people) == 0
	for _, h := range people {
		if !known(h, now) {
			everyHuman, everyGroup = true, true
			continue
		}
		give(AttachedToHuman, h.Name, x.attachedTo(AttachedToHuman, h.Name)...)
		for _, group := range h.Groups {
			give(AttachedToGroup, group, x.attachedTo(AttachedToGroup, group)...)
		}
		everyGroup = everyGroup || !h.GroupsKnown
	}
	if everyHuman {
		give(AttachedToHuman, "", x.kinds[AttachedToHuman]...)
	}
	if everyGroup {
		give(AttachedToGroup, "", x.kinds[AttachedToGroup]...)
	}
}

// known reports whether it is certain who a person is.
func known(h *auth.Human, now time.Time) bool {
	return h.Name != "" && h.Source.AtLeast(leastSource) && (h.Expires.IsZero() || now.Before(h.Expires))
}

// reason says why an attached policy applies.
func reason(kind AttachmentKind, id string) string {
	switch {
	case id != "":
		return string(kind) + " " + id
	case kind == AttachedToHuman:
		return "human, who is not known"
	case kind == AttachedToGroup:
		return "group, since the human's groups are not known"
	default:
		return string(kind)
	}
}
