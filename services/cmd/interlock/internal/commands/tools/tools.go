// Package tools proposes descriptions of the tools of MCP servers behind the gate, and accepts them.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Command is the family of these commands.
type Command struct {
	Describe describeCommand `cmd:"" help:"Propose descriptions of a server's tools by their schemas, or accept them."`
}

type describeCommand struct {
	client.Connection
	Server string `arg:"" optional:"" help:"Name of the server; all that are pinned by default."`
	File   string `help:"Propose or accept the descriptions of this file: the output of this command, edited; - is standard input." placeholder:"FILE"`
	Accept string `help:"Accept the descriptions with this digest, as this command has shown it, in place of the server's others." placeholder:"HEX"`
}

// proposal is the JSON of what can be accepted. --file reads its tools.
type proposal struct {
	Server string `json:"server"`
	Digest string `json:"digest"`
	// Tools is as "meta.tools" has it.
	Tools       json.RawMessage   `json:"tools"`
	Accepted    []string          `json:"accepted,omitempty"`
	Undescribed []string          `json:"undescribed,omitempty"`
	Others      map[string]string `json:"other_arguments,omitempty"`
	ByAgents    []string          `json:"reported_by_agents,omitempty"`
}

func (c *describeCommand) Run(ctx context.Context, io console.Streams) error {
	if c.Server == "" && c.File+c.Accept != "" {
		return console.Misusedf("--file and --accept are for the tools of one server: name the server")
	}
	text, err := c.descriptions(io)
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		service := policyv1.NewUpstreamServiceClient(conn)
		if c.Accept != "" {
			return c.accept(ctx, io, service, text)
		}
		servers := []string{c.Server}
		if c.Server == "" {
			resp, err := service.ListUpstreamTools(ctx, &policyv1.ListUpstreamToolsRequest{})
			if err != nil {
				return err
			}
			servers = serversOf(resp.GetTools())
		}
		for _, server := range servers {
			if err := propose(ctx, io, service, server, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// descriptions returns those of the file; empty for none.
func (c *describeCommand) descriptions(io console.Streams) (string, error) {
	if c.File == "" {
		return "", nil
	}
	source, err := input.File(c.File, io.In)
	if err != nil {
		return "", err
	}
	v, problem := document.Parse(source, input.Limits)
	if problem != nil {
		return "", fmt.Errorf("%s: %s", c.File, problem.Message)
	}
	tools, ok := v.Get("tools")
	if !ok {
		return "", fmt.Errorf("%s has no \"tools\": give the output of `interlock tools describe %s`, edited", c.File, c.Server)
	}
	return tools.String(), nil
}

func serversOf(all []*policyv1.UpstreamTool) (servers []string) {
	for _, tool := range all {
		servers = append(servers, tool.GetServer())
	}
	slices.Sort(servers)
	return slices.Compact(servers)
}

func (c *describeCommand) accept(ctx context.Context, io console.Streams, service policyv1.UpstreamServiceClient, text string) error {
	resp, err := service.AcceptUpstreamDescriptions(ctx, &policyv1.AcceptUpstreamDescriptionsRequest{Server: c.Server, Descriptions: text, Digest: c.Accept})
	if err != nil {
		return err
	}
	return show.JSON(io.Out, struct {
		Accepted []string `json:"accepted"`
	}{append([]string{}, resp.GetTools()...)})
}

func propose(ctx context.Context, io console.Streams, service policyv1.UpstreamServiceClient, server, text string) error {
	resp, err := service.DescribeUpstreamTools(ctx, &policyv1.DescribeUpstreamToolsRequest{Server: server, Descriptions: text})
	if err != nil {
		return err
	}
	return show.JSON(io.Out, proposal{
		server, resp.GetDigest(), json.RawMessage(resp.GetDescriptions()), resp.GetAccepted(), resp.GetUndescribed(), resp.GetOtherArguments(),
		resp.GetReportedByAgents(),
	})
}
