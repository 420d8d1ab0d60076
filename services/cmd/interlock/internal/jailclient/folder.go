package jailclient

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Claude Code keeps the folder that a command has changed to for the next one: its shell writes it to a file when the line
// has ended. The shell that starts a jail does not get there, and its folder is not the command's. So the jail says where the
// command ended, and this program writes the file.

// changesFolder are the commands that change the folder of a shell.
var changesFolder = regexp.MustCompile(`(^|[^\w./-])(cd|pushd|popd)($|[^\w./-])`)

// handingOut has a line end by writing its folder to descriptor 3.
const handingOut = "trap 'pwd -P >&3' EXIT\n"

// longestFolder bounds it, and handingOver how long it is waited for.
const (
	longestFolder = 4096
	handingOver   = time.Second
)

// folderFile returns where the shell that has started this process would write its folder: the end of Claude Code's line.
// It is empty for any other shell.
func folderFile() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	if err != nil {
		return ""
	}
	words := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	found := writesFolder.FindStringSubmatch(words[len(words)-1])
	if len(found) < 2 || !temporary(found[1], []string{"/tmp", os.TempDir(), os.Getenv("CLAUDE_CODE_TMPDIR")}) {
		return ""
	}
	return found[1]
}

// temporary is whether a file is in one of the folders for temporary files, and no link is on the way to it. A client that is not
// Claude Code may have started the agent's own words, which must name no other place.
func temporary(file string, folders []string) bool {
	if !filepath.IsAbs(file) || file != filepath.Clean(file) {
		return false
	}
	at, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil || folder == "" || real == "/" {
			return false
		}
		rest, inside := strings.CutPrefix(filepath.Dir(file)+"/", strings.TrimSuffix(folder, "/")+"/")
		return inside && at == filepath.Join(real, rest)
	})
}

var writesFolder = regexp.MustCompile(`&& pwd -P >\| '?([\w./-]*/claude-[\w-]+-cwd)'?$`)

// handOut starts to read the folder of a command; the function that it returns has the folder written when that is one of the
// workspace.
func handOut(file, workspace string) (note *os.File, end func(), err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("hand the folder out: %w", err)
	}
	return write, func() {
		defer read.Close()
		write.Close()
		if read.SetReadDeadline(time.Now().Add(handingOver)) != nil {
			return
		}
		text, _ := io.ReadAll(io.LimitReader(read, longestFolder)) // a program in the background may have it open
		folder, ended := bytes.CutSuffix(text, []byte("\n"))
		if ended && within(string(folder), workspace) {
			writeFolder(file, string(folder))
		}
	}, nil
}

// within reports whether a path is a folder of a workspace.
func within(folder, workspace string) bool {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil || real != folder || workspace == "" {
		return false
	}
	info, err := os.Stat(real)
	return err == nil && info.IsDir() && (real == workspace || strings.HasPrefix(real, strings.TrimSuffix(workspace, "/")+"/"))
}
