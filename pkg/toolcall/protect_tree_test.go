package toolcall_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestFoldersAbove: S13.2: a tool that takes a folder takes the protected files below it.
func TestFoldersAbove(t *testing.T) {
	t.Parallel()
	at := toolcall.Places{Folder: "/home/me/w", Data: []string{"/home/me/.local/state/interlock/w1-0123456789ab"}, Programs: []string{"/opt/tools/interlock"}}
	code := func(tool, input string) toolcall.Code {
		code, _ := toolcall.SelfProtected(nil, nil, toolcall.Call{Tool: tool, Input: []byte(input), Places: at})
		return code
	}
	for _, c := range [][2]string{
		{"mcp__fs__move", `{"source": "/home/me/.local", "destination": "/tmp/x"}`},
		{"mcp__fs__copy_directory", `{"from": "/home/me/.local/state", "to": "x"}`},
		{"mcp__fs__zip", `{"paths": ["../.local"], "out": "x.zip"}`},
		{"mcp__fs__delete_directory", `{"path": ".."}`},
		{"mcp__fs__delete_directory", `{"path": "/home/me/w"}`},
		{"mcp__fs__delete_directory", `{"path": "."}`},
		{"mcp__fs__move_file", `{"source": "/opt/tools", "destination": "/tmp/x"}`},
		{"mcp__fs__remove", `{"path": "/opt"}`},
		{"mcp__fs__create_archive", `{"source": "/home"}`},
		{"mcp__fs__move", `{"source": "~/.local", "to": "x"}`},
		{"mcp__fs__rename", `{"old": "/home/me/w", "new": "/home/me/v"}`},
		{"mcp__fs__extract_archive", `{"file": "x.tar", "to": "/opt/tools"}`},
	} {
		if got := code(c[0], c[1]); got != toolcall.CodeSelfProtected {
			t.Errorf("%s %s: %q", c[0], c[1], got)
		}
	}
	for _, c := range [][2]string{
		{"mcp__fs__move", `{"source": "src/a", "destination": "src/b"}`},
		{"mcp__fs__copy_directory", `{"from": ".", "to": "/tmp/x"}`},
		{"mcp__fs__delete_directory", `{"path": "build"}`},
		{"mcp__fs__zip", `{"paths": ["/home/me/w/src"]}`},
		{"mcp__fs__list_directory", `{"path": ".."}`},
		{"mcp__fs__read_file", `{"path": "/home/me/x"}`},
	} {
		if got := code(c[0], c[1]); got != "" {
			t.Errorf("passes %s %s: %q", c[0], c[1], got)
		}
	}
	for _, line := range []string{
		"cp x/interlock /opt/tools/", "cp x/interlock /opt/tools", "cp x/* /opt/tools/", "cp -t /opt/tools x/interlock", "cp --target-directory=/opt/tools x/interlock", "mv /opt/tools /tmp/x",
		"mv x/interlock /opt/tools", "tar xf x.tar -C /opt/tools", "tar -xf x.tar --directory=/opt/tools", "mount --bind x /opt/tools", "cd /opt && mv tools x", "rsync -a x/ /opt/tools/",
		"cp -r x/. /opt/tools", "install x/interlock /opt/tools", "ln -sf /tmp/interlock /opt/tools/", "rm -rf /opt/tools", "unzip x.zip -d /opt/tools", "cd /opt/tools && cp /tmp/interlock .",
	} {
		input := lineCall(line)
		input.Places = at
		if got, _ := toolcall.SelfProtected(nil, nil, input); got != toolcall.CodeSelfProtected {
			t.Errorf("%s: %q", line, got)
		}
	}
	for _, line := range []string{
		"cp x/other /opt/tools/", "cp /opt/tools/other x", "mv a b", "tar xf x.tar", "tar xf x.tar -C build", "cp -r src/* dist/", "rsync -a src/ dist/", "ln -s a b", "install x/y /usr/local/bin", "rm -rf build",
	} {
		input := lineCall(line)
		input.Places = at
		if got, _ := toolcall.SelfProtected(nil, nil, input); got != "" {
			t.Errorf("passes %s: %q", line, got)
		}
	}
}
