package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var (
	allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}
	allPrograms  = []string{
		"interlock", "interlock-engine", "interlock-policy-enforcer", "interlock-state-store", "interlock-approval", "interlock-gateway",
	}
)

// writeArchives builds the programs for each platform and packs them with the licences, the pages and the examples.
func (r *release) writeArchives(repo string, c commit) error {
	for _, platform := range r.platforms {
		system, processor, _ := strings.Cut(platform, "/")
		dir := filepath.Join(filepath.Dir(repo), system+"_"+processor)
		if err := r.build(repo, dir, system, processor, c); err != nil {
			return err
		}
		for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
			text, err := os.ReadFile(filepath.Join(repo, name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				return err
			}
		}
		for _, name := range []string{"docs", "examples"} { // what the README links to, and begins with
			if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(repo, name))); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("interlock_%s_%s_%s", r.version, system, processor)
		if err := pack(dir, filepath.Join(r.out, name+".tar.gz"), name, c.date); err != nil {
			return err
		}
		if err := r.writePackages(dir, platform, c.date); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return r.writeNodeCommand(repo, c.date)
}

func (r *release) build(repo, dir, system, processor string, c commit) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	const about = root + "/services/internal/build."
	args := []string{
		"build", "-trimpath", "-ldflags", fmt.Sprintf("-s -w -X %sversion=%s -X %scommit=%s -X %sdate=%s",
			about, r.version, about, c.hash, about, c.date.Format(time.RFC3339)), "-o", dir + "/",
	}
	for _, program := range r.programs {
		args = append(args, "./services/cmd/"+program)
	}
	cmd := goIn(repo, args...)
	cmd.Env = append(cmd.Env, "GOOS="+system, "GOARCH="+processor)
	return check(cmd)
}

// pack writes the files of a folder and of those in it to an archive, under a folder called name.
// Equal files give an equal archive.
func pack(dir, to, name string, at time.Time) (err error) {
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(file)
	archive := tar.NewWriter(zipped)
	err = fs.WalkDir(os.DirFS(dir), ".", func(file string, entry fs.DirEntry, err error) error { // sorted
		if err != nil || entry.IsDir() {
			return err
		}
		return packFile(archive, filepath.Join(dir, file), path.Join(name, file), at)
	})
	for _, close := range []func() error{archive.Close, zipped.Close, file.Close} {
		if closed := close(); err == nil {
			err = closed
		}
	}
	return err
}

func packFile(archive *tar.Writer, from, name string, at time.Time) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(data)), ModTime: at, Format: tar.FormatPAX}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(data)
	return err
}

// writeChecksums writes SHA256SUMS of the files in a folder, as sha256sum checks it.
func writeChecksums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines []string
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), entry.Name()))
	}
	slices.Sort(lines)
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
