package shell

import (
	"slices"
	"strings"
)

// The environment of a process is a file: /proc/PID/environ. Any path, glob or
// fragment that could be it is found.

const readsProcess = "may read the environment of a process"

// path keeps words that could name a file, and finds those that could name the
// environment of a process.
func (p builtinReader) path(w Word) {
	if !w.Static || strings.ContainsAny(w.Text, "./") {
		p.plan.Names = append(p.plan.Names, w)
	}
	p.pathInText(w)
}

// pathInText does the work of path for words that are no names of files themselves:
// patterns, and substitutes for a value.
func (p builtinReader) pathInText(w Word) {
	if !w.Static && strings.ContainsRune(w.Text, '/') || strings.Contains(w.Text, "proc") || strings.Contains(w.Text, "environ") || strings.Contains(w.Text, "/fd") {
		for token := range strings.FieldsFuncSeq(w.Text, betweenPaths) {
			if mayBeEnvironment(token) {
				p.find(Dumps, readsProcess, w.String())
				return
			}
		}
	}
}

// readersOfTrees read all files below a folder.
var readersOfTrees = wordSet(`grep egrep fgrep zgrep rg ripgrep ag ack ugrep tar cp rsync zip scp`)

// tree finds commands that read all files below /, those of /proc too.
func (p builtinReader) tree(program string, args []Word) {
	if !readersOfTrees[program] {
		return
	}
	for _, w := range args {
		if w.Text != "" && strings.Trim(w.Text, "/."+string(Unknown)) == "" && w.Text[0] == '/' {
			p.find(Dumps, "reads every file, including the environment of processes", w.String())
		}
	}
}

// betweenPaths reports characters that separate paths in scripts, options and addresses.
func betweenPaths(c rune) bool {
	return strings.ContainsRune(" \t\n\"'`=,;:@<>|&(){}", c)
}

// mayBeEnvironment reports a path that could be the environment of a process, or a
// folder that holds it.
func mayBeEnvironment(path string) bool {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	if strings.HasPrefix(path, "/dev/fd") && slices.Contains(parts, "..") { // /dev/fd is in /proc/self
		return true
	}
	for i, part := range parts {
		if part == "proc" && (i == 0 || parts[i-1] == "..") {
			return holdsEnvironment(parts[i+1:])
		}
	}
	if !couldBe(last, "environ") || strings.Trim(last, string(Unknown)) == "" || len(parts) == 1 {
		return false
	}
	before := parts[len(parts)-2]
	return isProcess(before) || strings.ContainsRune(path[:len(path)-len(last)], Unknown)
}

// processFiles are what a process's folder in /proc has that tells nothing of its
// environment.
var processFiles = map[string]bool{
	"status": true, "stat": true, "statm": true, "cmdline": true, "comm": true, "maps": true, "smaps": true, "limits": true,
	"io": true, "mounts": true, "mountinfo": true, "mountstats": true, "cgroup": true, "exe": true, "fd": true, "fdinfo": true,
	"sched": true, "schedstat": true, "oom_score": true, "oom_adj": true, "wchan": true, "uid_map": true, "gid_map": true, "ns": true,
	"net": true, "numa_maps": true, "pagemap": true, "personality": true, "sessionid": true, "loginuid": true, "setgroups": true,
}

// holdsEnvironment reports what below /proc is, could be or holds an environment.
func holdsEnvironment(below []string) bool {
	if len(below) == 0 {
		return true
	}
	last := below[len(below)-1]
	switch {
	case slices.Contains(below, ".."):
		return true
	case len(below) == 1:
		return isProcess(below[0]) || last == "kcore"
	case below[0] == "sys" || below[0] == "net" || below[0] == "bus" || below[0] == "fs" || below[0] == "driver" || below[0] == "irq":
		return strings.ContainsRune(last, Unknown)
	case len(below) == 3 && below[1] == "fdinfo":
		return false
	case len(below) <= 3 && below[1] == "fd": // what is open to another, such as Interlock's database, is not in a line's reach
		return below[0] != "self" && below[0] != "thread-self"
	}
	return !processFiles[last]
}

// isProcess reports what names a process in /proc, or could.
func isProcess(part string) bool {
	return part == "self" || part == "thread-self" || part == ".." || digits(part) || strings.ContainsRune(part, Unknown)
}

// couldBe reports that a text with unknown parts could be a word.
func couldBe(text, word string) bool {
	fixed := strings.Split(text, string(Unknown))
	if len(fixed) == 1 {
		return text == word
	}
	if !strings.HasPrefix(word, fixed[0]) {
		return false
	}
	word = word[len(fixed[0]):]
	end := fixed[len(fixed)-1]
	for _, middle := range fixed[1 : len(fixed)-1] {
		_, after, ok := strings.Cut(word, middle)
		if !ok {
			return false
		}
		word = after
	}
	return len(end) <= len(word) && strings.HasSuffix(word, end)
}
