package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const about = "Interlock, a state-machine enforcement plane for AI agents: its command line and its server"

// packed is a file of a package.
type packed struct {
	name string
	data []byte
	mode os.FileMode
}

// wheelPlatforms has the platform tag of a wheel for each platform. The program is static, so that
// it runs with each C library of Linux.
var wheelPlatforms = map[string]string{
	"linux/amd64":  "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":  "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64": "macosx_12_0_x86_64",
	"darwin/arm64": "macosx_12_0_arm64",
}

// nodePlatforms has the operating system and the processor of each platform as Node.js names them.
var nodePlatforms = map[string][2]string{
	"linux/amd64":  {"linux", "x64"},
	"linux/arm64":  {"linux", "arm64"},
	"darwin/amd64": {"darwin", "x64"},
	"darwin/arm64": {"darwin", "arm64"},
}

// writePackages writes a wheel and a package of npm with the program in dir, built for a platform.
func (r *release) writePackages(dir, platform string, at time.Time) error {
	program, err := os.ReadFile(filepath.Join(dir, "interlock"))
	if os.IsNotExist(err) { // it is not among the programs of this release
		return nil
	}
	if err != nil {
		return err
	}
	licences := []packed{}
	for _, name := range []string{"LICENSE", "NOTICE"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		licences = append(licences, packed{name, text, 0o644})
	}
	if err := r.writeWheel(program, licences, platform, at); err != nil {
		return err
	}
	node := nodePlatforms[platform]
	manifest := r.manifest(nodeName(platform))
	manifest["os"], manifest["cpu"] = []string{node[0]}, []string{node[1]}
	return r.writeNode(nodeName(platform), manifest, append(licences, packed{"bin/interlock", program, 0o755}), at)
}

// writeWheel writes the package of PyPI, interlock-cli, for a platform.
func (r *release) writeWheel(program []byte, licences []packed, platform string, at time.Time) error {
	version, err := pythonVersion(r.version)
	if err != nil {
		return err
	}
	name, tag := "interlock_cli-"+version, wheelPlatforms[platform]
	info := name + ".dist-info/"
	var tags strings.Builder
	for one := range strings.SplitSeq(tag, ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", one)
	}
	files := []packed{{name + ".data/scripts/interlock", program, 0o755}}
	for _, l := range licences {
		files = append(files, packed{info + "licenses/" + l.name, l.data, 0o644})
	}
	files = append(files,
		packed{info + "METADATA", fmt.Appendf(nil, "Metadata-Version: 2.4\nName: interlock-cli\nVersion: %s\nSummary: %s\n"+
			"Project-URL: Source, https://%s\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: NOTICE\nRequires-Python: >=3.8\n",
			version, about, root), 0o644},
		packed{info + "WHEEL", fmt.Appendf(nil, "Wheel-Version: 1.0\nGenerator: interlock-release\nRoot-Is-Purelib: false\n%s", &tags), 0o644})
	var record bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, packed{info + "RECORD", record.Bytes(), 0o644})

	var wheel bytes.Buffer
	archive := zip.NewWriter(&wheel)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+"-py3-none-"+tag+".whl"), wheel.Bytes(), 0o644)
}

var preRelease = regexp.MustCompile(`^(alpha|beta|rc)\.?(\d+)$`)

// pythonVersion returns a version as PyPI writes it: 0.1.0rc1 for v0.1.0-rc.1.
func pythonVersion(version string) (string, error) {
	base, pre, found := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	if !found {
		return base, nil
	}
	parts := preRelease.FindStringSubmatch(pre)
	if parts == nil {
		return "", fmt.Errorf("%s has no form for PyPI: write the pre-release as alpha.1, beta.1 or rc.1", version)
	}
	return base + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[parts[1]] + parts[2], nil
}

// nodeCommand is the program of the package @interlock/cli.
//
//go:embed command.js
var nodeCommand []byte

// writeNodeCommand writes the package of npm that people install, @interlock/cli. Those of the platforms
// are its optional dependencies, of which npm installs the one that fits.
func (r *release) writeNodeCommand(repo string, at time.Time) error {
	licence, err := os.ReadFile(filepath.Join(repo, "LICENSE"))
	if err != nil {
		return err
	}
	platforms := map[string]string{}
	for _, platform := range r.platforms {
		platforms[nodeName(platform)] = strings.TrimPrefix(r.version, "v")
	}
	manifest := r.manifest("@interlock/cli")
	manifest["bin"] = map[string]string{"interlock": "bin/interlock.js"}
	manifest["optionalDependencies"] = platforms
	return r.writeNode("@interlock/cli", manifest, []packed{{"LICENSE", licence, 0o644}, {"bin/interlock.js", nodeCommand, 0o755}}, at)
}

func nodeName(platform string) string {
	return "@interlock/cli-" + nodePlatforms[platform][0] + "-" + nodePlatforms[platform][1]
}

func (r *release) manifest(name string) map[string]any {
	return map[string]any{
		"name": name, "version": strings.TrimPrefix(r.version, "v"), "description": about, "license": "Apache-2.0",
		"repository": "https://" + root, "engines": map[string]string{"node": ">=20"},
	}
}

// writeNode writes a package of npm as `npm pack` names it.
func (r *release) writeNode(name string, manifest map[string]any, files []packed, at time.Time) error {
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	var pack bytes.Buffer
	zipped := gzip.NewWriter(&pack)
	archive := tar.NewWriter(zipped)
	for _, f := range append([]packed{{"package.json", append(text, '\n'), 0o644}}, files...) {
		header := &tar.Header{Name: "package/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	file := strings.NewReplacer("@", "", "/", "-").Replace(name) + "-" + strings.TrimPrefix(r.version, "v") + ".tgz"
	return os.WriteFile(filepath.Join(r.out, file), pack.Bytes(), 0o644)
}
