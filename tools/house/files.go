package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// house has all measurements.
type house struct {
	subjects []*subject
	packages []*room
}

// room is a package of Go.
type room struct {
	name                     string
	comments, strings, tests *subject
	files                    []*ast.File // of the product
	lines                    int
	support                  bool // of tests
}

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	// madeScript matches the first line of a generated script.
	madeScript = regexp.MustCompile(`\A(?:#|//|/\*) .*DO NOT EDIT`)
	// tests matches the scripts that are tests.
	tests = regexp.MustCompile(`(?:^|/)tests?/|\.test\.tsx?$`)
	// support matches the folders that only tests use.
	support = regexp.MustCompile(`(?:^|/)(?:\w*test|e2e|sdkhost|bench|testdata)(?:/|$)`)
	// skipped are folders with generated code, code of others, and builds.
	skipped = map[string]bool{"gen": true, "third_party": true, "node_modules": true, "dist": true, "bin": true, "testdata": true, ".git": true}
)

// measure reads the repository.
func measure(root string) (*house, error) {
	var sources, scripts, pages []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (skipped[entry.Name()] || strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		switch path.Ext(file) {
		case ".go":
			sources = append(sources, file)
		case ".ts", ".tsx", ".py":
			scripts = append(scripts, file)
		case ".md", ".proto":
			pages = append(pages, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	h := &house{}
	if err := h.readPackages(root, sources); err != nil {
		return nil, err
	}
	if err := h.readScripts(root, scripts); err != nil {
		return nil, err
	}
	return h, h.readPages(root, pages)
}

// readScripts reads the comments of TypeScript and Python, by folders.
func (h *house) readScripts(root string, files []string) error {
	folders := map[string]*subject{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if madeScript.Match(text) {
			continue
		}
		name := within(root, file)
		kind := "scripts "
		if tests.MatchString(name) {
			kind = "tests "
		}
		folder := kind + path.Dir(name)
		if folders[folder] == nil {
			folders[folder] = &subject{name: folder}
		}
		folders[folder].read(name, 1, script(string(text), path.Ext(name) == ".py"))
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if folders[name].words > 0 {
			h.subjects = append(h.subjects, folders[name])
		}
	}
	return nil
}

func (h *house) readPages(root string, files []string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		prose := markdown
		if path.Ext(file) == ".proto" {
			prose = proto
		}
		name := within(root, file)
		s := &subject{name: "page " + name}
		s.read(name, 1, prose(string(text)))
		h.subjects = append(h.subjects, s)
	}
	return nil
}

// parsed is one file of Go.
type parsed struct {
	name  string
	text  []byte
	file  *ast.File
	lines *token.FileSet
	err   error
}

// readPackages parses the files, as many at once as there are processors.
func (h *house) readPackages(root string, files []string) error {
	all := make([]parsed, len(files))
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				all[i] = parse(root, files[i])
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	group.Wait()
	rooms := map[string]*room{}
	for _, p := range all {
		if p.err != nil {
			return p.err
		}
		if generated.Match(p.text) {
			continue
		}
		folder := path.Dir(p.name)
		r := rooms[folder]
		if r == nil {
			r = &room{
				name: folder, support: support.MatchString(folder), comments: &subject{name: "comments " + folder},
				strings: &subject{name: "strings " + folder}, tests: &subject{name: "tests " + folder},
			}
			rooms[folder] = r
		}
		r.read(p)
	}
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		r := rooms[name]
		h.packages = append(h.packages, r)
		for _, s := range []*subject{r.comments, r.strings, r.tests} {
			if s.words > 0 {
				h.subjects = append(h.subjects, s)
			}
		}
	}
	return nil
}

func parse(root, file string) parsed {
	p := parsed{name: within(root, file), lines: token.NewFileSet()}
	if p.text, p.err = os.ReadFile(file); p.err == nil {
		p.file, p.err = parser.ParseFile(p.lines, file, p.text, parser.ParseComments)
	}
	return p
}

func within(root, file string) string {
	name, err := filepath.Rel(root, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(name)
}

// read adds a file to its package.
func (r *room) read(p parsed) {
	test := strings.HasSuffix(p.name, "_test.go")
	comments := r.comments
	if test || r.support {
		comments = r.tests
	}
	for _, group := range p.file.Comments {
		comments.read(p.name, p.lines.Position(group.Pos()).Line, prose(group))
	}
	if test {
		return
	}
	r.files = append(r.files, p.file)
	r.lines += codeLines(string(p.text))
	for _, declaration := range p.file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Doc != nil {
			comments.comment(p.name, p.lines.Position(f.Pos()).Line, f.Name.Name, f.Doc.Text())
		}
	}
	if r.support {
		return
	}
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(p.file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				tags[n.Tag] = true
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil {
				return true
			}
			line := p.lines.Position(n.Pos()).Line
			if tags[n] {
				text = help(text)
			}
			// Shorter literals are names and keys.
			if len(strings.Fields(text)) >= 3 {
				r.strings.read(p.name, line, strings.Split(text, "\n"))
			}
		}
		return true
	})
}

// codeLines counts the lines that are neither blank nor a comment.
func codeLines(text string) (n int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// help returns the sentences of a field's tag.
func help(tag string) string {
	var said []string
	for rest := tag; ; {
		_, after, ok := strings.Cut(rest, `:"`)
		if !ok {
			return strings.Join(said, ". ")
		}
		value, err := strconv.QuotedPrefix(`"` + after)
		if err != nil {
			return strings.Join(said, ". ")
		}
		text, _ := strconv.Unquote(value)
		said, rest = append(said, text), after[len(value)-1:]
	}
}

// prose returns the sentences of a comment, by lines: without directives and code, which is
// indented.
func prose(group *ast.CommentGroup) []string {
	var lines []string
	for _, comment := range group.List {
		for _, line := range strings.Split(comment.Text, "\n") {
			text, marked := strings.CutPrefix(line, "//")
			directive := marked && text != "" && text[0] != ' ' && text[0] != '\t'
			if directive || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "    ") {
				text = ""
			}
			lines = append(lines, text)
		}
	}
	return lines
}
