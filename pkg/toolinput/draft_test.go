package toolinput_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

// TestDraft: names and formats of arguments suggest a description, which can be read as one (S21.14).
func TestDraft(t *testing.T) {
	t.Parallel()
	text := func(names ...string) string {
		properties := make([]string, len(names))
		for i, name := range names {
			properties[i] = `"` + name + `":{"type":"string"}`
		}
		return `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
	}
	for _, row := range []struct{ tool, schema, want string }{
		{"read_file", text("path"), `{"reads":["/path"]}`},
		{"edit", text("file_path", "content"), `{"reads":["/file_path"],"writes":["/file_path"]}`},
		{"readdress", text("path"), `{"reads":["/path"],"writes":["/path"]}`}, // no verb of reading
		{"move", text("source", "destination"), `{"reads":["/source","/destination"],"writes":["/source","/destination"]}`},
		{"fetch", text("url", "method"), `{"urls":["/url"],"method":"/method"}`},
		{"hook", `{"properties":{"target":{"type":"string","format":"uri"}}}`, `{"urls":["/target"]}`},
		{"crawl", `{"properties":{"pages":{"type":"array","items":{"type":"string","format":"uri"}}}}`, `{"urls":["/pages/*"]}`},
		{"ping", text("Host"), `{"hosts":["/Host"]}`},
		{"run_sql", text("query"), `{"sql":{"text":"/query"}}`},
		{"search", text("query"), ""}, // words
		{"any", text("sql"), `{"sql":{"text":"/sql"}}`},
		{
			"send", `{"properties":{"to":{"type":"array","items":{"type":"string"}},"bcc":{"type":"string"},"from":{"type":"string","format":"email"}}}`,
			`{"recipients":["/to/*","/bcc"],"senders":["/from"]}`,
		},
		{"copy_rows", text("from"), ""}, // no address
		{"refund", `{"properties":{"amount":{"type":"integer"},"currency":{"type":"string"}}}`, `{"money":{"amount":"/amount","currency":"/currency","unit":"minor"}}`},
		{"refund", `{"properties":{"amount":{"type":"number"},"currency":{"type":"string"}}}`, `{"money":{"amount":"/amount","currency":"/currency","unit":"major"}}`},
		{"refund", `{"properties":{"amount":{"type":"number"}}}`, ""}, // in which currency?
		{"push", text("branch"), `{"git":{"refs":"/branch"}}`},
		{"sh", text("command"), `{"command":"/command"}`},
		{"odd", text("a/path", "a~url"), `{"reads":["/a~1path"],"writes":["/a~1path"],"urls":["/a~0url"]}`},

		// A hostile server.
		{"x", `{"properties":["path"]}`, ""},
		{"x", `{"properties":{"path":"string","url":null,"to":{"type":["string","null"]}}}`, ""},
		{"x", `{"properties":`, ""},
		{"x", `"path"`, ""},
		{"x", text(strings.Repeat("long", 300) + "path"), ""},
		{"x", text("*", "="), ""},
	} {
		got, _ := toolinput.Draft(row.tool, []byte(row.schema))
		if got != row.want {
			t.Errorf("%s %.80s: %s, want %s", row.tool, row.schema, got, row.want)
		}
		if got == "" {
			continue
		}
		var r document.Report
		v, _ := document.Parse([]byte(got), document.Limits{})
		if _, ok := toolinput.ReadDescription(&r, v, nil); !ok || r.HasErrors() {
			t.Errorf("%s: %v", got, r.Problems())
		}
	}
}

// A person sees the arguments that a draft does not describe (S21.14).
func TestDraftNamesTheOthers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	for schema, want := range map[string]string{
		`{"properties":{"url":{"type":"string"},"options":{"type":"object"},"a/b":{}}}`:                                      "/options, /a~1b",
		`{"properties":{"command":{"type":"string"},"cmd":{"type":"string"}}}`:                                               "/cmd",
		`{"properties":{"amount":{"type":"integer"},"currency":{"type":"string"},"proxy":{"properties":{"url":{"x":"1"}}}}}`: "/proxy",
		`{"properties":{"path":{"type":["string","null"]}}}`:                                                                 "/path",
		`{"properties":{"` + long + `":{}}}`:                                                                                 "1 arguments",
		`{`:                                                                                                                  "its input schema cannot be read",
	} {
		if _, got := toolinput.Draft("get", []byte(schema)); got != want {
			t.Errorf("%.80s: %q, want %q", schema, got, want)
		}
	}
}

// A draft and its list of remaining arguments name every argument, unless the list is too long (S21.21).
func TestArguments(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("x", 600)
	for schema, want := range map[string]string{
		`{"properties":{"url":{"type":"string"},"options":{"type":"object"},"a/b":{}}}`:                          "/a~1b /options /url",
		`{"properties":{"amount":{"type":"integer"},"currency":{"type":"string"}}}`:                              "/amount /currency",
		`{"properties":{"urls":{"type":"array","items":{"type":"string"}},"sql":{"type":"string"}}}`:             "/sql /urls",
		`{"properties":{"path":{"type":"string"}}}`:                                                              "/path", // read and written
		`{"properties":{"a, /b":{}}}`:                                                                            "",      // a list of others cannot have it
		`{"properties":{"` + many + `":{}}}`:                                                                     "",
		`{"properties":{"` + many + `_url":{"type":"string"},"` + many + `_path":{"type":"string"},"small":{}}}`: "", // no room for a draft
		`{"properties":{}}`: "",
		`{`:                 "",
	} {
		if got := strings.Join(toolinput.Arguments(toolinput.Draft("get", []byte(schema))), " "); got != want {
			t.Errorf("%.80s: %q, want %q", schema, got, want)
		}
	}
	for _, hostile := range [][2]string{{"{", "/x"}, {"", "3 arguments"}, {`{"urls":["/url"]}`, "words, /x"}, {"", ", "}} {
		if got := toolinput.Arguments(hostile[0], hostile[1]); got != nil {
			t.Errorf("%q: %q", hostile, got)
		}
	}
}
