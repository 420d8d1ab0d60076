// Command release makes a release of the commit that is checked out:
//
//	go run . -version v0.1.0 -repo ../.. -out ../../dist         a dry run
//	go run . -version v0.1.0 -repo ../.. -out ../../dist -tag    and the tags
//	go run . -repo ../.. -notice                                 writes NOTICE
//
// Modules of the working copy find each other by `replace`, which nobody outside can use.
// So a release is a commit of its own, next to the main branch, whose modules require each
// other by version. Its tags, such as pkg/sdk/VERSION for a module and VERSION, point to it. The folder of a release has the archives, their checksums, an SBOM, and proxy/,
// the modules as a module proxy serves them. Equal commits give equal files.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	repo := flags.String("repo", "../..", "the repository")
	r := release{}
	flags.StringVar(&r.version, "version", "", "version of the release, such as v0.1.0")
	dist := flags.String("out", "dist", "folder for the release; its contents are removed")
	flags.BoolVar(&r.tag, "tag", false, "leave the tags in the repository")
	platforms := flags.String("platforms", strings.Join(allPlatforms, ","), "platforms of archives")
	programs := flags.String("programs", strings.Join(allPrograms, ","), "programs in archives")
	writeNotice := flags.Bool("notice", false, "only write the licences of linked modules to NOTICE")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if r.repo, err = filepath.Abs(*repo); err != nil {
		return err
	}
	if *writeNotice {
		text, err := notice(r.repo)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(r.repo, "NOTICE"), text, 0o644)
	}
	if r.out, err = filepath.Abs(*dist); err != nil {
		return err
	}
	r.platforms, r.programs = strings.Split(*platforms, ","), strings.Split(*programs, ",")
	if err := r.check(); err != nil {
		return err
	}
	return r.make(out)
}

// A release is what is to be made.
type release struct {
	version   string
	repo, out string
	tag       bool
	// platforms are such as linux/amd64.
	platforms, programs []string
}

// check refuses what cannot be released.
func (r *release) check() error {
	if err := checkVersion(r.version); err != nil {
		return err
	}
	if slices.ContainsFunc(r.platforms, func(p string) bool { return !slices.Contains(allPlatforms, p) }) {
		return fmt.Errorf("the platforms are %s", strings.Join(allPlatforms, ", "))
	}
	if slices.ContainsFunc(r.programs, func(p string) bool { return !slices.Contains(allPrograms, p) }) {
		return fmt.Errorf("the programs are %s", strings.Join(allPrograms, ", "))
	}
	changed, err := output(r.repo, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("a release is of a commit; commit these first, or put them away:\n%s", changed)
	}
	for _, tag := range r.tags() {
		if _, err := output(r.repo, "git", "rev-parse", "--verify", "--quiet", "refs/tags/"+tag); err == nil {
			return fmt.Errorf("there is a tag %s: a version is released once. Take the next one", tag)
		}
	}
	return r.checkChangelog()
}

// checkChangelog returns an error unless CHANGELOG.md has the release that is tagged.
func (r *release) checkChangelog() error {
	text, err := os.ReadFile(filepath.Join(r.repo, "CHANGELOG.md"))
	if err != nil || !r.tag {
		return err
	}
	heading := "## " + r.version
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == heading || strings.HasPrefix(line, heading+" ") {
			return nil
		}
	}
	return fmt.Errorf("CHANGELOG.md has no heading %q: rename \"## Unreleased\", commit, and try again", heading)
}

func checkVersion(v string) error {
	switch {
	case v == "":
		return errors.New("which version? Write VERSION=v0.1.0")
	case !semver.IsValid(v) || semver.Canonical(v) != v:
		return fmt.Errorf("%q is not a version: write it as v1.2.3 or v1.2.3-rc.1", v)
	case semver.Major(v) != "v0" && semver.Major(v) != "v1":
		return fmt.Errorf("the modules of %s would have another path, .../pkg/%s, and this does not write them", v, semver.Major(v))
	}
	return nil
}

// tags are those of the release: of its modules, and its own.
func (r *release) tags() []string {
	var tags []string
	for _, m := range modules {
		tags = append(tags, m+"/"+r.version)
	}
	return append(tags, r.version)
}

// make makes the release in a clone, so that the working copy stays as it is.
func (r *release) make(out io.Writer) error {
	temp, err := os.MkdirTemp("", "interlock-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	clone := filepath.Join(temp, "interlock")
	if err := do(temp, "git", "clone", "--quiet", "--no-tags", r.repo, clone); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	c, err := commitOf(clone)
	if err != nil {
		return err
	}
	if c.hash, err = r.writeModules(clone, c); err != nil {
		return err
	}
	if err := r.writeArchives(clone, c); err != nil {
		return err
	}
	if err := r.writeSBOM(clone, c); err != nil {
		return err
	}
	if err := writeChecksums(r.out); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s of %s is in %s\n", r.version, c.base, r.out)
	if !r.tag {
		fmt.Fprintln(out, "This was a dry run. With TAG=1, the repository gets the tags.")
		return nil
	}
	for _, tag := range r.tags() {
		if err := do(r.repo, "git", "fetch", "--quiet", "--no-tags", clone, "refs/tags/"+tag+":refs/tags/"+tag); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "Publish it with\n\n  git push origin %s\n", strings.Join(r.tags(), " "))
	return nil
}
