package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"
)

const root = "github.com/interlock-run/interlock"

// modules are those of a release. Each requires only those before it.
var modules = []string{"gen", "pkg/fault", "pkg/internal", "pkg/sdk", "pkg", "services"}

// A commit is that of a release.
type commit struct {
	// base is the commit of the main branch, hash that of the release.
	base, hash string
	date       time.Time
}

func commitOf(repo string) (commit, error) {
	text, err := output(repo, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return commit{}, err
	}
	hash, date, _ := strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339, date)
	return commit{base: hash, date: at.UTC()}, err
}

// writeModules commits the modules with the versions that they require, tags them, and
// writes them as a proxy serves them. It answers the hash of the commit.
func (r *release) writeModules(repo string, c commit) (string, error) {
	licence, err := os.ReadFile(filepath.Join(repo, "LICENSE"))
	if err != nil {
		return "", err
	}
	if err := r.writeWorkspace(filepath.Join(repo, "go.work")); err != nil {
		return "", err
	}
	var sums []string
	for i, name := range modules {
		dir := filepath.Join(repo, name)
		if err := os.WriteFile(filepath.Join(dir, "LICENSE"), licence, 0o644); err != nil {
			return "", err
		}
		if err := r.require(dir, sums); err != nil {
			return "", err
		}
		hash, err := r.commit(repo, c, i > 0)
		if err != nil {
			return "", err
		}
		c.hash = hash
		made, err := r.publish(repo, name, c)
		if err != nil {
			return "", err
		}
		sums = append(sums, made...)
	}
	for _, tag := range r.tags() {
		if err := gitAs(repo, c, "tag", "-a", "-m", "Release "+r.version, tag); err != nil {
			return "", err
		}
	}
	return c.hash, nil
}

// writeWorkspace makes the versions that modules require those of the workspace, so that
// the tag can be checked out and built.
func (r *release) writeWorkspace(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if err := file.AddReplace(path.Join(root, m), r.version, "./"+m, ""); err != nil {
			return err
		}
	}
	return os.WriteFile(name, modfile.Format(file.Syntax), 0o644)
}

// require makes a module require its siblings by version. sums are the lines of go.sum
// of the modules before it.
func (r *release) require(dir string, sums []string) error {
	name := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text, required, err := released(text, r.version)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	name = filepath.Join(dir, "go.sum")
	if text, err = os.ReadFile(name); err != nil {
		return err
	}
	return os.WriteFile(name, withSums(text, sums, required), 0o644)
}

// released is a go.mod that requires its siblings at version, and the paths of these.
func released(text []byte, version string) ([]byte, []string, error) {
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, nil, err
	}
	var siblings []string
	for _, required := range file.Require {
		if strings.HasPrefix(required.Mod.Path, root+"/") {
			siblings = append(siblings, required.Mod.Path)
		}
	}
	for _, sibling := range siblings {
		if err := file.AddRequire(sibling, version); err != nil {
			return nil, nil, err
		}
		if err := file.DropReplace(sibling, ""); err != nil {
			return nil, nil, err
		}
	}
	file.Cleanup()
	if len(file.Replace) > 0 {
		return nil, nil, fmt.Errorf("replaces %s: `go install` refuses modules that replace others", file.Replace[0].Old.Path)
	}
	text, err = file.Format()
	return text, siblings, err
}

// withSums adds the lines of the modules that are required to a go.sum.
func withSums(text []byte, sums, required []string) []byte {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, sum := range sums {
		name, _, _ := strings.Cut(sum, " ")
		if slices.Contains(required, name) {
			lines = append(lines, sum)
		}
	}
	slices.Sort(lines)
	return []byte(strings.Join(slices.Compact(lines), "\n") + "\n")
}

// commit commits what was written, as equal for equal commits of the main branch.
func (r *release) commit(repo string, c commit, amend bool) (string, error) {
	args := []string{"commit", "--quiet", "--no-verify", "--allow-empty", "-m", "Release " + r.version}
	if amend {
		args = append(args, "--amend", "--reset-author")
	}
	if err := do(repo, "git", "add", "--all"); err != nil {
		return "", err
	}
	if err := gitAs(repo, c, args...); err != nil {
		return "", err
	}
	return output(repo, "git", "rev-parse", "HEAD")
}

// gitAs runs git as the project, at the time of the commit.
func gitAs(repo string, c commit, args ...string) error {
	at := c.date.Format(time.RFC3339)
	cmd := command(repo, "git", append([]string{
		"-c", "user.name=Interlock", "-c", "user.email=release@interlock-run.invalid",
		"-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false",
	}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	return check(cmd)
}

// publish writes a module as a proxy serves it, and answers its lines of go.sum.
func (r *release) publish(repo, name string, c commit) ([]string, error) {
	m := module.Version{Path: path.Join(root, name), Version: r.version}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.out, "proxy", filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	if err := modzip.CreateFromVCS(&packed, m, repo, c.hash, name); err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(repo, name, "go.mod"))
	if err != nil {
		return nil, err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{r.version, c.date})
	if err != nil {
		return nil, err
	}
	for suffix, data := range map[string][]byte{".zip": packed.Bytes(), ".mod": mod, ".info": info} {
		if err := os.WriteFile(filepath.Join(dir, r.version+suffix), data, 0o644); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "list"), []byte(r.version+"\n"), 0o644); err != nil {
		return nil, err
	}
	ofZip, err := dirhash.HashZip(filepath.Join(dir, r.version+".zip"), dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	ofMod, err := modfileHash(mod)
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("%s %s %s", m.Path, m.Version, ofZip),
		fmt.Sprintf("%s %s/go.mod %s", m.Path, m.Version, ofMod),
	}, nil
}
