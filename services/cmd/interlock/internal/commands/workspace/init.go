// Package workspace sets a workspace up: `interlock init`.
package workspace

// Init is the family of commands that set workspaces up.
type Init struct {
	ClaudeCode claudeCodeCommand `cmd:"" name:"claude-code" help:"Write Claude Code's hooks and MCP server into this workspace."`
}
