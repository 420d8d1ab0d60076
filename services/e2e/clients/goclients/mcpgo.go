package main

import (
	"context"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGoClient is a client of mcp-go.
type mcpGoClient struct{ c *mcpgo.Client }

func openMCPGo(ctx context.Context, protocol string, way []string) (client, error) {
	var c *mcpgo.Client
	var err error
	if way[0] == "http" {
		c, err = mcpgo.NewStreamableHttpClient(way[1], transport.WithHTTPHeaders(headers(way[2], way[3])))
	} else {
		c, err = mcpgo.NewStdioMCPClient(way[1], nil, way[2:]...)
	}
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var first mcp.InitializeRequest
	first.Params.ProtocolVersion, first.Params.ClientInfo = protocol, mcp.Implementation{Name: "mcp-go", Version: "1"}
	_, err = c.Initialize(ctx, first)
	return mcpGoClient{c}, err
}

func (m mcpGoClient) tools(ctx context.Context) (names []string, err error) {
	list, err := m.c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (m mcpGoClient) call(ctx context.Context, tool string, arguments map[string]any) (text string, isError bool, err error) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, arguments
	result, err := m.c.CallTool(ctx, request)
	if err != nil {
		return "", false, err
	}
	for _, content := range result.Content {
		if part, ok := content.(mcp.TextContent); ok {
			text += part.Text
		}
	}
	return text, result.IsError, nil
}

func (m mcpGoClient) prompt(ctx context.Context, name string) (text string, err error) {
	var request mcp.GetPromptRequest
	request.Params.Name = name
	result, err := m.c.GetPrompt(ctx, request)
	if err != nil {
		return "", err
	}
	for _, message := range result.Messages {
		if part, ok := message.Content.(mcp.TextContent); ok {
			text += part.Text
		}
	}
	return text, nil
}

func (m mcpGoClient) read(ctx context.Context, uri string) (text string, err error) {
	var request mcp.ReadResourceRequest
	request.Params.URI = uri
	result, err := m.c.ReadResource(ctx, request)
	if err != nil {
		return "", err
	}
	for _, content := range result.Contents {
		if part, ok := content.(mcp.TextResourceContents); ok {
			text += part.Text
		}
	}
	return text, nil
}

func (m mcpGoClient) close() { _ = m.c.Close() }
