package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// setFile describes the set of a folder.
type setFile struct {
	name, namespace string
	// files are patterns of the files of the set, relative to the folder; empty for all.
	files []string
	// verify says which findings fail.
	verify string
	prune  bool
	// repo and commit are where the files are from.
	repo, commit string
	// attach has the attachments of policies that the set owns, by the name of the policy.
	attach map[string][]jsonview.Attachment
}

// The values of verify.
const (
	verifyOff    = "off"
	verifyOn     = "on"
	verifyStrict = "strict"
)

const mostListed = 1000

// readSet reads the file of a set. A folder without one is a set of its own name, of all definitions in it.
func readSet(dir string, io console.Streams) (*setFile, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder: %w", err)
	}
	s := &setFile{name: strings.ToLower(filepath.Base(abs)), verify: verifyOn}
	name := filepath.Join(dir, input.SetFile)
	src, value, err := input.Parsed(name, io)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if problems := s.parse(value); problems.HasErrors() {
		return nil, src.Refuse(problems, io)
	}
	return s, nil
}

// parse reads the fields of the file of a set.
func (s *setFile) parse(value document.Value) document.Problems {
	var report document.Report
	f, ok := report.Object(value, nil, "a set file")
	if !ok {
		return report.Problems()
	}
	f.Known("a set file", "name", "namespace", "files", "verify", "prune", "sources", "attach")
	if name, ok := f.Text("name"); ok {
		s.name = name
	}
	s.namespace, _ = f.Text("namespace")
	patterns, _ := f.Strings("files", mostListed)
	for _, p := range patterns {
		if _, err := path.Match(strings.TrimSuffix(p.Text, input.Below), ""); err != nil {
			report.Errorf(p.At, "PATTERN", "%q is no pattern of files; write a name, a glob such as policies/*.yaml, or FOLDER/...", p.Text)
		}
		s.files = append(s.files, p.Text)
	}
	if word, ok := f.Enum("verify", verifyStrict, verifyOn, verifyOff); ok {
		s.verify = word
	}
	s.prune = f.Bool("prune")
	if sources, ok := f.Object("sources"); ok {
		sources.Known("sources", "repo", "commit")
		s.repo, _ = sources.Str("repo")
		s.commit, _ = sources.Str("commit")
	}
	if attach, ok := f.Object("attach"); ok {
		s.attach = make(map[string][]jsonview.Attachment)
		for name := range attach.Value.Members() {
			to, _ := attach.Strings(name, mostListed)
			s.attach[name] = []jsonview.Attachment{}
			for _, one := range to {
				a, err := parseAttachment(one.Text)
				if err != nil {
					report.Errorf(one.At, "ATTACHMENT", "%s", err)
				}
				s.attach[name] = append(s.attach[name], a)
			}
		}
	}
	return report.Problems()
}

// parseAttachment reads KIND:NAME, or everyone.
func parseAttachment(text string) (jsonview.Attachment, error) {
	kind, id, _ := strings.Cut(text, ":")
	switch {
	case kind == "everyone" && (id == "" || id == "*"):
		return jsonview.Attachment{Kind: kind, ID: "*"}, nil
	case kind == "everyone" || !slices.Contains(jsonview.AttachmentKinds(), kind) || id == "":
		return jsonview.Attachment{}, fmt.Errorf("%q is no attachment; write KIND:NAME with one of %s, or everyone", text, strings.Join(jsonview.AttachmentKinds(), ", "))
	}
	return jsonview.Attachment{Kind: kind, ID: id}, nil
}

// has reports that a file belongs to the set, by its path in the folder.
func (s *setFile) has(file string) bool {
	file = filepath.ToSlash(file)
	return len(s.files) == 0 || slices.ContainsFunc(s.files, func(pattern string) bool {
		if folder, below := strings.CutSuffix(pattern, input.Below); below {
			return strings.HasPrefix(file, folder+"/")
		}
		ok, _ := path.Match(pattern, file)
		return ok
	})
}
