// Package agent keeps agents, which sessions start from.
package agent

import (
	"context"
	"fmt"
	"strings"

	strict "github.com/go-json-experiment/json"
	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on agents.
type Command struct {
	Create createCommand `cmd:"" help:"Create an agent."`
	Update updateCommand `cmd:"" help:"Replace the definition of an agent."`
	List   listCommand   `cmd:"" help:"List agents."`
	Get    getCommand    `cmd:"" help:"Show an agent."`
	Delete deleteCommand `cmd:"" help:"Delete an agent."`
}

// oneFile is a file with an agent.
type oneFile struct {
	client.Connection
	show.Printer
	File string `arg:"" help:"The agent, in JSON or YAML by its name." placeholder:"FILE"`
}

func (c *oneFile) read(io console.Streams) (*statev1.AgentSpec, error) {
	text, err := input.Document(c.File, io)
	if err != nil {
		return nil, err
	}
	var spec jsonview.AgentSpec
	if err := strict.Unmarshal(text.JSON, &spec, strict.RejectUnknownMembers(true)); err != nil {
		return nil, console.Misusedf("%s is not an agent: %v", c.File, err)
	}
	if spec.Name == "" {
		return nil, console.Misusedf("%s is not an agent: it has no name", c.File)
	}
	return spec.Proto(), nil
}

func (c *oneFile) printChanged(io console.Streams, verb string, agent *statev1.Agent) error {
	view := jsonview.AgentOf(agent)
	return c.Print(io.Out, view, func(w *show.Sheet) {
		fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.Name), view.Version)
	})
}

type createCommand struct{ oneFile }

func (c *createCommand) Run(ctx context.Context, io console.Streams) error {
	spec, err := c.read(io)
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewAgentServiceClient(conn).CreateAgent(ctx, &statev1.CreateAgentRequest{Spec: spec})
		if err != nil {
			return err
		}
		return c.printChanged(io, "created", resp.GetAgent())
	})
}

type updateCommand struct {
	oneFile
	ExpectedVersion int64 `help:"Fail unless the agent is at this version." placeholder:"N"`
}

func (c *updateCommand) Run(ctx context.Context, io console.Streams) error {
	spec, err := c.read(io)
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewAgentServiceClient(conn).UpdateAgent(ctx, &statev1.UpdateAgentRequest{Spec: spec, ExpectedVersion: c.ExpectedVersion})
		if err != nil {
			return err
		}
		return c.printChanged(io, "updated", resp.GetAgent())
	})
}

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		agents := statev1.NewAgentServiceClient(conn)
		all, err := client.Collect(client.NoLimit, jsonview.AgentOf, func(token string, size int32) ([]*statev1.Agent, string, error) {
			page, err := agents.ListAgents(ctx, &statev1.ListAgentsRequest{PageSize: size, PageToken: token})
			return page.GetAgents(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return show.Table(c.Printer, io.Out, "AGENT\tMODEL\tWORKFLOW\tPOLICY\tVERSION\tUPDATED", all, func(a *jsonview.Agent) []any {
			return []any{a.Name, a.ModelRef, a.Workflow, a.Policy, a.Version, a.UpdatedAt}
		})
	})
}

// oneAgent names the agent of a command.
type oneAgent struct {
	client.Connection
	show.Printer
	Name string `arg:"" help:"Name of the agent."`
}

type getCommand struct{ oneAgent }

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewAgentServiceClient(conn).GetAgent(ctx, &statev1.GetAgentRequest{Name: c.Name})
		if err != nil {
			return err
		}
		view := jsonview.AgentOf(resp.GetAgent())
		return c.Print(io.Out, view, func(w *show.Sheet) {
			t := show.Rows{W: w}
			t.Row("agent", view.Name)
			t.Row("id", view.AgentID)
			t.Row("model", view.ModelRef)
			t.Row("instructions", view.Instructions)
			t.Row("tools", strings.Join(view.ToolRefs, ", "))
			t.Row("components", strings.Join(view.StateRefs, ", "))
			t.Row("workflow", view.Workflow)
			t.Row("policy", view.Policy)
			if view.EnableConversations {
				t.Row("conversations", "continued")
			}
			t.Time("updated", view.UpdatedAt)
			t.Row("version", fmt.Sprint(view.Version))
		})
	})
}

type deleteCommand struct {
	oneAgent
	ExpectedVersion int64 `help:"Fail unless the agent is at this version." placeholder:"N"`
}

func (c *deleteCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		_, err := statev1.NewAgentServiceClient(conn).DeleteAgent(ctx, &statev1.DeleteAgentRequest{Name: c.Name, ExpectedVersion: c.ExpectedVersion})
		if err != nil {
			return err
		}
		view := struct {
			Name    string `json:"name"`
			Deleted bool   `json:"deleted"`
		}{c.Name, true}
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintf(w, "deleted\t%s\n", show.Text(c.Name)) })
	})
}
