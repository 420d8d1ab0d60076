package tree

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// git runs git without any settings of the user.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(t, dir, "", args...)
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}

func tryGit(t testing.TB, dir, in string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	c.Dir = dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost",
	}
	c.Stdin = strings.NewReader(in)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return string(out), fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), nil
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// seen lists git's view of a folder, but for files that are gone.
func seen(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	for name := range strings.SplitSeq(git(t, dir, "ls-files", "-z", "-c", "-o", "--exclude-standard"), "\x00") {
		if name == "" {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// files lists the files of a snapshot.
func files(s *Snapshot) []string {
	var list []string
	var walk func(string, *folder)
	walk = func(path string, f *folder) {
		for _, e := range f.visible() {
			if e.child != nil {
				walk(path+e.name+"/", e.child)
			} else {
				list = append(list, path+e.name)
			}
		}
	}
	walk("", s.root)
	slices.Sort(list)
	return list
}

func take(t testing.TB, dir, cache string) *Snapshot {
	t.Helper()
	s, err := Take(context.Background(), dir, cache)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drawn makes trees and patterns from few letters, so that they meet.
type drawn struct{ *rand.Rand }

func (d drawn) of(list ...string) string { return list[d.IntN(len(list))] }

func (d drawn) name() string {
	return d.of("a", "b", "ab", "ba", "a.o", "b.o", "a b", "a ", "[a]", "a*", "!a", "#a", "A", "é", "a\\b", "-", "aab", "a-b", "x.y.o", ".h", "\xff")
}

func (d drawn) segment() string {
	var s strings.Builder
	for range 1 + d.IntN(3) {
		s.WriteString(d.of("a", "b", "*", "**", "?", "a", ".o", "[ab]", "[!a]", "[^b]", "[a-b]", "[]a]", "[a", `\a`, `\*`, `\`, " ", `\ `, "[[:alpha:]]",
			"[[:punct:]]", "[[:upper:]x]", "[[:foo:]]", "[[:a]", "[a-]", "[-a]", `[\a-\b]`, `[\]]`, "é", "!", "#", "A", "-", "***", "[/]", "\xff", "\t", "[!]a]", "[a-"))
	}
	return s.String()
}

func (d drawn) pattern() string {
	var s strings.Builder
	s.WriteString(d.of("", "", "", "", "!", "!", `\!`, "#"))
	s.WriteString(d.of("", "", "/", "**/", "/**/"))
	for i := range 1 + d.IntN(3) {
		if i > 0 {
			s.WriteString("/")
		}
		if d.IntN(3) == 0 {
			s.WriteString(d.segment())
		} else {
			s.WriteString(d.of(d.name(), d.name(), "*", "**", "*.o", "a*", "*b"))
		}
	}
	s.WriteString(d.of("", "", "", "/", "/", "/**", "/*", " ", "//"))
	return s.String()
}

func (d drawn) rules(most int) string {
	var s strings.Builder
	s.WriteString(d.of("", "", "", "", "\xef\xbb\xbf"))
	for range 1 + d.IntN(most) {
		s.WriteString(d.pattern() + d.of("\n", "\n", "\n", "\n", "\r\n", "\n\n"))
	}
	return s.String() + d.of("", d.pattern())
}

// tree fills a folder.
func (d drawn) tree(t testing.TB, dir string, depth int) {
	for range 3 + d.IntN(6) {
		path := filepath.Join(dir, d.name())
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		switch {
		case depth > 0 && d.IntN(2) == 0:
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			d.tree(t, path, depth-1)
		case d.IntN(12) == 0:
			if err := os.Symlink(d.of("a", "b/a", ".."), path); err != nil {
				t.Fatal(err)
			}
		default:
			write(t, path, d.of("1", "2", "3"))
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, ".gitignore")); err != nil && d.IntN(3) == 0 {
		write(t, filepath.Join(dir, ".gitignore"), d.rules(3))
	}
}

// TestSeesAsGit compares the files of drawn trees with those of real git, cold, warm, and after changes of
// rules, index and files.
func TestSeesAsGit(t *testing.T) {
	t.Parallel()
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := drawn{randtest.New(t, seed)}
			dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
			git(t, dir, "init", "-q")
			d.tree(t, dir, 3)
			sub := ""
			if d.IntN(3) == 0 {
				sub = d.name()
				write(t, filepath.Join(dir, sub+"-sub", "a", "a"), "1")
				sub += "-sub"
				d.tree(t, filepath.Join(dir, sub), 2)
			}
			for step := range 6 {
				switch step {
				case 1:
					write(t, filepath.Join(dir, ".git", "info", "exclude"), d.rules(3))
				case 2, 4:
					all := files(take(t, dir, ""))
					for range 3 {
						if len(all) > 0 {
							_, _ = tryGit(t, dir, "", "add", "-f", "--", ":(literal)"+all[d.IntN(len(all))])
						}
					}
					write(t, filepath.Join(dir, ".gitignore"), d.rules(4))
				case 3:
					git(t, dir, "add", "-f", "-A", ".")
					git(t, dir, "update-index", "--index-version", d.of("2", "4"))
					write(t, filepath.Join(dir, "late", ".gitignore"), d.of("*\n", d.rules(4)))
					d.tree(t, filepath.Join(dir, "late"), 1)
				case 5:
					_, _ = tryGit(t, dir, "", "rm", "-q", "-r", "--cached", "--", ":(literal)"+d.name())
				}
				same(t, dir, dir, cache)
				if sub != "" {
					same(t, dir, filepath.Join(dir, sub), cache+"-sub")
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// same compares with git in a folder of a repository.
func same(t *testing.T, root, dir, cache string) {
	t.Helper()
	want := seen(t, dir)
	s := take(t, dir, cache)
	got := files(s)
	if dir != root && len(want) == 0 {
		return // ignored as a whole: git sees no file, and the digest all
	}
	got = slices.DeleteFunc(got, func(name string) bool { // rules count, also when they ignore themselves
		return filepath.Base(name) == ".gitignore" && !slices.Contains(want, name)
	})
	if !slices.Equal(got, want) {
		only := func(a, b []string) (list []string) {
			for _, x := range a {
				if !slices.Contains(b, x) {
					out, _ := tryGit(t, dir, "", "check-ignore", "-v", "--no-index", "--", x)
					list = append(list, fmt.Sprintf("%q (%q)", x, out))
				}
			}
			return list
		}
		t.Errorf("git alone sees %v\nthe digest alone %v", only(want, got), only(got, want))
	}
	if cold := take(t, dir, ""); cold.Tree() != s.Tree() {
		t.Errorf("with cache %v, without %v", s.Tree(), cold.Tree())
	}
}
