package apply

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// SetCommand is the family of commands on the sets of a server.
type SetCommand struct {
	List setListCommand `cmd:"" help:"List the sets that were applied, and who has applied them."`
	Show setShowCommand `cmd:"" help:"Show a set: its source, its objects, and which of them are no longer as it was applied."`
}

type setListCommand struct {
	client.Connection
	show.Printer
}

// Run prints the sets of the namespace.
func (c *setListCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewSetServiceClient(conn).ListSets(ctx, &policyv1.ListSetsRequest{})
		if err != nil {
			return err
		}
		all := jsonview.Each(resp.GetSets(), jsonview.SetOf)
		return show.Table(c.Printer, io.Out, "SET\tVERSION\tOBJECTS\tAPPLIED\tBY\tSOURCE\tSHADOW", all, func(s *jsonview.DefinitionSet) []any {
			var applied any = "-"
			if !s.AppliedAt.IsZero() {
				applied = s.AppliedAt
			}
			return []any{s.Name, s.Version, len(s.Objects), applied, cmp.Or(s.AppliedBy, "-"), cmp.Or(source(s.Repo, s.Commit), "-"), cmp.Or(shadowStatus(s.Shadow, time.Now()), "-")}
		})
	})
}

// source returns where files are from, as REPO@COMMIT; empty when it is not known.
func source(repo, commit string) string {
	if commit == "" {
		return repo
	}
	return repo + "@" + commit
}

// shadowStatus returns how the shadow of a set stands, in a few words; empty for none.
func shadowStatus(s *jsonview.SetShadow, now time.Time) string {
	switch {
	case s == nil:
		return ""
	case now.Before(s.Until):
		return "until " + s.Until.UTC().Format(time.RFC3339)
	}
	return "over"
}

type setShowCommand struct {
	client.Connection
	show.Printer
	Name string `arg:"" help:"Name of the set."`
}

// setView is the JSON of a set, with later changes of its objects.
type setView struct {
	jsonview.DefinitionSet
	Objects []setObjectView `json:"objects"`
	Drift   bool            `json:"drift"`
}

// setObjectView is an object of a set, and how it is now.
type setObjectView struct {
	jsonview.SetObject
	Live  int64  `json:"live_version,omitzero"`
	Drift string `json:"drift,omitzero"`
}

// Run prints a set.
func (c *setShowCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		s := newServer(conn, 0)
		resp, err := s.sets.GetSet(ctx, &policyv1.GetSetRequest{Name: c.Name})
		if err != nil {
			return err
		}
		view := setView{DefinitionSet: jsonview.SetOf(resp.GetSet()), Objects: []setObjectView{}}
		for _, o := range view.DefinitionSet.Objects {
			r, err := s.remote(ctx, object{o.Kind, o.Name}, &ownership{})
			if err != nil {
				return err
			}
			one := setObjectView{SetObject: o, Live: r.live, Drift: drift(&o, r)}
			view.Objects, view.Drift = append(view.Objects, one), view.Drift || one.Drift != ""
		}
		return c.Print(io.Out, view, func(w *show.Sheet) { setRows(w, &view) })
	})
}

// drift returns how an object is no longer as its set was applied; empty if it is.
func drift(o *jsonview.SetObject, r *remote) string {
	switch {
	case r.noContent:
		return "is gone"
	case r.retired:
		return "was retired"
	case r.live == 0:
		return "has no live version"
	case r.digest != o.Digest:
		return fmt.Sprintf("was changed by %s: version %d is live", orUnknown(r.by), r.live)
	}
	return ""
}

func setRows(w *show.Sheet, s *setView) {
	t := show.Rows{W: w}
	t.Row("set", s.Name)
	t.Row("version", fmt.Sprint(s.Version))
	t.Time("applied", s.AppliedAt)
	t.Row("by", s.AppliedBy)
	t.Row("source", source(s.Repo, s.Commit))
	if s.Serial != 0 {
		t.Row("bundle", fmt.Sprintf("serial %d, %s", s.Serial, s.Bundle))
	}
	if s.Shadow != nil {
		t.Row("shadow", fmt.Sprintf("%s, of %s, by %s", shadowStatus(s.Shadow, time.Now()), show.Counted(len(s.Shadow.Objects), "object"), s.Shadow.StartedBy))
	}
	for _, o := range s.Objects {
		line := fmt.Sprintf("%s  version %d", o.Name, o.Version)
		if o.OwnsAttachments {
			line += ", with its attachments"
		}
		t.Row(o.Kind, strings.TrimSpace(line+"  "+o.Drift))
	}
	switch {
	case len(s.Objects) == 0:
	case s.Drift:
		t.Row("drift", "yes: `interlock plan` of its folder says what to do")
	default:
		t.Row("drift", "none")
	}
}
