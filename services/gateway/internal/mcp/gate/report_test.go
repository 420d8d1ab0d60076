package gate

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRealNames: a link does not hide which file a call has changed (S3.8, S4.1).
func TestRealNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	for _, dir := range []string{"real/pb/hooks", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"real/pb/hooks/a.js", "real/plain.js", "elsewhere/x.js"} {
		if err := os.WriteFile(filepath.Join(base, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{
		"link": "real", "real/short.js": "pb/hooks/a.js", "real/h": "pb/hooks", "real/out.js": "../elsewhere/x.js", "real/loop.js": "loop.js",
	} {
		if err := os.Symlink(to, filepath.Join(base, from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ workspace, tool, input, want string }{
		{real, "mcp__fs__write_file", `{"path":"plain.js","content":""}`, ""},
		{real, "mcp__fs__write_file", `{"path":"short.js","content":""}`, "pb/hooks/a.js"},
		{real, "mcp__fs__write_file", `{"path":"` + real + `/short.js","content":""}`, "pb/hooks/a.js"},
		{link, "mcp__fs__write_file", `{"path":"` + link + `/short.js","content":""}`, "pb/hooks/a.js"},
		{link, "mcp__fs__write_file", `{"path":"` + real + `/plain.js","content":""}`, "plain.js"},
		{real, "mcp__fs__write_file", `{"path":"h/a.js","content":""}`, "pb/hooks/a.js"},
		{real, "move_file", `{"source":"h/gone.js","destination":"plain.js"}`, "pb/hooks/gone.js"},
		{real, "mcp__fs__write_file", `{"path":"out.js","content":""}`, base + "/elsewhere/x.js"},
		{real, "mcp__fs__write_file", `{"path":"loop.js","content":""}`, ""},
		{real, "mcp__fs__write_file", `{"path":"no/such/folder.js","content":""}`, ""},
		{real, "mcp__fs__read_file", `{"path":"short.js"}`, ""},
		{real, "mcp__fs__write_file", `{"path":7}`, ""},
		{"", "mcp__fs__write_file", `{"path":"short.js","content":""}`, ""},
		{base + "/missing", "mcp__fs__write_file", `{"path":"short.js","content":""}`, ""},
	} {
		if got := strings.Join(changedFiles(row.workspace, row.tool, []byte(row.input)), " "); got != row.want {
			t.Errorf("%s of %s in %s: %q, want %q", row.tool, row.input, row.workspace, got, row.want)
		}
	}
}
