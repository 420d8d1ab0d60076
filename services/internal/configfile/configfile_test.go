package configfile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/services/internal/configfile"
)

type flags struct {
	Config  string        `help:"File." placeholder:"FILE"`
	Store   string        `help:"Store." required:"" env:"CONFIGFILE_TEST_STORE"`
	Level   string        `help:"Level." enum:"info,warn" default:"info"`
	Wait    int           `help:"Number."`
	Timeout time.Duration `help:"Time." default:"2s"`
	Lossy   bool          `help:"Switch."`
	Webhook []string      `help:"List." sep:"none"`
	Secret  string        `hidden:""`
}

func write(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "flags.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func parse(t *testing.T, text string, args ...string) (flags, error) {
	t.Helper()
	file, err := configfile.Read(write(t, text))
	if err != nil {
		return flags{}, err
	}
	var got flags
	parser, err := kong.New(&got, file.Options()...)
	if err != nil {
		return flags{}, err
	}
	_, err = parser.Parse(args)
	return got, err
}

// The command line wins over the environment, which wins over the file.
func TestWhatWins(t *testing.T) {
	const file = "store: file\nlevel: warn\nwait: 3\ntimeout: 5s\nlossy: true\nwebhook: [a, 'b,c']\n"
	want := flags{Store: "file", Level: "warn", Wait: 3, Timeout: 5 * time.Second, Lossy: true, Webhook: []string{"a", "b,c"}}
	got, err := parse(t, file)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("the file alone: %v\n%s", err, diff)
	}
	t.Setenv("CONFIGFILE_TEST_STORE", "environment")
	want.Store, want.Wait, want.Lossy = "environment", 4, false
	got, err = parse(t, file, "--wait=4", "--lossy=false")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("with the environment and a command line: %v\n%s", err, diff)
	}
	want.Store = "line"
	got, err = parse(t, file, "--wait=4", "--lossy=false", "--store=line")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("with everything on the command line: %v\n%s", err, diff)
	}
}

func TestMistakesHaveAPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, says string }{
		"unknown":         {"stor: x\nstore: y", `flags.yaml:1:7: there is no flag "stor"`},
		"underscore":      {"store: y\nTime_out: 1s", `there is no flag "Time_out"`},
		"hyphens":         {"--store: y", "without hyphens in front: store"},
		"hidden":          {"store: y\nsecret: z", `there is no flag "secret"`},
		"itself":          {"store: y\nconfig: z", `there is no flag "config"`},
		"duration":        {"store: y\ntimeout: 3", "flags.yaml:2:10: timeout expected duration"},
		"number":          {"store: y\nwait: many", "wait expected a valid"},
		"enum":            {"store: y\nlevel: loud", `level is one of info,warn, not "loud"`},
		"list":            {"store: [a]", "takes one value, not a list"},
		"list of numbers": {"store: y\nwebhook: [1]", "takes a list of texts"},
		"object":          {"store: {a: b}", "not an object"},
		"nothing":         {"store:", "not nothing"},
		"switch as text":  {"store: true", "put it in quotes"},
		"twice":           {"store: a\nstore: b", "more than once"},
		"not an object":   {"- store", "this must be an object"},
		"not YAML":        {"store: [", "flags.yaml:1:"},
		"required":        {"wait: 3", "missing flags: --store"},
		"two mistakes":    {"a: 1\nb: 2", "flags.yaml:2:"},
	} {
		if _, err := parse(t, tt.text); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: no %q in: %v", name, tt.says, err)
		}
	}
	if _, err := configfile.Read(filepath.Join(t.TempDir(), "nowhere.yaml")); err == nil || !strings.Contains(err.Error(), "nowhere.yaml") {
		t.Errorf("no file: %v", err)
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	env := func(value string) func(string) string {
		return func(name string) string {
			if name == configfile.Variable {
				return value
			}
			return ""
		}
	}
	for _, tt := range []struct {
		args      []string
		env, want string
	}{
		{nil, "", ""},
		{nil, "e", "e"},
		{[]string{"up", "--config", "a"}, "e", "a"},
		{[]string{"--config=a", "up"}, "", "a"},
		{[]string{"--", "--config=a"}, "", ""},
		{[]string{"--config"}, "", ""},
	} {
		if got := configfile.Named(tt.args, env(tt.env)); got != tt.want {
			t.Errorf("%v with %q: %q", tt.args, tt.env, got)
		}
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(new(flags))
	if err != nil {
		t.Fatal(err)
	}
	text, err := configfile.Schema(parser.Model, "test")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Additional bool                      `json:"additionalProperties"`
		Properties map[string]map[string]any `json:"properties"`
	}
	schema.Additional = true
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Additional || len(schema.Properties) != 6 || schema.Properties["lossy"]["type"] != "boolean" ||
		schema.Properties["webhook"]["type"] != "array" || len(schema.Properties["level"]["enum"].([]any)) != 2 {
		t.Errorf("%s", text)
	}
}
