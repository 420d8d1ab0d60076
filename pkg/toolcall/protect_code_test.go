package toolcall_test

import (
	"encoding/json"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestOtherLanguages: S13.3: in lines that are no POSIX shell, each mention of a protected name denies.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	at := toolcall.Places{Folder: "/home/me/.local/w", Data: []string{"/home/me/.local/state/interlock/w1-0123456789ab"}}
	tools := map[string]string{
		"PowerShell": "command", "pwsh": "command", "cmd": "command", "mcp__x__cmd": "command", "mcp__x__powershell": "script",
		"mcp__x__run_it": "command", "REPL": "code", "mcp__x__do": "args",
	}
	code := func(tool, key, line string) toolcall.Code {
		input, err := json.Marshal(map[string]any{key: line})
		if err != nil {
			t.Fatal(err)
		}
		code, _ := toolcall.SelfProtected(nil, nil, toolcall.Call{Tool: tool, Input: input, Places: at})
		return code
	}
	for tool, key := range tools {
		for _, line := range []string{
			`Remove-Item .claude\settings.json`, `Set-Content -Path ".claude/settings.local.json" -Value x`, `del .mcp.json`, `ri .cl*\settings*`, "ri .cl`aude\\settings.json",
			`ri ('.cla' + 'ude/settings.json')`, `del .cla^ude\settings.json`, `Remove-Item (Join-Path .claude settings.json)`, `rd /s .codex`, `del .codex\hooks.json`,
			`Get-Content ..\state\i*\*\[t]*`, `gc ..\state\*\*\*`, `type ..\state\interlock\w1-0123456789ab\token.key`, `gc $env:USERPROFILE\.local\state\*\*\*`,
			`cd ..\state; cd i*; gc *\*`, `gc tokens.json`, `gc tok*`, `gc /home/me/.local/s*/i*/*/*`, `gc "~/.local/state/i*/*/*"`,
			`interlock approval approve x`, `& interlock.exe token mint`, `Stop-Process -Name interlock`, `pkill interlock`, `taskkill /im interlock.exe`, `spps -n interlock`,
		} {
			if got := code(tool, key, line); got != toolcall.CodeSelfProtected {
				t.Errorf("%s %s: %q", tool, line, got)
			}
		}
		for _, line := range []string{
			`Get-ChildItem *.json`, `gc src\*\*.go`, `Get-Process`, `Stop-Process -Name node`, `dotnet test`, `ri build`, `cd src; gc *`, `print(1 + 2)`, `gc package.json`,
		} {
			if got := code(tool, key, line); got != "" {
				t.Errorf("passes %s %s: %q", tool, line, got)
			}
		}
	}
}
