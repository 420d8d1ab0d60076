// Package apply plans and applies sets: folders of definitions that a server has as one.
package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/offline"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// flags are those of both commands.
type flags struct {
	client.Connection
	Dir         string               `arg:"" help:"Folder of the set, with interlock.yaml or without." placeholder:"DIR"`
	Accept      []string             `help:"The digest of new permissions that you accept, as the plan prints it; may be repeated." placeholder:"DIGEST"`
	Take        []string             `help:"Make this object that of the file, although another set owns it, or although it was changed on the server; may be repeated." placeholder:"NAME"`
	Migrate     string               `help:"Runs that move to the new versions: none, those that are proved to get no new permissions, or all that have a place." enum:"never,proved,all" default:"proved"`
	Since       string               `help:"Changed policies are tried on the recorded calls of this time." default:"7d" placeholder:"DURATION"`
	AllowEmpty  bool                 `help:"Accept a folder without definitions, of a set that has some."`
	Enforcement workflow.Enforcement `help:"Enforcement of workflows that name none, as the server's --enforcement." enum:"until_success,while_running" default:"until_success" env:"INTERLOCK_ENFORCEMENT"`
	Format      string               `help:"Output: text or json." enum:"text,json" default:"text"`
}

// PlanCommand shows the effects of an application.
type PlanCommand struct {
	flags
	DetailedExitcode bool `help:"Exit with 0 for no difference, 1 for an error, 2 for a difference."`
}

// Run makes the plan. It returns console.ErrWaits for a plan with changes.
func (c *PlanCommand) Run(ctx context.Context, io console.Streams, version console.Version) error {
	err := c.with(ctx, io, version, nil, func(_ *server, p *plan, _ *folder, _ terms) error {
		switch {
		case p.count(conflict) > 0:
			return console.ErrNo
		case p.changes():
			return console.ErrWaits
		}
		return nil
	})
	if !c.DetailedExitcode {
		return err
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, console.ErrWaits):
		return console.Exit(2)
	case !errors.Is(err, console.ErrNo):
		fmt.Fprintln(io.Err, "interlock:", client.Explain(err))
	}
	return console.Exit(1)
}

// Command applies a set.
type Command struct {
	flags
	Plan   string   `help:"Apply only this plan: refused if the plan is another one by now." placeholder:"ID"`
	Yes    bool     `help:"Do not ask."`
	Shadow string   `help:"Make the changes shadows first, which are judged next to the live rules and not enforced; they can be applied after this time." placeholder:"DURATION"`
	Now    bool     `help:"Apply at once, although the set has a shadow that is not over, or has another content."`
	Adopt  []string `help:"Write the definition of the server into the file of this object first; may be repeated." placeholder:"NAME"`
}

// Run plans, and applies the plan.
func (c *Command) Run(ctx context.Context, io console.Streams, version console.Version) error {
	shadow, err := c.shadow()
	if err != nil {
		return err
	}
	adopted, err := c.adopt(ctx, io)
	if err != nil {
		return err
	}
	return c.with(ctx, io, version, adopted, func(s *server, p *plan, f *folder, t terms) error {
		if c.Format == "json" { // which has the plan, and no other text
			io.Out = io.Err
		}
		how, implied := p.rollout(shadow, c.Now)
		switch id := p.id(); {
		case c.Plan != "" && c.Plan != id:
			return no(io, "the plan is %s by now, and not %s: read it, and apply that one", id, c.Plan)
		case p.count(conflict) > 0:
			return no(io, "the set was not applied: solve the conflicts, which are marked with ! in the plan")
		case how.shadow == 0 && !c.Now && p.waits():
			fmt.Fprintf(io.Err, "interlock: the set was not applied: its shadow lasts another %s, until %s; --now applies it before\n", duration(p.trial.left), p.trial.Until.Format(time.RFC3339))
			return console.ErrWaits
		case how.shadow == 0 && !c.Now && p.unjudged():
			return no(io, "the set was not applied: no call was made during its shadow, so nothing has tried its changes; begin a longer one with --shadow, or accept that: --accept %s", p.trial.accept)
		case how.shadow == 0 && !c.Now && p.differs():
			return no(io, "the set was not applied: its shadow would have decided %s otherwise; to accept that: --accept %s", show.Counted(p.trial.differing(), "call"), p.trial.accept)
		case how.shadow == 0 && len(p.unaccepted()) > 0:
			return no(io, "the set was not applied: it allows more than before; to accept that: %s", acceptFlags(p))
		case !p.changes():
			return nil
		case !c.Yes && !io.Interactive():
			fmt.Fprintln(io.Err, "interlock: the set was not applied: give --yes, or --plan", id, "--yes")
			return console.ErrWaits
		case !c.Yes && !io.Confirm("Apply?"):
			fmt.Fprintln(io.Err, "interlock: the set was not applied")
			return console.ErrNo
		}
		if err := s.apply(ctx, p, f, t, how, io); err != nil || !implied {
			return err
		}
		return console.ErrWaits
	})
}

// shadow returns how long the changes are shadows first; 0 for no such wish.
func (c *Command) shadow() (time.Duration, error) {
	if c.Shadow == "" {
		return 0, nil
	}
	if c.Now {
		return 0, console.Misusedf("--shadow makes the changes shadows first, and --now applies them without: give one of them")
	}
	d, err := document.ParseDuration(c.Shadow)
	if err == nil && (d < time.Second || d > mostShadow) {
		err = fmt.Errorf("%q is not between 1s and 365d", c.Shadow)
	}
	if err != nil {
		return 0, console.Misusedf("--shadow: %w; write a duration, such as 24h or 3d", err)
	}
	return d, nil
}

// mostShadow bounds how long changes are shadows.
const mostShadow = 365 * 24 * time.Hour

func acceptFlags(p *plan) string {
	var all []string
	for _, i := range p.unaccepted() {
		all = append(all, "--accept "+i.accept)
	}
	return strings.Join(all, " ")
}

// with reads the folder, judges it, makes the plan and prints it.
func (c *flags) with(ctx context.Context, io console.Streams, version console.Version, adopted map[object]int64, do func(*server, *plan, *folder, terms) error) error {
	since, err := document.ParseDuration(c.Since)
	if err != nil {
		return console.Misusedf("--since: %w; write a duration, such as 7d or 12h", err)
	}
	f, err := c.folder(io)
	if err != nil {
		return err
	}
	out := io
	if c.Format == "json" {
		out.Out = io.Err
	}
	if err := f.judge(ctx, c.Enforcement, out, version); err != nil {
		return err
	}
	t := terms{take: c.Take, accept: c.Accept, migrate: c.Migrate, adopted: adopted}
	return c.ask(ctx, io, f, since, func(s *server) error {
		p, err := s.plan(ctx, f, c.Enforcement, t)
		if err != nil {
			return err
		}
		if len(f.objects) == 0 && len(p.items) > 0 && !c.AllowEmpty {
			return no(io, "%s has no definitions, and set %s has %s: give --allow-empty if that is meant", c.Dir, f.name, show.Counted(len(p.items), "object"))
		}
		if c.Format == "json" {
			if err := show.JSON(io.Out, viewOf(p)); err != nil {
				return err
			}
		} else {
			printPlan(io.Out, p)
		}
		return do(s, p, f, t)
	})
}

// folder reads the set.
func (c *flags) folder(io console.Streams) (*folder, error) {
	info, err := os.Stat(c.Dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, console.Misusedf("%s is a file: name the folder of the set", show.Text(c.Dir))
	}
	s, err := readSet(c.Dir, io)
	if err != nil {
		return nil, err
	}
	return readFolder(c.Dir, s, io)
}

// ask connects as an operator, in the namespace of the set.
func (c *flags) ask(ctx context.Context, io console.Streams, f *folder, since time.Duration, do func(*server) error) error {
	if c.Namespace == "" {
		c.Namespace = f.namespace
	}
	if f.namespace != "" && c.Namespace != f.namespace {
		return console.Misusedf("the set is of namespace %s, and --namespace is %s: leave it out", f.namespace, c.Namespace)
	}
	return c.AskAs(ctx, auth.Operator, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		return do(newServer(conn, since))
	})
}

// adopt writes definitions of the server into their files, and returns their versions.
func (c *Command) adopt(ctx context.Context, io console.Streams) (versions map[object]int64, err error) {
	if len(c.Adopt) == 0 {
		return nil, nil
	}
	f, err := c.folder(io)
	if err != nil {
		return nil, err
	}
	versions = make(map[object]int64)
	return versions, c.ask(ctx, io, f, 0, func(s *server) error {
		own := &ownership{}
		for _, name := range c.Adopt {
			at := slices.IndexFunc(f.objects, func(l *local) bool { return l.in([]string{name}) })
			if at < 0 {
				return no(io, "--adopt %s: the folder has no such object", name)
			}
			l := f.objects[at]
			r, err := s.remote(ctx, l.object, own)
			switch {
			case err != nil:
				return err
			case r.live == 0:
				return no(io, "--adopt %s: the server has no such object", name)
			}
			versions[l.object] = r.live
			if l.same(r.digest) {
				continue
			}
			text, err := adopted(l, r)
			if err != nil {
				return no(io, "--adopt %s: %s", name, err)
			}
			if err := os.WriteFile(l.file, text, 0o644); err != nil { //nolint:gosec // a definition, which others read
				return fmt.Errorf("write %s: %w", l.file, err)
			}
			fmt.Fprintf(io.Err, "adopted    %s into %s\n", show.Text(l.String()), show.Text(l.file))
		}
		return nil
	})
}

// adopted returns the text of the server for a file: without the properties that are in a file of their own.
func adopted(l *local, r *remote) ([]byte, error) {
	if input.IsYAML(l.file) {
		return nil, fmt.Errorf("%s is YAML, which is not written: put the content of `interlock %s get %s` into it", l.file, l.Kind, l.Name)
	}
	if l.Kind == kindSchema {
		return append(bytes.TrimRight(r.text, "\n"), '\n'), nil
	}
	value, problem := document.Parse(r.text, document.Limits{})
	if problem != nil {
		return nil, fmt.Errorf("the server's text cannot be read: %s", problem.Message)
	}
	if own, err := os.ReadFile(input.PropertiesOf(l.file)); err == nil {
		apart, _ := document.FromYAML(own)
		value = withoutProperties(value, apart)
	}
	text, problems := offline.Format(value.AppendJSON(nil))
	if problems.HasErrors() {
		return nil, fmt.Errorf("the server's text cannot be formatted: %w", problems.Err())
	}
	return text, nil
}

// withoutProperties returns a definition without the properties of another document.
func withoutProperties(value, apart document.Value) document.Value {
	if inner, ok := apart.Get("properties"); ok {
		apart = inner
	}
	var members []document.Member
	for name, member := range value.Members() {
		if name != "properties" {
			members = append(members, document.Member{Name: name, Value: member})
			continue
		}
		var kept []document.Member
		for property, v := range member.Members() {
			if _, there := apart.Get(property); !there {
				kept = append(kept, document.Member{Name: property, Value: v})
			}
		}
		if len(kept) > 0 {
			members = append(members, document.Member{Name: name, Value: document.ObjectValue(kept)})
		}
	}
	return document.ObjectValue(members)
}
