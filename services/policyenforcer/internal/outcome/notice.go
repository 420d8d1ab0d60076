package outcome

import (
	"cmp"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/store"
)

// mostNamed bounds the files and hosts that a notice names.
const mostNamed = 5

// noticedFile identifies a file whose change was discarded in a state of a run.
type noticedFile struct {
	run         store.Key
	state, file string
}

// news returns the files that the notice of a command names: a discarded change once for each file and state,
// because builds and tests write the same files each time.
func (o *Service) news(run store.Key, state string, w *testimony) []string {
	files := w.kept()
	if w.profile.Writes != jail.WritesDiscard {
		return files
	}
	return slices.DeleteFunc(files, func(file string) bool {
		key := noticedFile{run, state, file}
		by, known := o.noticed.Get(key)
		if !known {
			o.noticed.Put(key, w.CallID, nil)
		}
		return known && by != w.CallID // a commit may be tried again
	})
}

// kept returns the files that the jail has kept from a command, without the records of programs: unprotected
// hidden files outside of the workspace, and git's times of files.
func (w *testimony) kept() (files []string) {
	for _, file := range w.Tried {
		if file != ".git/index" && (!path.IsAbs(file) || !strings.Contains(file, "/.") || w.protects(file)) {
			files = append(files, file)
		}
	}
	return files
}

// protects reports a file in a protected place of the home folder, whose own place the server does not know.
func (w *testimony) protects(file string) bool {
	return slices.ContainsFunc(w.profile.Protect, func(entry string) bool {
		place, home := strings.CutPrefix(entry, "~/")
		return home && strings.Contains(file+"/", "/"+place+"/")
	})
}

// notice describes the changes and connections that the jail has refused, and how a person allows them. It is
// empty for none.
func (w *testimony) notice(state string, files []string) string {
	var sentences []string
	if len(files) > 0 {
		sentences = append(sentences, w.tried(state, files))
	}
	unnamed, named := w.refused()
	if len(unnamed) > 0 {
		sentences = append(sentences, fmt.Sprintf("The jail refused connections to %s. The author of the workflow can allow them in state %s: \"jail\": {\"hosts\": [%s]}.",
			few(unnamed), document.Quote(state), document.Quote(unnamed[0])))
	}
	if len(named) > 0 {
		sentences = append(sentences, fmt.Sprintf("The jail refused connections to %s, although \"hosts\" names it: %s.", document.Quote(named[0].Host), cmp.Or(named[0].Why, "the program's output says why")))
	}
	if w.TreeFailed != "" && w.profile.MayChange(w.profile.Workspace) {
		sentences = append(sentences, fmt.Sprintf("The jail does not know all files that the command has changed: %s. So they count as any file: the first interrupt of the workflow may fire, "+
			"a limit of files is reached, and evidence rests on calls alone.", w.TreeFailed))
	}
	if len(w.Left) > 0 && w.Stopped == "" {
		sentences = append(sentences, fmt.Sprintf("Programs end with their command line, so the jail ended %s. Start, use and stop a program in one line, or run the line in the background; "+
			"the author of the workflow can let programs of state %s run on: \"jail\": {\"background\": true}.", few(w.Left), document.Quote(state)))
	}
	if w.Stopped != "" {
		sentences = append(sentences, fmt.Sprintf("The jail ended the command: %s. The author of the workflow can raise that in \"jail\": {\"limits\": {...}}.", w.Stopped))
	}
	return strings.Join(sentences, " ")
}

// refused returns the hosts that the jail has refused: those that no rule names, and others.
func (w *testimony) refused() (unnamed []string, named []jail.Asked) {
	rules, err := jail.ParseHosts(w.profile.Hosts)
	for _, asked := range w.Hosts {
		if asked.Allowed {
			continue
		}
		host, port, _ := net.SplitHostPort(asked.Host)
		number, _ := strconv.Atoi(port)
		if err == nil && len(w.profile.Hosts) > 0 && rules.Refusal(host, number) == "" {
			named = append(named, asked)
		} else {
			unnamed = append(unnamed, asked.Host)
		}
	}
	return unnamed, named
}

func (w *testimony) tried(state string, files []string) string {
	inside := slices.DeleteFunc(slices.Clone(files), path.IsAbs)
	if w.profile.Writes != jail.WritesDiscard || len(inside) == 0 {
		text := fmt.Sprintf("The jail kept these files as they were: %s.", few(files))
		if len(inside) < len(files) {
			text += " The author of the workflow can let commands change files outside of the workspace: \"jail\": {\"write\": [...]}."
		}
		if slices.Contains(files, ".git/config") {
			text += " Git obeys programs that \".git/config\" names, so only people change it: `git push -u` has pushed, and `git branch -d` has deleted, without it. " +
				"The author of the workflow can let commands change it: \"jail\": {\"write\": [\".git/config\"]}."
		}
		return text
	}
	text := fmt.Sprintf("State %s only reads, so these changes were discarded: %s. To keep changes of the workspace, move to a state that edits", document.Quote(state), few(files))
	for _, file := range inside {
		if folder := builds(file); folder != "" {
			return text + fmt.Sprintf("; the author of the workflow can keep a folder in a copy for later commands: \"jail\": {\"caches\": [%s]}.", document.Quote(folder))
		}
	}
	return text + "."
}

// buildFolders are names of folders that builds and tests fill. A folder of sources is no cache.
var buildFolders = []string{
	"target", "build", "dist", "out", "bin", "obj", "node_modules", "coverage", "vendor", "__pycache__", "_build", "tmp",
	".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".venv", "venv", ".gradle", ".next", ".nuxt", ".turbo", ".cache", ".terraform",
}

// builds returns the outermost folder of builds that has a file of the workspace, or empty.
func builds(file string) string {
	parts := strings.Split(file, "/")
	for i, name := range parts[:len(parts)-1] {
		if slices.Contains(buildFolders, name) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// few lists the first of some names.
func few(names []string) string {
	quoted := make([]string, 0, mostNamed)
	for _, name := range names[:min(len(names), mostNamed)] {
		quoted = append(quoted, document.Quote(name))
	}
	list := strings.Join(quoted, ", ")
	if more := len(names) - mostNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
