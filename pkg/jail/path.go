package jail

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CheckPath reports why a text is not a path for `read`, `write` or `caches`, and how to write it: nil when
// it is one.
func CheckPath(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("the path is empty; write one or remove the item")
	case strings.ContainsAny(name, "*?[]{}$`\\"):
		return errors.New("a path has no wildcards, variables and backslashes; name a folder, for the home folder with ~/")
	case strings.HasPrefix(name, "~") && name != "~" && !strings.HasPrefix(name, "~/"):
		return errors.New("only ~/ of the user who runs the command is known; write the other folder from /")
	}
	switch clean := Clean(name); {
	case clean == "/" || clean == "~" || clean == ".":
		return errors.New("it is everything; name a folder below")
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return errors.New("it leads out of the workspace; write it from / or ~/")
	case strings.HasPrefix(clean, "/proc/") || strings.HasPrefix(clean, "/sys/") || strings.HasPrefix(clean, "/dev/"),
		clean == "/proc", clean == "/sys", clean == "/dev":
		return errors.New("jails have their own /proc, /sys and /dev; remove the item")
	}
	return nil
}

// CheckRead reports why an entry of `read` shows nothing that is hidden.
func CheckRead(name string) error {
	name = Clean(name)
	if slices.Contains(hidden(), name) {
		return nil
	}
	for _, entry := range hidden() {
		if within(name, entry) {
			return fmt.Errorf("it is in %s, which is hidden as a whole; list %s", entry, entry)
		}
	}
	if below := slices.DeleteFunc(slices.Clone(hidden()), func(entry string) bool { return !within(entry, name) }); len(below) > 0 {
		return fmt.Errorf("entries of \"read\" are the hidden paths themselves; list those that are needed of %s", strings.Join(below, ", "))
	}
	return errors.New("it is not hidden, so commands read it anyway; remove the item")
}

// CheckWrite reports why an entry of `write` or `caches` lets a command change nothing.
func CheckWrite(name string) error {
	name = Clean(name)
	for _, entry := range hookFiles() {
		if within(name, entry) || hooksBelow(name) != "" && !absolute(name) {
			entry = cmp.Or(hooksBelow(name), entry)
			return fmt.Errorf("%s hooks Interlock into clients, and no command changes it; remove the item", entry)
		}
	}
	for _, entry := range hidden() {
		if within(name, entry) {
			return fmt.Errorf("%s is hidden; list it in \"read\" as well, or remove the item", entry)
		}
	}
	for _, entry := range runLater() {
		if name != entry && within(name, entry) {
			return fmt.Errorf("it is in %s, which is protected as a whole; list %s", entry, entry)
		}
	}
	return nil
}

// within reports that a clean path is a folder, or is in it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// Changes reports that the rules let commands change a path, for good or in a copy of the run.
func (r *Rules) Changes(name string) bool {
	name = Clean(name)
	in := func(entry string) bool { return within(name, Clean(entry)) }
	return slices.ContainsFunc(r.Write, in) || slices.ContainsFunc(r.Caches, in)
}

// MayChange reports that the profile may let a command change a file of a workspace.
func (p *Profile) MayChange(workspace string) bool {
	return p.Writes == WritesAllow || workspace == "" && len(p.Write) > 0 || slices.ContainsFunc(p.Write, func(name string) bool {
		rest, home := strings.CutPrefix(name, "~")
		if !home && !strings.HasPrefix(name, "/") {
			return name != ".git"
		}
		return home && strings.Contains(workspace+"/", rest+"/") || within(workspace, name) || within(name, workspace)
	})
}

// Protects reports a path, such as ~/.bashrc, that no command changes unless `write` names it.
func Protects(name string) bool {
	name = Clean(name)
	return slices.ContainsFunc(runLater(), func(entry string) bool { return within(name, entry) }) ||
		slices.ContainsFunc(hookFiles(), func(entry string) bool { return within(name, entry) })
}
