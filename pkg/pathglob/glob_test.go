package pathglob_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/randtest"
)

func compile(t testing.TB, pattern string) pathglob.Glob {
	t.Helper()
	g, err := pathglob.Compile(pattern)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	if g.String() != pattern {
		t.Errorf("%q became %q", pattern, g)
	}
	return g
}

// TestMatch: the table of the language, S3.8, and its consequences.
func TestMatch(t *testing.T) {
	t.Parallel()
	for pattern, names := range map[string]struct{ yes, no string }{
		"*.js":             {"app.js .js a\u200b.js", "src/app.js app.jsx app.JS"},
		"**/*.js":          {"app.js src/app.js a/b/c.js .js", "app.ts app.js/x"},
		"site/pb/**/*.js":  {"site/pb/main.js site/pb/hooks/a.js site/pb/a/b/c.js", "other/site/pb/main.js site/pb.js site/main.js"},
		"**/*.env*":        {".env .env.local a/.env.production deploy/prod.env", "environment.md env"},
		"src/?.rs":         {"src/a.rs src/é.rs", "src/ab.rs src/.rs a.rs x/src/a.rs"},
		"**/foo.js":        {"foo.js a/foo.js", "barfoo.js a/barfoo.js"},
		"**":               {"a a/b .a", ""},
		"*":                {"a .a", "a/b"},
		"src/**":           {"src/a src/a/b", "src srcs/a"},
		"src/**/*":         {"src/a src/a/b", "src"},
		"**/migrations/**": {"migrations/1 db/migrations/1.sql db/migrations/a/b", "migrations db/migrations xmigrations/1"},
		"a/**/b":           {"a/b a/x/b a/x/y/b", "ab a/xb xa/b"},
		"a**b":             {"ab axb", "a/b ax/yb"},
		"**a":              {"a ba", "b/a"},
		"**/**":            {"a a/b", ""},
		"***":              {"a ab", "a/b"},
		"a***":             {"a ab", "b a/b"},
		`a\***`:            {"a* a*b", "a ab"},
		"a[*]**":           {"a* a*b", "a"},
		"*a*b*":            {"ab xaybz", "ba a/b"},
		"**/.*":            {".a src/.a .a.b", "a .git/config"},
		"a|b":              {"a|b", "a b"},
		"^a.go$":           {"^a.go$", "a.go"},
		"a.go":             {"a.go", "axgo a.go.go"},
		"[a-c]x":           {"ax cx", "dx x -x"},
		"[!a-c]x":          {"dx -x", "ax x"},
		"[^a]":             {"b", "a"},
		"a[!x]b":           {"a-b", "a/b axb"},
		"[]]x":             {},
		`\*.js`:            {"*.js", "a.js"},
		`\[a\]`:            {"[a]", "a"},
		`\{a,b\}`:          {"{a,b}", "a b"},
		`a\,b`:             {"a,b", `a\,b`},
		"src/{a,b}.go":     {"src/a.go src/b.go", "src/c.go src/ab.go src/{a,b}.go"},
		"{src,docs}/**":    {"src/a docs/a/b", "src docs a"},
		"{src/**,a}":       {"src/x a", "src"},
		"{a,b/c}/{x,}y":    {"a/xy a/y b/c/xy b/c/y", "a/x b/y"},
		"{{a,b},c}":        {"a b c", "d"},
		"{a}":              {"a", "{a}"},
		"a{,.bak}":         {"a a.bak", "a."},
		"[{]a[,}]":         {"{a, {a}", "a"},
		"./src//*.go":      {"src/a.go", "a.go"},
		"src/../lib/*.go":  {"lib/a.go", "src/a.go"},
		"a b":              {"", "a"},
		"a,b":              {"a,b", "a b"},
		"!(a)":             {},
		"+(a)":             {"+(a)", "a aa"},
	} {
		g, err := pathglob.Compile(pattern)
		if names.yes == "" && names.no == "" {
			if err == nil {
				t.Errorf("%q is a pattern", pattern)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		for _, name := range strings.Fields(names.yes) {
			if !g.Match(name) {
				t.Errorf("%q does not match %q", pattern, name)
			}
		}
		for _, name := range append(strings.Fields(names.no), "", "/", "/a", "/a/b", "..", "../a", "a/", "src/") {
			if g.Match(name) {
				t.Errorf("%q matches %q", pattern, name)
			}
		}
	}
	if !compile(t, "a b").Match("a b") {
		t.Error("a blank is not itself")
	}
	if (pathglob.Glob{}).Match("a") {
		t.Error("no pattern matches")
	}
}

// TestMatchFold: where case does not count (CVE-2025-59944), nor how an accent is
// composed.
func TestMatchFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		fold, exact   bool
	}{
		{"**/.cursor/mcp.json", ".cUrSoR/mcp.json", true, false},
		{"**/.CURSOR/*.json", "a/.cursor/MCP.JSON", true, false},
		{"[a-c]*", "Bx", true, false},
		{"[A-Z].go", "b.go", true, false},
		{`\A.go`, "", false, false},
		{"{A,B}/x", "b/X", true, false},
		{"caf\u00e9.js", "cafe\u0301.js", true, false},
		{"cafe\u0301.js", "CAF\u00c9.js", true, false},
		{"stra\u00dfe", "STRASSE", false, false},
		{"k", "\u212a", true, false},
		{"a", "b", false, false},
		{"a", "a", true, true},
		{"?", "e\u0301", true, false},
	} {
		g, err := pathglob.Compile(c.pattern)
		if err != nil {
			if c.name != "" {
				t.Errorf("%q: %v", c.pattern, err)
			}
			continue
		}
		if got := g.MatchFold(c.name); got != c.fold {
			t.Errorf("%q folds %q: %t", c.pattern, c.name, got)
		}
		if got := g.Match(c.name); got != c.exact {
			t.Errorf("%q is %q: %t", c.pattern, c.name, got)
		}
	}
}

// TestCompileRefuses: S1.3 GLOB. A text that can match no changed file is not a pattern.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for pattern, says := range map[string]string{
		"": "write", " a": "spaces", "a ": "spaces", "a\nb": "control", "a\x00": "control", "\xff": "control",
		"/a": "relative", "~/a": "relative", "C:/a": "relative", `C:\a`: "relative", `src\a.go`: "relative", "{/a,b}": "relative",
		"../a": "outside", "a/../../b": "outside", "..": "outside", "{a,../b}": "outside",
		"a/": "folder", ".": "folder", "a/..": "folder", "{a/,b}": "folder", "!a": "negation",
		"[": "close", "[]": "close", "[]a]": "close", "{a": "close", "a}": "close", `a\`: "close", "[a/b]": "close", "[!]": "close",
		"**/../a": "without ..", "a/**/b/../c": "without ..", "{a,}": "empty",
		strings.Repeat("a", 1025):          "shorten",
		strings.Repeat("{a,aa}", 9):        "fewer",
		"{" + strings.Repeat("a,", 65):     "fewer",
		strings.Repeat("{a,b,c,d,e,f}", 8): "fewer",
	} {
		g, err := pathglob.Compile(pattern)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", pattern, err, says)
		}
		if g.Match("a") || g.Match("b") {
			t.Errorf("%q is refused, and matches", pattern)
		}
	}
}

// TestSetFirst: S4.1, S3.8. The first pattern wins, any name of a file counts, and
// a file outside matches no pattern.
func TestSetFirst(t *testing.T) {
	t.Parallel()
	set := pathglob.Set{compile(t, "docs/**"), {}, compile(t, "**/*.js"), compile(t, "site/**")}
	root := pathglob.RootOf("/repo")
	mac := pathglob.Root{Path: "/repo", FoldCase: true}
	for _, c := range []struct {
		root  pathglob.Root
		files []string
		want  int
	}{
		{root, []string{"site/a.js"}, 2},
		{root, []string{"site/a.js", "docs/a"}, 0},
		{root, []string{"/repo/site/a.md"}, 3},
		{root, []string{"x", "./site//a"}, 3},
		{root, []string{"link", "docs/a"}, 0}, // a link, and its target
		{root, []string{"/other/docs/a.js", "../x.js", "docs/", "docs", ""}, -1},
		{root, nil, -1},
		{root, []string{"DOCS/a"}, -1},
		{mac, []string{"DOCS/a"}, 0},
		{pathglob.RootOf(`C:\repo`), []string{`c:\REPO\Site\a.md.`}, 3},
		{pathglob.RootOf(`C:\repo`), []string{`D:\repo\site\a.md`}, -1},
	} {
		if got := set.First(c.root, c.files); got != c.want {
			t.Errorf("%v in %v: %d, want %d", c.files, c.root, got, c.want)
		}
	}
}

// TestMatchIsBounded: the worst that Compile takes ends.
func TestMatchIsBounded(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		strings.Repeat("{a,aa}", 8),
		strings.Repeat("*a", 500) + "b",
		strings.Repeat("**/a*/", 170) + "b",
		"**/" + strings.Repeat("{*a,a*}", 7) + "b",
	} {
		g := compile(t, pattern)
		for _, name := range []string{strings.Repeat("a", 4000), strings.Repeat("a/", 2000) + "a"} {
			if g.Match(name) && !strings.HasPrefix(pattern, "{a,aa}") {
				t.Errorf("%.40q matches", pattern)
			}
		}
	}
}

// reference is a pattern without braces as a regular expression.
func reference(pattern string) *regexp.Regexp {
	segments := strings.Split(pattern, "/")
	var b strings.Builder
	b.WriteString(`\A`)
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s == "**" && last:
			b.WriteString(`[^/]+(/[^/]+)*`)
		case s == "**":
			b.WriteString(`([^/]+/)*`)
		default:
			for _, c := range s {
				switch c {
				case '*':
					b.WriteString(`[^/]*`)
				case '?':
					b.WriteString(`[^/]`)
				default:
					b.WriteString(regexp.QuoteMeta(string(c)))
				}
			}
			if !last {
				b.WriteString("/")
			}
		}
	}
	return regexp.MustCompile(b.String() + `\z`)
}

// TestMatchAgreesWithReference compares with regular expressions.
func TestMatchAgreesWithReference(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		segment := rapid.OneOf(rapid.Just("**"), rapid.StringOfN(rapid.RuneFrom([]rune("ab*?.")), 1, 5, -1))
		segments := rapid.SliceOfN(segment, 1, 6).Draw(t, "pattern")
		for i, s := range segments {
			if s == "." || s == ".." {
				segments[i] = "a"
			}
		}
		pattern := strings.Join(segments, "/")
		name := strings.Join(rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab.")), 1, 4, -1), 1, 6).Draw(t, "name"), "/")
		g, err := pathglob.Compile(pattern)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		if strings.HasPrefix(name, "../") || name == ".." {
			return
		}
		if got, want := g.Match(name), reference(pattern).MatchString(name); got != want {
			t.Fatalf("%q and %q: %t", pattern, name, got)
		}
	})
}

// FuzzGlob: for every pattern, no panic; a refused one has no match,
// and an exact match also matches without case.
func FuzzGlob(f *testing.F) {
	for _, pattern := range []string{"**/*.js", "{a,{b,c}}/[!x-z]?", `\*\{`, "[a/b]", "a**b", "{,}", "[\\", "{[}]}"} {
		f.Add(pattern, "a/b.js")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := pathglob.Compile(pattern)
		clean, inside := pathglob.Root{}.Clean(name)
		if !inside {
			return
		}
		match := g.Match(clean)
		if err != nil && match {
			t.Errorf("%q is refused (%v) and matches %q", pattern, err, clean)
		}
		if match && !g.MatchFold(clean) {
			t.Errorf("%q matches %q only with its case", pattern, clean)
		}
	})
}
