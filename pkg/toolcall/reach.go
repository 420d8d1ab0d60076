package toolcall

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// spread writes out the alternatives of a pattern, and makes all else that it leaves open
// unknown: * and ?, classes, and groups such as @(a|b). Where there are too many
// alternatives, they are unknown too.
func spread(pattern string) []string {
	const most = 64
	done, open := []string{}, []string{pattern}
	for len(open) > 0 {
		text := open[0]
		open = open[1:]
		from, to, options := alternatives(text)
		switch {
		case from < 0:
			done = append(done, opened(text))
		case options == nil || len(done)+len(open)+len(options) > most:
			open = append(open, text[:from]+string(shell.Unknown)+text[to:])
		default:
			for _, option := range options {
				open = append(open, text[:from]+option+text[to:])
			}
		}
	}
	return done
}

// alternatives finds the first {a,b} of a text. One without an end reaches to the end.
func alternatives(text string) (from, to int, options []string) {
	from = strings.IndexByte(text, '{')
	if from < 0 {
		return -1, 0, nil
	}
	depth, start := 0, from+1
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				options = append(options, text[start:i])
				start = i + 1
			}
		case '}':
			if depth--; depth == 0 {
				if options != nil {
					options = append(options, text[start:i])
				}
				return from, i + 1, options
			}
		}
	}
	return from, len(text), nil
}

// openParts are the parts of a pattern that stand for several texts.
var openParts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[@!+?*]\([^)]*\)?|\[[!^]?\]?[^\]]*\]?|[*?]+`) })

func opened(pattern string) string {
	return openParts().ReplaceAllString(pattern, string(shell.Unknown))
}

// escapes are how code and addresses write characters.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[0-7]{3}`)
})

// unescaped returns a text with such characters written out.
func unescaped(text string) string {
	if !strings.ContainsAny(text, `%\`) {
		return text
	}
	return escapes().ReplaceAllStringFunc(text, func(e string) string {
		base, digits := 16, strings.TrimLeft(e, `%\xu`)
		switch {
		case e[0] == '%':
			digits = e[1:]
		case e[1] == 'x', e[1] == 'u':
			digits = e[2:]
		default:
			base = 8
		}
		n, err := strconv.ParseInt(digits, base, 32)
		if err != nil {
			return e
		}
		return string(rune(n))
	})
}

// textTools treat their input as prose.
var textTools = words(`todowrite todoread websearch askuserquestion exitplanmode enterplanmode updateplan taskcreate taskupdate think sequentialthinking`)

// inTexts looks at every text of an input, keys included, for paths that are named inside
// of it: code, queries, lists, addresses.
func (p Places) inTexts(tool string, input document.Value, edits bool) (is string, found bool) {
	var buf [toolname.LongestFolded]byte
	name := string(toolname.Folded(&buf, tool))
	if textTools[name] {
		return "", false
	}
	look := func(text string) bool {
		for _, text := range []string{text, unescaped(text), unescaped(unescaped(text))} {
			for token := range strings.FieldsFuncSeq(text, betweenNames) {
				if token = strings.TrimRight(token, "."); strings.ContainsAny(token, "./") && (p.isDataText(token) || p.isProcess(token)) {
					is = token
					return true
				}
				if !reads(tool) && strings.ContainsRune(token, '.') && p.namesSetting(token, true) {
					is = token
					return true
				}
			}
		}
		return false
	}
	var walk func(v document.Value) bool
	walk = func(v document.Value) bool {
		switch v.Kind() {
		case document.String:
			return look(v.Str())
		case document.Array:
			for _, e := range v.Elements() {
				if walk(e) {
					return true
				}
			}
		case document.Object:
			for key, e := range v.Members() {
				switch m := toolinput.MeaningOf(key); {
				case edits && (m == toolinput.OldText || m == toolinput.NewText || m == toolinput.ContentText || m == toolinput.PatchText), m == toolinput.Note, name == "grep" && key == "pattern":
				case look(key), walk(e):
					return true
				}
			}
		}
		return false
	}
	return is, walk(input)
}

// isDataText does the work of namesData for a name inside of a text, where patterns are
// rare: a part that is the folder itself, or a pattern with one of its files.
func (p Places) isDataText(token string) bool {
	name := plainName(token)
	return slices.Contains(strings.Split(name, "/"), dataFolder) || p.inData(name) ||
		strings.ContainsAny(token, "*?[") && p.isData(token, true)
}

// isProcess reports a path of the memory, the environment, or the open files of a
// process.
func (p Places) isProcess(name string) bool {
	name = fromURL(name)
	if !strings.HasPrefix(name, "/") && p.Folder != "" {
		name = p.Folder + "/" + name
	}
	return slices.ContainsFunc(spread(strings.TrimPrefix(name, "@")), func(name string) bool {
		if strings.HasPrefix(name, "/dev/fd/") {
			return true
		}
		name = path.Clean(strings.ToLower(name))
		return strings.HasPrefix(name, "/proc/") && shell.OfProcess(name)
	})
}

// searches are tools that look through folders by patterns, with the keys of those.
var (
	searches   = words(`grep glob search searchfiles findfiles filesearch grepsearch globsearch listfiles searchfilecontent ripgrep rg find`)
	globKeys   = words(`glob globs include includes includepattern filepattern type`)
	globInputs = words(`pattern patterns query`)
)

// searchesData reports a search of a folder that holds a known data folder, by a pattern
// that could be one of its files: such patterns go before ignore files.
func (p Places) searchesData(tool string, input document.Value) bool {
	var buf [toolname.LongestFolded]byte
	name := string(toolname.Folded(&buf, tool))
	if !searches[name] {
		return false
	}
	root, globs := ".", []string{}
	for key, v := range input.Members() {
		var buf [toolname.LongestFolded]byte
		switch k := string(toolname.Folded(&buf, key)); {
		case toolinput.MeaningOf(key) == toolinput.PathText || k == "directory" || k == "dir" || k == "cwd" || k == "folder" || k == "root":
			if v.Kind() == document.String && v.Str() != "" {
				root = v.Str()
			}
		case k == "type":
			if v.Kind() == document.String && v.Str() == "json" {
				globs = append(globs, "*.json")
			}
		case globKeys[k], globInputs[k] && name != "grep" && name != "grepsearch" && name != "searchfilecontent" && name != "ripgrep" && name != "rg":
			eachText(v, &globs)
		}
	}
	return slices.ContainsFunc(globs, func(glob string) bool { return p.globMeets(root, glob) })
}

// globMeets reports that a pattern could be a file of a known data folder below a root.
func (p Places) globMeets(root, glob string) bool {
	if strings.HasPrefix(glob, "!") {
		return false
	}
	for _, folder := range p.below(root) {
		for _, one := range spread(lower(glob)) {
			last := path.Base(one)
			if isOwnFile(last) || strings.Trim(last, string(shell.Unknown)) == "" && strings.Contains(strings.TrimSuffix(one, last), string(shell.Unknown)) ||
				shell.CouldBe(last, path.Base(plainName(folder))) && strings.Trim(last, string(shell.Unknown)) != "" {
				return true
			}
		}
	}
	return false
}

// below returns the known data folders below a root.
func (p Places) below(root string) (folders []string) {
	if root = fromURL(root); !strings.HasPrefix(root, "/") {
		if p.Folder == "" {
			return nil
		}
		root = path.Join(p.Folder, root)
	}
	root = plainName(root)
	for _, folder := range p.Data {
		if root == "/" || within(plainName(folder), root) {
			folders = append(folders, folder)
		}
	}
	return folders
}
