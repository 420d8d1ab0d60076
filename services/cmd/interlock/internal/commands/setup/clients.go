package setup

import "os/exec"

// clients returns the coding agents that are installed.
func clients() (all []string) {
	for _, of := range []struct{ program, name string }{
		{"claude", "Claude Code"}, {"codex", "Codex"}, {"cursor-agent", "Cursor"}, {"gemini", "Gemini CLI"}, {"copilot", "Copilot CLI"},
	} {
		if _, err := exec.LookPath(of.program); err == nil {
			all = append(all, of.name)
		}
	}
	return all
}
