package apply

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// remote is an object as the server has it.
type remote struct {
	object
	// live is the version that is live; 0 for none.
	live      int64
	digest    string
	by        string
	text      []byte
	retired   bool
	attached  []jsonview.Attachment
	running   int
	owner     string
	recorded  string // the digest that the owner has applied
	noContent bool   // the record of a set names it, and the server does not have it
}

// action is the change that a plan makes to an object.
type action string

// The actions.
const (
	keep     action = "keep"
	add      action = "add"
	change   action = "change"
	remove   action = "remove"
	conflict action = "conflict"
	left     action = "left" // no longer in the folder, and not removed
)

// item is the plan for one object.
type item struct {
	object
	action action
	local  *local // nil for one that is not in the folder
	remote *remote
	take   bool
	// why explains a conflict, or an object that is left.
	why string
	// what has the change in words.
	what []string
	// restore says that the workflow is retired, and starts runs again.
	restore bool
	// attach says that the attachments of the policy change.
	attach bool
	// loosens are the new permissions, under the digest by which they are accepted.
	loosens  []string
	accept   string
	accepted bool
	// moves are the runs of other versions.
	moves []move
}

// move is about the runs of one version of a workflow.
type move struct {
	From    int64  `json:"from"`
	Runs    int    `json:"runs"`
	Proved  bool   `json:"proved"`
	Verdict string `json:"verdict"`
	// Movable are the runs that move by the plan's --migrate; Stay says why others stay.
	Movable int      `json:"movable"`
	Stay    []string `json:"stay,omitempty"`
}

// terms are the wishes of the command line.
type terms struct {
	take, accept []string
	migrate      string
	// adopted has the versions of the server that were written into files: those are no conflict.
	adopted map[object]int64
}

// names reports that a list names an object, by its name alone or as KIND/NAME.
func (o object) in(list []string) bool {
	return slices.Contains(list, o.Name) || slices.Contains(list, o.Kind+"/"+o.Name)
}

// decide returns the action for one object, by the file, the server and the record of the set.
func decide(set string, prune bool, l *local, r *remote, t terms) *item {
	i := &item{local: l, remote: r}
	if l == nil {
		return i.missing(set, prune, t)
	}
	i.object = l.object
	i.attach = l.attach != nil && !sameAttachments(l.attach, r.attached)
	i.restore = r.retired
	same := r.live != 0 && l.same(r.digest)
	i.take = i.in(t.take) || r.live != 0 && t.adopted[i.object] == r.live
	switch {
	case r.owner != "" && r.owner != set && !i.take:
		i.action, i.why = conflict, fmt.Sprintf("belongs to set %q, and is left alone: --take %s makes it this set's", r.owner, i.Name)
	case same && !i.attach && !i.restore:
		i.action = keep
	case same:
		i.action = change
	case r.live == 0:
		i.action = add
	case r.owner == set && r.digest != r.recorded && !i.take:
		i.action, i.why = conflict, fmt.Sprintf("was changed by %s since the set was applied: --take %s makes it that of the file, --adopt %[2]s makes the file that of the server", orUnknown(r.by), i.Name)
	case r.owner == "" && !r.retired && !i.take:
		i.action, i.why = conflict, fmt.Sprintf("is there with another content, by %s, and no set owns it: --take %s makes it that of the file, --adopt %[2]s makes the file that of the server", orUnknown(r.by), i.Name)
	default:
		i.action = change
	}
	return i
}

// missing decides about an object of the set's record that has no file.
func (i *item) missing(set string, prune bool, t terms) *item {
	r := i.remote
	i.object = r.object
	i.take = i.in(t.take)
	switch {
	case !prune:
		i.action, i.why = left, "no longer in the folder; `prune: true` in the set file removes it"
	case r.noContent || r.retired:
		i.action = remove
	case r.owner == set && r.digest != r.recorded && !i.take:
		i.action, i.why = conflict, fmt.Sprintf("is no longer in the folder, and was changed by %s since the set was applied: --take %s removes it", orUnknown(r.by), i.Name)
	case r.running > 0:
		i.action, i.why = conflict, fmt.Sprintf("is no longer in the folder, and %d of its runs have not ended: it is removed once they have", r.running)
	default:
		i.action = remove
	}
	return i
}

func orUnknown(name string) string { return cmp.Or(name, "an unknown caller") }

func sameAttachments(a, b []jsonview.Attachment) bool {
	return slices.Equal(sorted(a), sorted(b))
}

func sorted(all []jsonview.Attachment) []jsonview.Attachment {
	return slices.SortedFunc(slices.Values(all), func(a, b jsonview.Attachment) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
	})
}

// plan has the changes of an application.
type plan struct {
	set, namespace string
	// version of the set, as it was read.
	version int64
	items   []*item
	migrate string
	// trial is the shadow of the set; nil for none.
	trial *trial
}

// id names the plan: its objects, with their versions and contents, and the terms. Runs come and go, and are no part of
// it.
func (p *plan) id() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %q\n", p.set, p.namespace, p.version, p.migrate)
	for _, i := range p.items {
		digest := ""
		if i.local != nil {
			digest = i.local.digests[0]
			fmt.Fprintf(h, "%v %v\n", i.local.attach != nil, sorted(i.local.attach))
		}
		fmt.Fprintf(h, "%q %q %q %q %q %d %q %q %v %t\n", i.action, i.Kind, i.Name, digest, i.remote.digest, i.remote.live, i.remote.owner, i.remote.recorded, sorted(i.remote.attached), i.take)
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

// count returns how many items have an action.
func (p *plan) count(a action) (n int) {
	for _, i := range p.items {
		if i.action == a {
			n++
		}
	}
	return n
}

// moving returns how many runs would move.
func (p *plan) moving() (n int) {
	for _, i := range p.items {
		for _, m := range i.moves {
			n += m.Movable
		}
	}
	return n
}

// adopts reports that the record of the set does not have an object as it is, though it needs no change.
func (p *plan) adopts() bool {
	return slices.ContainsFunc(p.items, func(i *item) bool { return i.action == keep && !p.recorded(i) })
}

// recorded reports that the record of the set has an object as it is.
func (p *plan) recorded(i *item) bool {
	return i.remote.owner == p.set && i.remote.recorded == i.remote.digest
}

// changes reports that the plan changes anything on the server.
func (p *plan) changes() bool {
	return p.count(add)+p.count(change)+p.count(remove)+p.moving() > 0 || p.adopts() || p.trial != nil
}

// unaccepted returns the items whose new permissions are not accepted.
func (p *plan) unaccepted() (all []*item) {
	for _, i := range p.items {
		if len(i.loosens) > 0 && !i.accepted {
			all = append(all, i)
		}
	}
	return all
}

// loosen records new permissions of an item, and whether the command line accepts them.
func (i *item) loosen(t terms, what ...string) {
	if len(what) == 0 {
		return
	}
	i.loosens = append(i.loosens, what...)
	after := "removed"
	if i.local != nil {
		after = i.local.digests[0]
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", i.Kind, i.Name, i.remote.digest, after, i.attach))
	i.accept = hex.EncodeToString(sum[:])[:12]
	i.accepted = slices.Contains(t.accept, i.accept)
}
