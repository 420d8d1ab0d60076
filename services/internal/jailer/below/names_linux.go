package below

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/jail"
)

// state is how the names in a folder are read.
type state byte

const (
	plain state = iota
	// top is the workspace itself: its own settings are protected by other means.
	top
	// topGit is its folder .git.
	topGit
	// git is a folder with the name .git.
	git
	// hooks is the folder hooks of a repository.
	hooks
	// partly is a folder of which some files are settings, such as .vscode.
	partly
	// whole is a folder of which all files are settings, such as .claude.
	whole
	// skipped is a folder that is not looked at.
	skipped
)

// Names are the settings to find.
type Names struct {
	whole   map[string]bool
	partly  map[string][]string
	git     bool
	skipped map[string]bool
	top     bool
	// text identifies them.
	text string
}

// NewNames reads the entries of a profile's Below. lifted are the paths that a command may change, relative to the folder
// that is walked; own is true where that folder is the workspace.
func NewNames(entries, lifted []string, own bool) *Names {
	n := &Names{whole: map[string]bool{}, partly: map[string][]string{}, skipped: map[string]bool{}, top: own}
	n.text = fmt.Sprintf("%q %q %v", entries, lifted, own)
	for _, entry := range entries {
		folder, file, two := strings.Cut(entry, "/")
		switch {
		case entry == jail.Repositories:
			n.git = true
		case two:
			n.partly[folder] = append(n.partly[folder], file)
		default:
			n.whole[entry] = true
		}
	}
	for _, path := range lifted {
		n.skipped[path] = true
	}
	return n
}

// marks are the names by which git takes a folder for a repository, and the settings that it has then.
type marks byte

const (
	hasHead marks = 1 << iota
	hasObjects
	hasRefs
	hasCommon
	hasConfig
	hasWorktree
	hasHooks
)

var markNames = map[string]marks{
	"HEAD": hasHead, "objects": hasObjects, "refs": hasRefs, "commondir": hasCommon,
	"config": hasConfig, "config.worktree": hasWorktree, "hooks": hasHooks,
}

// repository reports that git may take a folder for a repository.
func (f *folder) repository() bool {
	m := f.marks
	return f.state == git || m&hasHead != 0 && (m&hasCommon != 0 || m&hasObjects != 0 && m&hasRefs != 0)
}

// below returns the state of a folder in f.
func (n *Names) below(f *folder, name string) state {
	switch {
	case f.state == whole:
		return whole
	case f.state == hooks:
		return hooks
	case f.state == top && name == ".git":
		return topGit
	case f.state == top && n.whole[name],
		f.state == topGit && (name == "hooks" || name == "modules" || name == "worktrees"):
		return skipped // the profile's Protect has it, or the state lets commands change it
	case f.state == top && n.partly[name] != nil:
		return plain
	case f.state == partly && slices.Contains(n.partly[base(f.path)], name):
		return whole
	case n.whole[name]:
		return whole
	case n.git && name == ".git":
		return git
	case n.git && name == "hooks" && f.repository():
		return hooks
	case n.partly[name] != nil:
		return partly
	}
	return plain
}

// setting reports that what is no folder is a setting, by its name in f.
func (n *Names) setting(f *folder, name string, link bool) bool {
	switch f.state {
	case whole:
		return true
	case hooks:
		return !strings.HasSuffix(name, ".sample") || link
	case partly:
		if slices.Contains(n.partly[base(f.path)], name) {
			return true
		}
	}
	if n.git && f.state != topGit && f.repository() && markNames[name] > hasRefs && (name != "hooks" || link) {
		return true
	}
	if f.state == top {
		return false
	}
	return n.whole[name] || n.git && name == ".git" || link && n.partly[name] != nil
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}
