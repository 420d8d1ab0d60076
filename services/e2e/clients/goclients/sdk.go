package main

import (
	"context"
	"net/http"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkClient is a client of the official SDK, of its first release.
type sdkClient struct{ session *mcp.ClientSession }

// header adds the caller's identity.
type header map[string]string

func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func headers(token, session string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token, "X-Interlock-Session": session}
}

func openSDK(ctx context.Context, _ string, way []string) (client, error) {
	var transport mcp.Transport
	if way[0] == "http" {
		transport = &mcp.StreamableClientTransport{Endpoint: way[1], HTTPClient: &http.Client{Transport: header(headers(way[2], way[3]))}}
	} else {
		transport = &mcp.CommandTransport{Command: exec.Command(way[1], way[2:]...)}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil).Connect(ctx, transport, nil)
	return sdkClient{session}, err
}

func (c sdkClient) tools(ctx context.Context) (names []string, err error) {
	list, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c sdkClient) call(ctx context.Context, tool string, arguments map[string]any) (text string, isError bool, err error) {
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", false, err
	}
	for _, content := range result.Content {
		if part, ok := content.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	return text, result.IsError, nil
}

func (c sdkClient) prompt(ctx context.Context, name string) (text string, err error) {
	result, err := c.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
	if err != nil {
		return "", err
	}
	for _, message := range result.Messages {
		if part, ok := message.Content.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	return text, nil
}

func (c sdkClient) read(ctx context.Context, uri string) (text string, err error) {
	result, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	for _, content := range result.Contents {
		text += content.Text
	}
	return text, nil
}

func (c sdkClient) close() { _ = c.session.Close() }
