package demo

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type editInput struct {
	FilePath  string `json:"file_path"`
	OldString string `json:"old_string"`
	NewString string `json:"new_string"`
}

type readInput struct {
	FilePath string `json:"file_path"`
}

// serveTools returns an MCP server whose tools only describe their effect.
func serveTools(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "workspace", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read", Description: "read a file"},
		func(_ context.Context, _ *mcp.CallToolRequest, in readInput) (*mcp.CallToolResult, any, error) {
			return say("read " + in.FilePath), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "edit", Description: "edit a file"},
		func(_ context.Context, _ *mcp.CallToolRequest, in editInput) (*mcp.CallToolResult, any, error) {
			return say("edited " + in.FilePath), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "publish", Description: "publish the release"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return say("published"), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "test", Description: "run the tests"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return say("PASS"), nil, nil
		})
	return server.Run(ctx, &mcp.StdioTransport{})
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
