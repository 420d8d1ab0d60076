package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdx/tools-golang/json"
)

// flags of the go command: those of `make test`, whose cache serves.
const flags = "-trimpath '-gcflags=all=-l -dwarf=false'"

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, says := range map[string]string{
		"": "which version", "1.2.3": "is not a version", "v1.2": "is not a version", "v1.2.3+x": "is not a version", "v2.0.0": "another path",
	} {
		if err := checkVersion(version); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", version, err, says)
		}
	}
	for _, version := range []string{"v0.1.0", "v1.0.0", "v1.2.3-rc.1"} {
		if err := checkVersion(version); err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	const before = "module github.com/interlock-run/interlock/pkg\n\ngo 1.26.0\n\nrequire (\n\texample.com/a v1.0.0\n" +
		"\tgithub.com/interlock-run/interlock/gen v0.0.0\n)\n\nreplace github.com/interlock-run/interlock/gen => ../gen\n"
	const after = "module github.com/interlock-run/interlock/pkg\n\ngo 1.26.0\n\nrequire (\n\texample.com/a v1.0.0\n" +
		"\tgithub.com/interlock-run/interlock/gen v0.1.0\n)\n"
	got, siblings, err := released([]byte(before), "v0.1.0")
	if err != nil || string(got) != after || !slices.Equal(siblings, []string{root + "/gen"}) {
		t.Errorf("%v %v\n%s", err, siblings, got)
	}
	if _, _, err = released([]byte(before+"\nreplace example.com/a => ../a\n"), "v0.1.0"); err == nil || !strings.Contains(err.Error(), "example.com/a") {
		t.Errorf("another replacement: %v", err)
	}
	sums := withSums([]byte("b v1 h1:b\n"), []string{"a v1 h1:a", "c v1 h1:c"}, []string{"a"})
	if string(sums) != "a v1 h1:a\nb v1 h1:b\n" {
		t.Errorf("sums: %s", sums)
	}
}

func TestLicencesAreJudged(t *testing.T) {
	t.Parallel()
	const mit = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."
	good := dependency{path: "example.com/a", texts: map[string]string{"LICENSE": mit}}
	if err := good.judge(); err != nil || !slices.Equal(good.licences, []string{"MIT"}) {
		t.Errorf("%v %v", good.licences, err)
	}
	for text, says := range map[string]string{
		"All rights reserved.": "is not recognised",
		"This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.": "is not one of",
	} {
		if err := (&dependency{path: "example.com/b", texts: map[string]string{"LICENSE": text}}).judge(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	if err := (&dependency{path: "example.com/c"}).judge(); err == nil || !strings.Contains(err.Error(), "no licence") {
		t.Errorf("none: %v", err)
	}
}

// TestNotice: NOTICE names what is linked now.
func TestNotice(t *testing.T) {
	t.Parallel()
	want, err := notice(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../NOTICE")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("NOTICE is not of what is linked: run `make notice` and commit (%v)", err)
	}
}

func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// copied is a repository with one commit of what is in this working copy.
func copied(t *testing.T) string {
	t.Helper()
	from, dir := repository(t), t.TempDir()
	names, err := output(from, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	must(t, err)
	for name := range strings.SplitSeq(strings.Trim(names, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed
		}
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(filepath.Join(from, name))
			must(t, err)
			must(t, os.Symlink(target, filepath.Join(dir, name)))
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), text, info.Mode().Perm()))
	}
	must(t, do(dir, "git", "init", "--quiet", "--initial-branch=main"))
	must(t, do(dir, "git", "add", "--all"))
	must(t, gitAs(dir, commit{date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, "commit", "--quiet", "-m", "All of it"))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRelease makes a release, and uses it as people do.
func TestRelease(t *testing.T) {
	t.Setenv("GOFLAGS", flags)
	repo, here := copied(t), runtime.GOOS+"/"+runtime.GOARCH
	args := func(out string, more ...string) []string {
		return append([]string{"-version", "v0.1.0", "-repo", repo, "-out", out, "-platforms", here, "-programs", "interlock"}, more...)
	}
	out, again := filepath.Join(t.TempDir(), "dist"), filepath.Join(t.TempDir(), "dist")

	if err := run(args(out, "-tag"), io.Discard); err == nil || !strings.Contains(err.Error(), `no heading "## v0.1.0"`) {
		t.Fatalf("without a heading: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(repo, "CHANGELOG.md"), []byte("# Changelog\n\n## v0.1.0 (today)\n"), 0o644))
	if err := run(args(out), io.Discard); err == nil || !strings.Contains(err.Error(), "CHANGELOG.md") {
		t.Fatalf("with changes: %v", err)
	}
	c, err := commitOf(repo)
	must(t, err)
	must(t, gitAs(repo, c, "commit", "--quiet", "--all", "-m", "Changelog"))

	must(t, run(args(again), io.Discard))
	if tags, err := output(repo, "git", "tag"); err != nil || tags != "" {
		t.Fatalf("a dry run left tags: %s, %v", tags, err)
	}
	var said bytes.Buffer
	must(t, run(args(out, "-tag"), &said))
	if !strings.Contains(said.String(), "git push origin gen/v0.1.0 pkg/fault/v0.1.0 pkg/internal/v0.1.0 pkg/sdk/v0.1.0 pkg/v0.1.0 services/v0.1.0 v0.1.0") {
		t.Errorf("it says:\n%s", &said)
	}
	if err := run(args(out), io.Discard); err == nil || !strings.Contains(err.Error(), "there is a tag gen/v0.1.0") {
		t.Errorf("a second time: %v", err)
	}
	if left, err := output(repo, "git", "status", "--porcelain"); err != nil || left != "" {
		t.Errorf("the working copy has changed: %s, %v", left, err)
	}

	equal(t, files(t, out), files(t, again))
	archive(t, out)
	materials(t, out)
	t.Run("npm", func(t *testing.T) { installsNode(t, out) })
	t.Run("pip", func(t *testing.T) { installsWheel(t, out) })
	for name, env := range map[string][]string{
		"proxy": {"GOPROXY=file://" + out + "/proxy,file://" + output1(t, "go", "env", "GOMODCACHE") + "/cache/download," + output1(t, "go", "env", "GOPROXY")},
		"tags": {
			"GOPROXY=file://" + output1(t, "go", "env", "GOMODCACHE") + "/cache/download," + output1(t, "go", "env", "GOPROXY"),
			"GONOPROXY=" + root, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + repo + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + root,
		},
	} {
		t.Run(name, func(t *testing.T) { installs(t, env) })
	}
}

func output1(t *testing.T, name string, args ...string) string {
	t.Helper()
	text, err := output(".", name, args...)
	must(t, err)
	return text
}

// files are those of a release, by name.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = text
		return err
	}))
	return all
}

func equal(t *testing.T, a, b map[string][]byte) {
	t.Helper()
	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) || len(a) < 10 {
		t.Errorf("two releases of one commit have other files: %v, %v", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("two releases of one commit have another %s", name)
		}
	}
}

// archive unpacks the archive and runs what is in it.
func archive(t *testing.T, out string) {
	t.Helper()
	must(t, do(out, "sha256sum", "--check", "--strict", "SHA256SUMS"))
	name := "interlock_v0.1.0_" + runtime.GOOS + "_" + runtime.GOARCH
	file, err := os.Open(filepath.Join(out, name+".tar.gz"))
	must(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	must(t, err)
	dir, packed, folders := t.TempDir(), []string{}, map[string][]string{}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		file := strings.TrimPrefix(header.Name, name+"/")
		if strings.Contains(file, "/") {
			folders[path.Dir(file)] = append(folders[path.Dir(file)], path.Base(file))
			continue
		}
		packed = append(packed, file)
		text, err := io.ReadAll(r)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, filepath.Base(header.Name)), text, fs.FileMode(header.Mode)))
	}
	if want := []string{"CHANGELOG.md", "LICENSE", "NOTICE", "README.md", "interlock"}; !slices.Equal(packed, want) {
		t.Errorf("the archive has %v, want %v", packed, want)
	}
	if !slices.Contains(folders["docs"], "quickstart.md") || !slices.Contains(folders["examples"], "bugfix.json") {
		t.Errorf("the README begins with examples and links to pages that the archive does not have: %v", folders)
	}
	says, err := output(dir, filepath.Join(dir, "interlock"), "version")
	must(t, err)
	if !strings.HasPrefix(says, "interlock v0.1.0 (") || !strings.Contains(says, "of 2026-01-02T03:04:05Z") {
		t.Errorf("interlock version says:\n%s", says)
	}
}

// materials reads the SBOM.
func materials(t *testing.T, out string) {
	t.Helper()
	file, err := os.Open(filepath.Join(out, "interlock_v0.1.0.spdx.json"))
	must(t, err)
	defer file.Close()
	doc, err := json.Read(file)
	must(t, err)
	if len(doc.Packages) < 50 || len(doc.Relationships) != len(doc.Packages) {
		t.Errorf("the SBOM has %d packages and %d relationships", len(doc.Packages), len(doc.Relationships))
	}
}

// installs installs the command, and builds a program that imports the SDK, in an empty
// folder and with an empty cache of modules.
func installs(t *testing.T, env []string) {
	dir, cache := t.TempDir(), t.TempDir()
	golang := func(args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "GOMODCACHE="+cache, "GOBIN="+dir, "GOWORK=off", "GONOSUMDB="+root,
			"CGO_ENABLED=0", "GOFLAGS=-modcacherw "+flags)...)
		must(t, check(cmd))
	}
	golang("install", root+"/services/cmd/interlock@v0.1.0")
	says, err := output(dir, filepath.Join(dir, "interlock"), "version")
	must(t, err)
	if !strings.HasPrefix(says, "interlock v0.1.0 (") {
		t.Errorf("interlock version says:\n%s", says)
	}
	const program = "package main\n\nimport \"" + root + "/pkg/sdk\"\n\nfunc main() { _ = sdk.New }\n"
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644))
	golang("mod", "init", "example.com/agent")
	golang("get", root+"/pkg/sdk@v0.1.0")
	golang("mod", "tidy")
	golang("build", "-o", "agent", ".")
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	must(t, err)
	if text := string(sums); strings.Contains(text, root+"/pkg v") || strings.Contains(text, "prometheus") {
		t.Errorf("the SDK brings the server's libraries:\n%s", text)
	}
}

// installsNode installs the packages of npm, and runs the command.
func installsNode(t *testing.T, out string) {
	dir := t.TempDir()
	packages, err := filepath.Glob(filepath.Join(out, "interlock-cli-*.tgz"))
	must(t, err)
	must(t, do(dir, "npm", append([]string{"install", "--offline", "--no-audit", "--no-fund", "--cache", t.TempDir(), "--prefix", dir}, packages...)...))
	says, err := output(dir, filepath.Join(dir, "node_modules/.bin/interlock"), "version")
	must(t, err)
	if !strings.HasPrefix(says, "interlock v0.1.0 (") {
		t.Errorf("interlock version says:\n%s", says)
	}
	var failed *exec.ExitError
	if err := command(dir, filepath.Join(dir, "node_modules/.bin/interlock"), "run", "list", "--no-such-flag").Run(); !errors.As(err, &failed) || failed.ExitCode() != 64 {
		t.Errorf("a wrong command line ends with %v, want 64", err)
	}
}

// installsWheel installs the wheel into a virtual environment, and runs the command.
func installsWheel(t *testing.T, out string) {
	dir := t.TempDir()
	uv := filepath.Join(repository(t), ".bin/venv/uv/bin/uv")
	must(t, do(dir, uv, "venv", "--quiet", "--offline", "venv"))
	must(t, do(dir, uv, "pip", "install", "--quiet", "--offline", "--no-index", "--find-links", out, "--python", "venv/bin/python", "interlock-cli==0.1.0"))
	says, err := output(dir, filepath.Join(dir, "venv/bin/interlock"), "version")
	must(t, err)
	if !strings.HasPrefix(says, "interlock v0.1.0 (") {
		t.Errorf("interlock version says:\n%s", says)
	}
}

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{"v0.1.0": "0.1.0", "v0.1.0-rc.1": "0.1.0rc1", "v1.2.3-alpha.2": "1.2.3a2", "v1.2.3-beta3": "1.2.3b3"} {
		if got, err := pythonVersion(version); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", version, got, err, want)
		}
	}
	if got, err := pythonVersion("v1.0.0-nightly"); err == nil {
		t.Errorf("v1.0.0-nightly is %q", got)
	}
}
