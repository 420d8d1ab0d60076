// Package workspace sets a workspace up: `interlock init`.
package workspace

// Init is the family of commands that set workspaces up.
type Init struct {
	ClaudeCode claudeCodeCommand `cmd:"" name:"claude-code" help:"Write Claude Code's hooks and MCP server into this workspace."`
	Codex      codexCommand      `cmd:"" help:"Write Codex's hooks into this workspace."`
	Cursor     cursorCommand     `cmd:"" help:"Write Cursor's hooks and MCP server into this workspace."`
	Gemini     geminiCommand     `cmd:"" help:"Write Gemini CLI's hooks and MCP server into this workspace."`
	Copilot    copilotCommand    `cmd:"" help:"Write Copilot CLI's hooks into this workspace."`
}
