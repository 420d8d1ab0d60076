package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/services/internal/redact"
)

func TestMasks(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		``:                                   ``,
		`{"command":"ls -l","n":1.50}`:       `{"command":"ls -l","n":1.50}`,
		`{"Password":"x","user":"amir"}`:     `{"Password":"[masked]","user":"amir"}`,
		`{"a":[{"db_password":["x",{}]},2]}`: `{"a":[{"db_password":"[masked]"},2]}`,
		`{"X-Api-Key":7,"AUTHORIZATION":{}}`: `{"X-Api-Key":"[masked]","AUTHORIZATION":"[masked]"}`,
		`{"env":{"AWS_SECRET_ACCESS_KEY":"x","Set-Cookie":"y","PRIVATE_KEY":"z"}}`: `{"env":{"AWS_SECRET_ACCESS_KEY":"[masked]","Set-Cookie":"[masked]","PRIVATE_KEY":"[masked]"}}`,
		`{"command":"curl -H \"Authorization: Bearer abc.def\" https://x.test"}`:   `{"command":"curl -H \"[masked]\" https://x.test"}`,
		`{"h":"bearer   abc"}`:                                                              `{"h":"[masked]"}`,
		`{"command":"export DB_PASSWORD=hunter2; make"}`:                                    `{"command":"export DB_PASSWORD=[masked] make"}`,
		`{"command":"login --password 'a b' now"}`:                                          `{"command":"login --password [masked] now"}`,
		`{"command":"curl -u amir:hunter2 x.test"}`:                                         `{"command":"curl [masked] x.test"}`,
		`{"url":"https://amir:hunter2@x.test/a"}`:                                           `{"url":"[masked]x.test/a"}`,
		`{"c":"{\"token\": \"abc\", \"n\": 1}"}`:                                            `{"c":"{\"token\": [masked], \"n\": 1}"}`,
		`{"k":"AKIAIOSFODNN7EXAMPLE."}`:                                                     `{"k":"[masked]."}`,
		`{"k":"ghp_0123456789abcdefghij"}`:                                                  `{"k":"[masked]"}`,
		`{"k":"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nrest"}`: `{"k":"[masked]\nrest"}`,
		`{"k":"-----BEGIN PRIVATE KEY-----\nMII"}`:                                          `{"k":"[masked]"}`,
		`{"ghp_0123456789abcdefghij":1}`:                                                    `{"[masked]":1}`,
		`["sk-0123456789abcdefghij",true,null]`:                                             `["[masked]",true,null]`,
		`{"prose":"the token bucket and the password prompt"}`:                              `{"prose":"the token bucket and the password prompt"}`,
		`{"a":1`:           `{"[omitted]":"the input is not JSON that can be kept"}`,
		`{"a":1,"a":2}`:    `{"[omitted]":"the input is not JSON that can be kept"}`,
		"{\"a\":\"\xff\"}": `{"[omitted]":"the input is not JSON that can be kept"}`,
	} {
		if got := string(redact.Masks{}.Input([]byte(input))); got != want {
			t.Errorf("%s\n is kept as %s\n want       %s", input, got, want)
		}
	}
}

func TestMasksOfOnesOwn(t *testing.T) {
	t.Parallel()
	m, err := redact.New([]string{"S-SN", "=P_IN"}, []string{`\d{4}-\d{4}`})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(m.Input([]byte(`{"my_ssn":1,"pin":2,"pins":3,"password":"x","card":"1234-5678"}`))), `{"my_ssn":"[masked]","pin":"[masked]","pins":3,"password":"x","card":"[masked]"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	none, err := redact.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(none.Input([]byte(`{"password":"x"}`))); got != `{"password":"x"}` {
		t.Errorf("no masks keep %s", got)
	}
	for _, bad := range []struct{ keys, patterns []string }{{[]string{""}, nil}, {[]string{"="}, nil}, {[]string{"-_"}, nil}, {nil, []string{"("}}, {nil, []string{""}}} {
		if _, err := redact.New(bad.keys, bad.patterns); err == nil {
			t.Errorf("%q and %q are taken", bad.keys, bad.patterns)
		}
	}
}

// What people put secrets into, on command lines and in documents.
func TestMasksKnowTheUsualForms(t *testing.T) {
	t.Parallel()
	for _, input := range []string{
		`{"privateKey":"%s"}`, `{"pwd":"%s"}`, `{"passphrase":"%s"}`, `{"accessKey":"%s"}`, `{"credential":"%s"}`, `{"private-key":"%s"}`,
		`{"signingKey":"%s"}`, `{"ENCRYPTION_KEY":"%s"}`, `{"connection_string":"%s"}`, `{"pin":"%s"}`, `{"Pass":"%s"}`, `{"x-auth":"%s"}`,
		`{"env":[{"name":"DB_PASSWORD","value":"%s"}]}`, `{"env":[{"value":["%s"],"key":"api-key"}]}`, `{"headers":[["Authorization","%s"]]}`,
		`{"args":["mysql","--password","%s","db"]}`, `{"args":["--api_key","%s"]}`,
		`{"command":"SECRET_KEY=%s ./run"}`, `{"command":"export DJANGO_SECRET_KEY='%s'"}`, `{"command":"ENCRYPTION_KEY=%s x"}`,
		`{"command":"PASS=%s x"}`, `{"command":"DB_PASS=%s x"}`, `{"command":"PGPASSWORD=%s psql"}`, `{"command":"MYSQL_PWD=%s mysql"}`,
		`{"command":"x --pass %s"}`, `{"command":"x --db-password %s"}`, `{"command":"openssl rsa -passin pass:%s"}`, `{"command":"x --api-key=%s"}`,
		`{"command":"mysql -uroot -p%s db"}`, `{"command":"mysqldump -h x -P 3306 -p'%s x' db"}`, `{"command":"mariadb-dump -p%s"}`,
		`{"command":"sshpass -p %s ssh h"}`, `{"command":"sshpass -p'%s' ssh -p 22 h"}`, `{"command":"sshpass -p\n  %s"}`,
		`{"command":"curl -uadmin:%s http://h"}`, `{"command":"curl -sSu admin:%s h"}`, `{"command":"curl --user=admin:%s h"}`, `{"command":"curl -U a:%s h"}`,
		`{"command":"curl -H 'X-Api-Key: %s' h"}`, `{"command":"curl -H 'X-Auth: %s' h"}`, `{"command":"curl -H 'Authorization: Digest a=b, r=%s' h"}`,
		`{"command":"docker login -u me -p %s"}`, `{"command":"podman login -p=%s r"}`, `{"command":"echo %s | docker login --password-stdin"}`,
		`{"command":"printf '%%s' %s | sudo -S make"}`, `{"command":"redis-cli -p 6379 -a %s ping"}`, `{"command":"mysql://u:%s@h/db"}`,
		`{"command":"https://h/?access_token=%s&sig=%[1]s"}`, `{"command":"curl -H 'Authorization: token %s'"}`, `{"text":"use token %s1"}`,
		`{"k":"SG.%sxxxxxxxxxxxxxx.yyyyyyyyyyyyyyyyyyyyyyyy"}`, `{"k":"hf_%sabcdefghijklmnopqrstuv"}`, `{"k":"ilk_flrN%slglxKYY1ZzvDG1h2XhyvyBxHpU"}`,
		`{"k":"ils_eyJhbGciOiJIUzI1NiJ9.%s.abc"}`, `{"content":"{\"password\": \"%s\"}"}`, `{"content":"{\\\"secretKey\\\": \\\"%s\\\"}"}`,
		`{"content":"password:\n  %s"}`, `{"content":"password:\n\n  %s"}`, `{"content":"<password>%s</password>"}`,
		`{"content":"<db:Password type=\"x\">\n%s\n</db:Password>"}`, `{"note":"-----BEGIN OPENSSH PRIVATE KEY-----\n%s"}`, `{"c":"password => '%s'"}`,
		`{"c":"PASSWORD=\"a\\\"%s\""}`, `{"c":"AccountKey=%s;x"}`, `{"c":"db_pass: %s"}`,
	} {
		const secret = "zqSECRETVAL"
		input = fmt.Sprintf(input, secret)
		kept := string(redact.Masks{}.Input([]byte(input)))
		if strings.Contains(kept, "zqS") || !strings.Contains(kept, "[masked]") {
			t.Errorf("%s\n is kept as %s", input, kept)
		}
	}
}

// What is not a secret stays readable.
func TestMasksLeaveTheRest(t *testing.T) {
	t.Parallel()
	for _, input := range []string{
		`{"command":"mkdir -p a/b && docker run -p 80:80 web"}`, `{"command":"git login; ls"}`, `{"command":"grep -rn keyboard src"}`,
		`{"key":"color","value":"red"}`, `{"name":"amir","value":"x"}`, `["token.go","b","c"]`, `["a","b"]`, `{"text":"the key: it is under the mat"}`,
		`{"pinned":1,"spinner":2,"passed":3,"author":4}`, `{"text":"Compare tokens and keys, then pass the secret handshake"}`,
	} {
		if got := string(redact.Masks{}.Input([]byte(input))); got != input {
			t.Errorf("%s\n is kept as %s", input, got)
		}
	}
}

// Messages quote what was called, and are masked as texts.
func TestMaskedText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            "",
		"State \"a\" allows no curl.": "State \"a\" allows no curl.",
		`"curl --password hunter2 https://h" is denied`: `"curl --password [masked] https://h" is denied`,
		`"PGPASSWORD=hunter2 psql" is denied`:           `"PGPASSWORD=[masked] psql" is denied`,
		`"mysql://u:hunter2@h/db" is denied`:            `"[masked]h/db" is denied`,
		`"mysql -phunter2 -h x" is denied`:              `"mysql -p[masked] -h x" is denied`,
		`"x --token \"hunter2 x\"" is denied`:           `"x --token [masked]" is denied`,
		`"x --token \\\"hunter2 x\\\"" is denied`:       `"x --token [masked]" is denied`,
	} {
		if got := (redact.Masks{}).Text(text); got != want {
			t.Errorf("%s\n is kept as %s\n want       %s", text, got, want)
		}
	}
	own, err := redact.New(nil, []string{`id (?P<secret>\d+)|no \d+`})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := own.Text("id 12, no 13, id x"), "id [masked], [masked], id x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A record keeps no more than its bound, and then a note that says so. Of a long text nothing is kept, so no part of a secret.
func TestMaskedInputIsBounded(t *testing.T) {
	t.Parallel()
	long := `{"file_path":"a.pem","content":"` + strings.Repeat("x", redact.MaxInput) + `","token":"y","edits":[{"new":"` + strings.Repeat("z", 1025) + `","old":"b"}]}`
	want := `{"file_path":"a.pem","content":"[omitted] 16384 bytes","token":"[masked]","edits":[{"new":"[omitted] 1025 bytes","old":"b"}]}`
	if got := string(redact.Masks{}.Input([]byte(long))); got != want {
		t.Errorf("%.300s, want %s", got, want)
	}
	many := `["` + strings.Repeat(`x","`, redact.MaxInput) + `"]`
	if got := string(redact.Masks{}.Input([]byte(many))); !strings.HasPrefix(got, `{"[omitted]":"the input has `) {
		t.Errorf("%.80s", got)
	}
	grows := `[` + strings.Repeat(`{"token":1},`, 1300) + `1]`
	if len(grows) > redact.MaxInput {
		t.Fatalf("%d bytes", len(grows))
	}
	if got := (redact.Masks{}).Text(long); !strings.HasPrefix(got, "the text has ") || len(got) > 100 {
		t.Errorf("%.80s", got)
	}
	if got := string(redact.Masks{}.Input([]byte(grows))); !strings.HasPrefix(got, `{"[omitted]":"the masked input has `) {
		t.Errorf("%.80s", got)
	}
}

// Whatever surrounds a secret, it is not kept; and what is kept is JSON.
func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`zq[a-z]{12}`).Draw(t, "secret")
		form := rapid.SampledFrom([]string{
			"Bearer %s", "PASSWORD=%s", "--token %s", `api_key: "%s"`, "https://u:%s@h", "Authorization: Basic %s", "ghp_0123456789%s", "sk-01234567%s",
		}).Draw(t, "form")
		text := rapid.SampledFrom([]string{"", "x ", "a; ", "\n", "\"", "'"}).Draw(t, "before") + fmt.Sprintf(form, secret) +
			rapid.SampledFrom([]string{"", " y", "; b", "\n", "\"", "'"}).Draw(t, "after")
		value := document.StringValue(text)
		for i := range rapid.IntRange(0, 4).Draw(t, "depth") {
			if i%2 == 0 {
				value = document.ArrayValue([]document.Value{value, document.NullValue()})
			} else {
				value = document.ObjectValue([]document.Member{{Name: "n", Value: value}})
			}
		}
		kept := redact.Masks{}.Input(value.AppendJSON(nil))
		if strings.Contains(string(kept), secret) {
			t.Fatalf("%q is kept as %s", text, kept)
		}
		if _, problem := document.Parse(kept, document.Limits{}); problem != nil {
			t.Fatalf("%s: %v", kept, problem)
		}
	})
}

func FuzzMasks(f *testing.F) {
	f.Add([]byte(`{"a":["Bearer x",{"token":1}]}`))
	f.Add([]byte(`{"[masked]":1,"ghp_0123456789abcdefghij":2}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		kept := redact.Masks{}.Input(input)
		if len(kept) > redact.MaxInput {
			t.Fatalf("%d bytes are kept", len(kept))
		}
		if _, problem := document.Parse(kept, document.Limits{}); len(input) > 0 && problem != nil {
			t.Fatalf("%q is kept as %s: %v", input, kept, problem)
		}
	})
}

// Hints only save time: what has none of them, its pattern does not match.
func TestMaskHints(t *testing.T) {
	t.Parallel()
	unhinted := redact.Unhinted()
	fragments := rapid.SampledFrom([]string{
		"bearer", "Ba\u017fic", "PASSWORD", "pa\u017f\u017fwd", "pwd", "Secret", "to\u212aen", "api", "_", "-", "\u212aey", "access", "private", " ", "=", ":", "\n",
		"\"", "'", "--", "-u", "--user", "authorization", "cookie", "://", "@", "a", "Z9", ".", "-----BEGIN ", "PRIVATE KEY-----", "-----END ",
		"AKIA", "ASIA", "0123456789ABCDEF", "ghp_", "github_pat_", "glpat-", "xoxb-", "sk-", "rk_", "pk_", "AIza", "npm_", "eyJ", "\u0130", "\u00df",
		"abcdefghijklmnopqrstuvwxyzabcdefgh", "\n\n", " -u ", "-ssu ", "\t-p", "mysql", "login", "redis-cli", " -a", "echo ", "|", "--password-stdin", "sudo -S",
		"<", ">", "</", "hf_", "SG.", "ils_", "x-auth", "credential", "connection-string", "phrase", "1", "\\",
	})
	randtest.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(fragments, 1, 12).Draw(t, "text"), "")
		input := document.StringValue(text).AppendJSON(nil)
		if got, want := string(redact.Masks{}.Input(input)), string(unhinted.Input(input)); got != want {
			t.Fatalf("%q is kept as %s, without hints as %s", text, got, want)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	for name, input := range map[string]string{
		"short":         `{"command":"go test ./... -run TestX -count=1","description":"Run the tests"}`,
		"16KiB":         `{"file_path":"a.go","content":"` + strings.Repeat(`func f(tokens []string) error { return nil }\n`, 340) + `"}`,
		"hostile":       `{"c":"` + hostileText(16<<10-100) + `"}`,
		"hostile lines": `{"c":"` + strings.ReplaceAll(hostileText(15<<10), "    ", `\n`) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if kept := (redact.Masks{}).Input([]byte(input)); len(kept) == 0 {
					b.Fatal(string(kept))
				}
			}
		})
	}
}

// hostileText has as much as can be of what masks look for, and as little that they
// match.
func hostileText(length int) string {
	const hints = "pass word=key-u :// token secret:    bearer login -p sudo echo redis-cli u  sg. hf_ eyJ ghp_ xox sk- AKIA npm_ pwd ilk_ mysql <key "
	return strings.Repeat(hints, length/len(hints))
}

func BenchmarkMaskText(b *testing.B) {
	for name, text := range map[string]string{
		"message":        `Tool "Bash" is denied: state "review" allows no "curl --silent https://example.com"; use another tool.`,
		"hostile 16KiB":  hostileText(64 << 10),
		"keys 16KiB":     strings.Repeat("key", 16<<10/3),
		"dashes 16KiB":   strings.Repeat("--pass-", 16<<10/7),
		"sources 16KiB":  strings.Repeat("func f(tokens []string) error { return nil } // the key\n", 16<<10/57),
		"mysql -p 16KiB": strings.Repeat("mysql ", 16<<10/6),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if (redact.Masks{}).Text(text) == "" {
					b.Fatal("nothing is kept")
				}
			}
		})
	}
}
