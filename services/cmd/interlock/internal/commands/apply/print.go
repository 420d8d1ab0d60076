package apply

import (
	"fmt"
	"io"
	"strings"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// marks are the signs of actions in a plan.
var marks = map[action]string{add: "+", change: "~", remove: "-", conflict: "!", left: " ", keep: " "}

// printPlan prints a plan for people.
func printPlan(out io.Writer, p *plan) {
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	say("plan       set %s", show.Text(p.set))
	for _, i := range p.items {
		printItem(say, p, i)
	}
	if p.trial != nil {
		printTrial(say, p, p.trial)
	}
	if !p.changes() && p.count(conflict) == 0 {
		say("No changes: %s as in the folder.", show.Counted(p.count(keep), "object"))
		return
	}
	line := fmt.Sprintf("%d to add, %d to change, %d to remove", p.count(add), p.count(change), p.count(remove))
	if n := p.moving(); n > 0 {
		line += ", " + show.Counted(n, "run") + " to move"
	}
	if n := p.count(conflict); n > 0 {
		line += ", " + show.Counted(n, "conflict")
	}
	say("%s.  plan %s", line, p.id())
	if len(p.unaccepted()) > 0 {
		say("It allows more than before. To accept that: %s", acceptFlags(p))
	}
}

// printItem prints one object, unless it stays as it is.
func printItem(say func(string, ...any), p *plan, i *item) {
	if i.action == keep && len(i.moves) == 0 && p.recorded(i) && len(i.what) == 0 {
		return
	}
	say("  %s %s", marks[i.action], show.Text(strings.TrimSpace(fmt.Sprintf("%-9s %s  %s", i.Kind, i.Name, status(p, i)))))
	for _, line := range i.what {
		say("      %s", show.Text(line))
	}
	for _, m := range i.moves {
		printMove(say, m)
	}
	if len(i.loosens) == 0 {
		return
	}
	verb := "accept with --accept " + i.accept
	if i.accepted {
		verb = "accepted"
	}
	say("      allows more (%s):", verb)
	const most = 20
	for _, line := range i.loosens[:min(most, len(i.loosens))] {
		say("        %s", show.Text(line))
	}
	if more := len(i.loosens) - most; more > 0 {
		say("        and %d more: --format json has them all", more)
	}
}

// status describes an item in a few words.
func status(p *plan, i *item) string {
	switch i.action {
	case add:
		return "new"
	case change:
		if i.local.same(i.remote.digest) {
			return fmt.Sprintf("version %d", i.remote.live)
		}
		return fmt.Sprintf("version %d -> new", i.remote.live)
	case remove:
		switch {
		case i.remote.noContent || i.remote.retired:
			return "is gone already: taken out of the record"
		case i.Kind == kindPolicy:
			return "delete"
		case i.Kind == kindSchema:
			return "retire (states that have it stay)"
		case i.Kind == kindComponent:
			return "delete (no execution reaches the values that it keeps)"
		}
		return "retire (no runs that have not ended)"
	case keep:
		if i.remote.owner != p.set {
			return "unchanged, owned by this set from now on"
		}
		if !p.recorded(i) {
			return "changed on the server as in the file: the record of the set follows"
		}
		return "unchanged"
	default:
		return i.why
	}
}

// printMove prints which runs of a version move.
func printMove(say func(string, ...any), m move) {
	verdict := map[bool]string{true: "no new permissions, PROVED", false: m.Verdict}[m.Proved]
	say("      %s on version %d: %d move (%s)", show.Counted(m.Runs, "run"), m.From, m.Movable, verdict)
	for _, why := range m.Stay {
		say("        %s", show.Text(why))
	}
	if rest := m.Runs - m.Movable - len(m.Stay); rest > 0 {
		say("        %s: --migrate all moves them", show.Counted(rest, "run")+" would get new permissions and stay")
	}
}

// planView is the JSON of a plan.
type planView struct {
	ID        string     `json:"id"`
	Set       string     `json:"set"`
	Version   int64      `json:"version"`
	Changes   bool       `json:"changes"`
	Conflicts int        `json:"conflicts"`
	Objects   []itemView `json:"objects"`
	Shadow    *trialView `json:"shadow,omitzero"`
}

// itemView is the JSON of an item.
type itemView struct {
	Kind     string   `json:"kind"`
	Name     string   `json:"name"`
	File     string   `json:"file,omitzero"`
	Action   string   `json:"action"`
	Live     int64    `json:"live"`
	Digest   string   `json:"digest,omitzero"`
	Owner    string   `json:"owner,omitzero"`
	Why      string   `json:"why,omitzero"`
	What     []string `json:"what"`
	Loosens  []string `json:"loosens"`
	Accept   string   `json:"accept,omitzero"`
	Accepted bool     `json:"accepted,omitzero"`
	Moves    []move   `json:"moves"`
}

func viewOf(p *plan) planView {
	v := planView{ID: p.id(), Set: p.set, Version: p.version, Changes: p.changes(), Conflicts: p.count(conflict), Objects: []itemView{}, Shadow: trialViewOf(p.trial)}
	for _, i := range p.items {
		one := itemView{
			Kind: i.Kind, Name: i.Name, Action: string(i.action), Live: i.remote.live, Digest: i.remote.digest, Owner: i.remote.owner, Why: i.why,
			What: listed(i.what), Loosens: listed(i.loosens), Accept: i.accept, Accepted: i.accepted, Moves: i.moves,
		}
		if i.local != nil {
			one.File = i.local.file
		}
		if one.Moves == nil {
			one.Moves = []move{}
		}
		v.Objects = append(v.Objects, one)
	}
	return v
}

// listed returns a list that is never null.
func listed(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}
