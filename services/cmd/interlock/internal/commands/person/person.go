// Package person keeps people: who decides, operates or looks on, their keys, and their names elsewhere.
package person

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on people.
type Command struct {
	Add      addCommand      `cmd:"" help:"Add a person. Then invite them, or add an SSH key for them."`
	List     listCommand     `cmd:"" help:"List people."`
	Get      getCommand      `cmd:"" help:"Show a person and their keys: you by default."`
	Change   changeCommand   `cmd:"" help:"Change the registered part of a person: each given flag replaces the values before."`
	Remove   removeCommand   `cmd:"" help:"Remove a person with all keys."`
	Invite   inviteCommand   `cmd:"" help:"Make a code by which a person registers a key once, also after the loss of all keys."`
	Key      keyCommand      `cmd:"" help:"Add and remove keys of people."`
	Identity identityCommand `cmd:"" help:"Add and remove names that people have elsewhere."`
}

// oneOf is a command about one person.
type oneOf struct {
	client.Connection
	show.Printer
	Name string `arg:"" help:"Name of the person."`
}

// registered has the flags of a person's registered part.
type registered struct {
	Role      []string          `help:"Role of the person: operator, approver, observer or root. May be repeated." placeholder:"ROLE"`
	Of        []string          `name:"of-namespace" help:"Namespace that the person may call in; * is each. May be repeated. default by default." placeholder:"NAME"`
	Group     []string          `help:"Group of the person, for conditions of policies. May be repeated." placeholder:"NAME"`
	Attribute map[string]string `help:"Fact about the person, for conditions of policies. May be repeated." placeholder:"NAME=VALUE"`
	Identity  []string          `help:"Name that the person has elsewhere, such as slack:T01/U02, oidc:ISSUER/SUBJECT or github:LOGIN. May be repeated." placeholder:"SYSTEM:ID"`
}

// onto returns a person with the given flags in place of the values before.
func (r *registered) onto(s *identityv1.PersonSpec) *identityv1.PersonSpec {
	for _, part := range []struct {
		into  *[]string
		given []string
	}{{&s.Roles, r.Role}, {&s.Namespaces, r.Of}, {&s.Groups, r.Group}, {&s.Identities, r.Identity}} {
		if len(part.given) > 0 {
			*part.into = part.given
		}
	}
	if len(r.Attribute) > 0 {
		s.Attributes = r.Attribute
	}
	return s
}

// call does something with people, as an operator who is a person.
func call(ctx context.Context, c *client.Connection, io console.Streams, what string, do func(identityv1.PersonServiceClient) error) error {
	if err := c.Decides(io, what); err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error { return do(identityv1.NewPersonServiceClient(conn)) })
}

// print shows a person who was changed.
func print(p show.Printer, io console.Streams, verb string, changed *identityv1.Person) error {
	view := jsonview.PersonOf(changed)
	return p.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.Name), view.Version) })
}

type addCommand struct {
	oneOf
	registered
}

func (c *addCommand) Run(ctx context.Context, io console.Streams) error {
	if len(c.Role) == 0 {
		return console.Misusedf("give --role: operator, approver, observer or root")
	}
	return call(ctx, &c.Connection, io, "adding a person", func(people identityv1.PersonServiceClient) error {
		resp, err := people.CreatePerson(ctx, &identityv1.CreatePersonRequest{Spec: c.onto(&identityv1.PersonSpec{Name: c.Name})})
		if err != nil {
			return err
		}
		if c.ForPeople() {
			fmt.Fprintf(io.Err, "interlock: %s has no key yet: `interlock person invite %s` makes a code to register one\n", show.Text(c.Name), show.Text(c.Name))
		}
		return print(c.Printer, io, "added", resp.GetPerson())
	})
}

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		people := identityv1.NewPersonServiceClient(conn)
		all, err := client.Collect(client.NoLimit, jsonview.PersonOf, func(token string, size int32) ([]*identityv1.Person, string, error) {
			page, err := people.ListPeople(ctx, &identityv1.ListPeopleRequest{PageSize: size, PageToken: token})
			return page.GetPeople(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return show.Table(c.Printer, io.Out, "PERSON\tROLES\tNAMESPACES\tKEYS\tIDENTITIES\tINVITED UNTIL", all, func(p *jsonview.RegisteredPerson) []any {
			return []any{p.Name, strings.Join(p.Roles, " "), strings.Join(p.Namespaces, " "), len(p.Keys), strings.Join(p.Identities, " "), p.InvitedUntil}
		})
	})
}

type getCommand struct {
	client.Connection
	show.Printer
	Name string `arg:"" optional:"" help:"Name of the person."`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := identityv1.NewPersonServiceClient(conn).GetPerson(ctx, &identityv1.GetPersonRequest{Name: c.Name})
		if err != nil {
			return err
		}
		view := jsonview.PersonOf(resp.GetPerson())
		return c.Print(io.Out, view, func(w *show.Sheet) { sheet(w, &view) })
	})
}

func sheet(w *show.Sheet, p *jsonview.RegisteredPerson) {
	t := show.Rows{W: w}
	t.Row("person", p.Name)
	t.Row("roles", strings.Join(p.Roles, ", "))
	t.Row("namespaces", strings.Join(p.Namespaces, ", "))
	t.Row("groups", strings.Join(p.Groups, ", "))
	for _, name := range slices.Sorted(maps.Keys(p.Attributes)) {
		t.Row("attribute", name+"="+p.Attributes[name])
	}
	for _, id := range p.Identities {
		t.Row("identity", id)
	}
	for i := range p.Keys {
		t.Row("key", keyText(&p.Keys[i]))
	}
	t.Time("invited until", p.InvitedUntil)
	t.Time("updated", p.UpdatedAt)
	t.Row("version", fmt.Sprint(p.Version))
}

// keyText describes a key in a line.
func keyText(k *jsonview.PersonKey) string {
	text := strings.ReplaceAll(k.Kind, "_", " ") + " " + k.KeyID
	if k.Kind == k.KeyID {
		text = k.Kind
	}
	if k.Label != "" {
		text += " (" + k.Label + ")"
	}
	if !k.Presence {
		text += ", shows no presence"
	}
	return text
}

type changeCommand struct {
	oneOf
	registered
}

func (c *changeCommand) Run(ctx context.Context, io console.Streams) error {
	if len(c.Role)+len(c.Of)+len(c.Group)+len(c.Attribute)+len(c.Identity) == 0 {
		return console.Misusedf("give the change: --role, --of-namespace, --group, --attribute or --identity")
	}
	return change(ctx, &c.oneOf, io, "changed", func(s *identityv1.PersonSpec) error { c.onto(s); return nil })
}

// change reads a person, changes the registered part, and stores it unless another was faster.
func change(ctx context.Context, c *oneOf, io console.Streams, verb string, edit func(*identityv1.PersonSpec) error) error {
	return call(ctx, &c.Connection, io, "changing a person", func(people identityv1.PersonServiceClient) error {
		now, err := people.GetPerson(ctx, &identityv1.GetPersonRequest{Name: c.Name})
		if err != nil {
			return err
		}
		spec := now.GetPerson().GetSpec()
		if err := edit(spec); err != nil {
			return err
		}
		resp, err := people.UpdatePerson(ctx, &identityv1.UpdatePersonRequest{Spec: spec, ExpectedVersion: now.GetPerson().GetVersion()})
		if err != nil {
			return err
		}
		return print(c.Printer, io, verb, resp.GetPerson())
	})
}

type removeCommand struct{ oneOf }

func (c *removeCommand) Run(ctx context.Context, io console.Streams) error {
	return call(ctx, &c.Connection, io, "removing a person", func(people identityv1.PersonServiceClient) error {
		if _, err := people.DeletePerson(ctx, &identityv1.DeletePersonRequest{Name: c.Name}); err != nil {
			return err
		}
		view := struct {
			Name    string `json:"name"`
			Removed bool   `json:"removed"`
		}{c.Name, true}
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintf(w, "removed\t%s\n", show.Text(c.Name)) })
	})
}

type inviteCommand struct{ oneOf }

func (c *inviteCommand) Run(ctx context.Context, io console.Streams) error {
	return call(ctx, &c.Connection, io, "inviting a person", func(people identityv1.PersonServiceClient) error {
		resp, err := people.InvitePerson(ctx, &identityv1.InvitePersonRequest{Name: c.Name})
		if err != nil {
			return err
		}
		view := jsonview.InvitationOf(resp)
		return c.Print(io.Out, view, func(w *show.Sheet) {
			t := show.Rows{W: w}
			t.Row("person", view.Person)
			t.Row("code", view.Code)
			t.Time("until", view.ExpiresAt)
			t.Row("how", "give the code to "+view.Person+" alone: `interlock login --code "+view.Code+"` or the console's sign-in page takes it once")
		})
	})
}
