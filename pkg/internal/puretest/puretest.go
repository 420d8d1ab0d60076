// Package puretest checks that a package is pure: values in, values out
// (docs/architecture). It is for the tests of the pure packages and reads their
// sources; no other code may import it.
package puretest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/interlock-run/interlock/pkg/"

// pure are the packages at the lowest level, which may import one another.
var pure = []string{"authority", "workflow", "process", "shell", "toolcall", "toolinput", "facet", "visible", "mail", "sqlscan", "importer", "rules", "document", "consent", "signature", "pathglob", "session", "toolname", "condition", "evidence", "scenario", "jail", "verify", "verify/model", "verify/calls", "verify/explore", "verify/report", "verify/migrate", "verify/conform"}

// forbidden do I/O, read the time, or answer differently each time.
var forbidden = []string{
	"os", "net", "log", "io/ioutil", "math/rand", "crypto/rand", "syscall", "unsafe", "plugin", "database/sql", "testing",
	"runtime/debug", "html/template", "text/template",
}

// forbiddenCalls are functions of packages that are otherwise pure.
var forbiddenCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// Check fails the test of the package in the current folder when a file of it
// that is not a test imports or calls impure code, or imports a package of
// this module that is not at the lowest level. Packages in allowed are allowed.
func Check(t *testing.T, allowed ...string) {
	t.Helper()
	files := sources(t)
	if len(files) == 0 {
		t.Fatal("no source file was found; run the test in the package's folder")
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range Problems(parsed, allowed) {
			t.Errorf("%s: %s", file, problem)
		}
	}
}

func sources(t *testing.T) []string {
	t.Helper()
	entries, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(entries, func(name string) bool {
		return strings.HasSuffix(filepath.Base(name), "_test.go")
	})
}

// Problems lists the impure parts of one file.
func Problems(file *ast.File, allowed []string) []string {
	var problems []string
	names := map[string]string{} // name in the file to import path
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{err.Error()}
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
		switch {
		case slices.Contains(allowed, path):
		case impure(path):
			problems = append(problems, "imports "+path+", which is not pure")
		case name == "." && forbiddenCalls[path] != nil:
			problems = append(problems, "imports "+path+" without a name")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && slices.Contains(forbiddenCalls[names[x.Name]], selector.Sel.Name) {
			problems = append(problems, "uses "+names[x.Name]+"."+selector.Sel.Name+", which is not pure: make it an argument")
		}
		return true
	})
	return problems
}

func impure(path string) bool {
	if strings.HasPrefix(path, "github.com/interlock-run/interlock/") {
		name, ours := strings.CutPrefix(path, module)
		return !ours || !slices.Contains(pure, name)
	}
	return slices.ContainsFunc(forbidden, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}
