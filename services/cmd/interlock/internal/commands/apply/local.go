package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/pkg/bundle"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/offline"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Kinds of objects.
const (
	kindWorkflow  = "workflow"
	kindProcess   = "process"
	kindPolicy    = "policy"
	kindSchema    = "schema"
	kindComponent = "component"
)

// schemaFolder is the folder of a set that has its schemas, as NAME.json: a JSON Schema does not say what it is.
const schemaFolder = "schemas"

// object names an object of a set.
type object struct{ Kind, Name string }

func (o object) String() string { return o.Kind + " " + o.Name }

// runs reports that an object has runs.
func (o object) runs() bool { return o.Kind == kindWorkflow || o.Kind == kindProcess }

// local is an object as the files of the set have it.
type local struct {
	object
	file string
	// text is the definition for the server.
	text  []byte
	value document.Value
	// digests are those that the definition may have on a server: the deployment writes its enforcement into workflows
	// that name none.
	digests []string
	// policies are the names of meta.policy.
	policies []string
	// attach are the attachments of a policy that the set owns; nil when it owns none.
	attach []jsonview.Attachment
}

// same reports that a definition of a server has the content of the file.
func (l *local) same(digest string) bool { return slices.Contains(l.digests, digest) }

// folder is the content of a set's folder.
type folder struct {
	*setFile
	dir       string
	objects   []*local
	scenarios []string
}

// readFolder reads all definitions of a set. It prints the problems of files that cannot be read, and then returns
// console.ErrNo.
func readFolder(dir string, s *setFile, io console.Streams) (*folder, error) {
	f := &folder{setFile: s, dir: dir}
	files, err := input.Walk(dir, func(name string) bool {
		return input.IsDefinition(name) && name != input.SetFile && name != bundle.File
	})
	if err != nil {
		return nil, err
	}
	seen := make(map[object]string)
	var refused error
	for _, file := range files {
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			rel = file
		}
		switch base := strings.TrimSuffix(file, filepath.Ext(file)); {
		case strings.HasSuffix(base, ".test"):
			f.scenarios = append(f.scenarios, file)
			continue
		case strings.HasSuffix(base, ".properties"), !s.has(rel):
			continue
		}
		read := readObject
		if filepath.Dir(rel) == schemaFolder {
			read = readSchema
		}
		l, err := read(file, io)
		switch {
		case errors.Is(err, console.ErrNo):
			refused = err
			continue
		case err != nil:
			return nil, err
		}
		key := l.object
		if key.Kind == kindProcess {
			key.Kind = kindWorkflow // they share their names
		}
		if other, twice := seen[key]; twice {
			return nil, no(io, "%s and %s both have the %s: leave one of them out, or give it another name", other, file, l.object)
		}
		seen[key] = file
		f.objects = append(f.objects, l)
	}
	if refused != nil {
		return nil, refused
	}
	return f, f.attachments(io)
}

// no prints why the answer is no, and returns console.ErrNo.
func no(io console.Streams, format string, args ...any) error {
	fmt.Fprintln(io.Err, "interlock: "+show.Lines(fmt.Sprintf(format, args...)))
	return console.ErrNo
}

// readObject reads the definition of a file.
func readObject(file string, io console.Streams) (*local, error) {
	src, value, err := input.Parsed(file, io)
	if err != nil {
		return nil, err
	}
	l := &local{file: file, object: object{Kind: document.KindOf(value)}}
	switch l.Kind {
	case kindWorkflow:
		src.JSON = value.AppendJSON(nil)
		if !src.IsYAML() {
			src.JSON = src.Text // as it was written
		}
		if src, err = input.WithProperties(src, io); err != nil {
			return nil, err
		}
		value, _ = document.Parse(src.JSON, input.Limits)
		name, _ := value.Get("id")
		l.Name, l.text, l.policies = name.Str(), src.JSON, policiesOf(value)
	case kindProcess, kindPolicy, kindComponent:
		key := "name"
		if l.Kind == kindComponent {
			key = "slug"
		}
		name, _ := value.Get(key)
		l.Name, l.text = name.Str(), value.AppendJSON(nil)
		if l.Name == "" && l.Kind == kindPolicy {
			l.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		}
		if !src.IsYAML() {
			l.text = src.Text
		}
	case "":
		return nil, no(io, "%s is no workflow, process, policy or component, and schemas are in the folder %s: move it, or leave it out by `files` in %s", file, schemaFolder, input.SetFile)
	default:
	}
	l.value = value
	l.digests = []string{document.Digest(value)}
	if l.Kind == kindWorkflow {
		l.digests = append(l.digests, document.Digest(workflow.WhileRunning.Effective(value)))
	}
	return l, nil
}

// readSchema reads a schema of shared states, which has the name of its file.
func readSchema(file string, io console.Streams) (*local, error) {
	src, value, err := input.Parsed(file, io)
	if err != nil {
		return nil, err
	}
	if _, problems := document.CompileSchema(value); problems.HasErrors() {
		return nil, src.Refuse(problems, io)
	}
	l := &local{file: file, text: src.Text, value: value, digests: []string{document.Digest(value)}}
	l.object = object{kindSchema, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	if src.IsYAML() {
		l.text = value.AppendJSON(nil)
	}
	return l, nil
}

// policiesOf returns the names of meta.policy.
func policiesOf(value document.Value) (names []string) {
	meta, _ := value.Get("meta")
	policies, _ := meta.Get("policy")
	if policies.Kind() == document.String {
		return []string{policies.Str()}
	}
	for _, name := range policies.Elements() {
		names = append(names, name.Str())
	}
	return names
}

// attachments gives policies the attachments of the set file.
func (f *folder) attachments(io console.Streams) error {
	for name, to := range f.attach {
		i := slices.IndexFunc(f.objects, func(l *local) bool { return l.object == object{kindPolicy, name} })
		if i < 0 {
			return no(io, "%s attaches the policy %s, which the set does not have: take it out of attach, or add the policy", input.SetFile, name)
		}
		f.objects[i].attach = to
	}
	return nil
}

// paths returns the files of the objects that a test accepts.
func (f *folder) paths(accept func(*local) bool) (files []string) {
	for _, l := range f.objects {
		if accept(l) {
			files = append(files, l.file)
		}
	}
	return files
}

// judge validates, tests and verifies the files, and prints a line for each. It returns console.ErrNo after it has
// printed the failures.
func (f *folder) judge(ctx context.Context, enforcement workflow.Enforcement, streams console.Streams, version console.Version) error {
	all := f.paths(func(*local) bool { return true })
	if len(all) == 0 {
		return nil
	}
	if files := f.paths(func(l *local) bool { return l.Kind != kindSchema }); len(files) > 0 { // schemas were judged when they were read
		if _, err := quietly(streams, func(s console.Streams) error {
			return (&offline.Validate{Files: files, Enforcement: enforcement, Format: "text"}).Run(ctx, s)
		}); err != nil {
			return err
		}
	}
	fmt.Fprintf(streams.Out, "validate   %s ok\n", show.Counted(len(all), "file"))
	if len(f.scenarios) > 0 {
		out, err := quietly(streams, func(s console.Streams) error {
			return (&offline.Test{Files: f.scenarios, Enforcement: enforcement, Format: "text"}).Run(ctx, s)
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(streams.Out, "test       %s\n", lastLine(out))
	}
	return f.prove(ctx, enforcement, streams, version)
}

// lastLine returns the summary of the tests: of one file, its only line.
func lastLine(out string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(out), "\n"), func(line string) bool { return strings.HasPrefix(line, "coverage:") })
	return strings.TrimSpace(strings.TrimPrefix(lines[len(lines)-1], "ok "))
}

// quietly runs a command, and prints its output only if it fails. A misuse of the command is a plain no here.
func quietly(streams console.Streams, run func(console.Streams) error) (string, error) {
	var out, errs bytes.Buffer
	s := streams
	s.Out, s.Err = &out, &errs
	err := run(s)
	if err == nil {
		return out.String(), nil
	}
	_, _ = io.Copy(streams.Err, &out)
	_, _ = io.Copy(streams.Err, &errs)
	if !errors.Is(err, console.ErrNo) {
		fmt.Fprintln(streams.Err, "interlock:", show.Lines(err.Error()))
	}
	return "", console.ErrNo
}

// proved has the fields that are read of the report of verify.
type proved struct {
	File    string `json:"file"`
	Results []struct {
		Property string `json:"property"`
		Verdict  string `json:"verdict"`
		Reason   string `json:"reason"`
	} `json:"results"`
	Warnings []struct {
		Pointer string `json:"pointer"`
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"warnings"`
}

// prove verifies the workflows and processes with the policies that they name.
func (f *folder) prove(ctx context.Context, enforcement workflow.Enforcement, streams console.Streams, version console.Version) error {
	machines := f.paths(func(l *local) bool { return l.runs() })
	if len(machines) == 0 || f.verify == verifyOff {
		return nil
	}
	named := make(map[string]bool)
	for _, l := range f.objects {
		for _, name := range l.policies {
			named[name] = true
		}
	}
	files := slices.Concat(machines, f.paths(func(l *local) bool { return l.Kind == kindPolicy && named[l.Name] }))
	var out, errs bytes.Buffer
	s := streams
	s.Out, s.Err = &out, &errs
	const mostStates = 1_000_000
	failed := (&verify.Command{Files: files, MaxStates: mostStates, Enforcement: enforcement, Strict: f.verify == verifyStrict, Format: "json"}).Run(ctx, s, version)
	var all []proved
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		_, _ = io.Copy(streams.Err, &errs)
		return errors.Join(failed, console.ErrNo)
	}
	count := make(map[string]int)
	for _, file := range all {
		for _, w := range file.Warnings {
			fmt.Fprintf(streams.Err, "%s: warning: %s: %s: %s\n", show.Text(file.File), show.Text(w.Pointer), w.Code, show.Text(w.Message))
		}
		for _, r := range file.Results {
			count[r.Verdict]++
			if !strings.HasPrefix(r.Verdict, "PROVED") {
				fmt.Fprintf(streams.Err, "%s: %s: %s: %s\n", show.Text(file.File), show.Text(r.Property), r.Verdict, show.Text(r.Reason))
			}
		}
	}
	var parts []string
	for _, verdict := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[verdict], verdict))
	}
	fmt.Fprintf(streams.Out, "verify     %s\n", cmp.Or(strings.Join(parts, ", "), "no properties"))
	if errors.Is(failed, console.ErrNo) || failed != nil && f.verify == verifyStrict {
		return no(streams, "a property is not proved, or with `verify: strict` there is a warning: see `interlock verify %s%s`", filepath.ToSlash(filepath.Clean(f.dir)), input.Below)
	}
	return nil
}
