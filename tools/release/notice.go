package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// A dependency is a module that is linked into one of the programs.
type dependency struct {
	path, version string
	// licences are SPDX ids, sorted.
	licences []string
	// texts are those of its licences and notices, by their paths in the module.
	texts map[string]string
}

// goItself is linked into every program.
const goItself = "Go"

// allowed are the licences whose conditions an archive with NOTICE in it meets.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "blessing", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib"}

// known are licences that are not recognised by their text.
var known = map[string]string{
	"modernc.org/memory/LICENSE-LOGO":   "BSD-3-Clause", // of a picture that is not linked
	"modernc.org/sqlite/LICENSE-SQLITE": "blessing",     // the public domain
}

// grant is a text that gives more than the licence does.
const grant = "GooglePatentsFile"

// licenceName matches names of files with licences and notices.
var licenceName = regexp.MustCompile(`(?i)^(li[cs]en[cs]e|copying|unlicense|notice|patents)([-_.].*)?$`)

// A linked is what `go list` says of a package.
type linked struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// dependencies are those of the programs on every platform, sorted by their paths.
func dependencies(repo string) ([]dependency, error) {
	found := map[string]*dependency{}
	for _, platform := range allPlatforms {
		packages, err := packagesOn(repo, platform)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			if p.Module == nil || p.Module.Main {
				continue
			}
			d := found[p.Module.Path]
			if d == nil {
				d = &dependency{path: p.Module.Path, version: p.Module.Version, texts: map[string]string{}}
				found[d.path] = d
			}
			if err := d.read(p.Module.Dir, p.Dir); err != nil {
				return nil, err
			}
		}
	}
	goroot, err := output(repo, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	found[goItself] = &dependency{path: goItself, texts: map[string]string{}}
	if err := found[goItself].read(goroot, goroot); err != nil {
		return nil, err
	}
	all := make([]dependency, 0, len(found))
	var wrong error
	for _, path := range slices.Sorted(maps.Keys(found)) {
		wrong = errors.Join(wrong, found[path].judge())
		all = append(all, *found[path])
	}
	return all, wrong
}

func packagesOn(repo, platform string) (all []linked, err error) {
	system, processor, _ := strings.Cut(platform, "/")
	cmd := goIn(repo, "list", "-deps", "-json=Dir,Module", "./services/cmd/...")
	cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH="+processor)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w\n%s", platform, err, &said)
	}
	for stream := json.NewDecoder(bytes.NewReader(text)); ; {
		var p linked
		switch err := stream.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, p)
	}
}

// read reads the licences of a folder of the module, and of those above it.
func (d *dependency) read(module, dir string) error {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if entry.IsDir() || !licenceName.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
				continue
			}
			name, err := filepath.Rel(module, filepath.Join(dir, entry.Name()))
			if err != nil {
				return err
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return err
			}
			d.texts[filepath.ToSlash(name)] = plain(text)
		}
		if dir == module || !strings.HasPrefix(dir, module) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// plain is a text with ends of lines of one kind and no blanks before them.
func plain(text []byte) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(strings.ToValidUTF8(string(text), "?"))) {
		lines = append(lines, strings.TrimRight(line, " \t\r\n\f"))
	}
	return strings.Join(lines, "\n")
}

// judge finds out which licences the texts are, and refuses what is unknown or not allowed.
func (d *dependency) judge() error {
	ids := map[string]bool{}
	for name, text := range d.texts {
		if id := known[d.path+"/"+name]; id != "" {
			ids[id] = true
			continue
		}
		cover := licensecheck.Scan([]byte(text))
		for _, match := range cover.Match {
			if !match.IsURL && match.ID != grant {
				ids[match.ID] = true
			}
		}
		if cover.Percent < 50 && strings.HasPrefix(strings.ToLower(filepath.Base(name)), "li") {
			return fmt.Errorf("%s: the licence in %s is not recognised: read it, and add it to known", d.path, name)
		}
	}
	d.licences = slices.Sorted(maps.Keys(ids))
	if len(d.licences) == 0 {
		return fmt.Errorf("%s %s: no licence was found", d.path, d.version)
	}
	for _, id := range d.licences {
		if !slices.Contains(allowed, id) {
			return fmt.Errorf("%s %s: the licence %s is not one of %s", d.path, d.version, id, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// notice is the text of NOTICE: what is linked, and each licence once.
func notice(repo string) ([]byte, error) {
	all, err := dependencies(repo)
	if err != nil {
		return nil, err
	}
	return []byte(noticeOf(all)), nil
}

func noticeOf(all []dependency) string {
	var b strings.Builder
	b.WriteString("Interlock\n\nThe programs contain the following software. `make notice` writes this file.\n\n")
	users := map[string][]string{} // of each text
	for _, d := range all {
		fmt.Fprintf(&b, "%s (%s)\n", strings.TrimSpace(d.path+" "+d.version), strings.Join(d.licences, ", "))
		for _, name := range slices.Sorted(maps.Keys(d.texts)) {
			users[d.texts[name]] = append(users[d.texts[name]], d.path+"/"+name)
		}
	}
	texts := slices.SortedFunc(maps.Keys(users), func(x, y string) int { return cmp.Compare(users[x][0], users[y][0]) })
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[text], "\n"), text)
	}
	return b.String()
}
