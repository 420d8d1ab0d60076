package transcript

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/pricing"
)

// said is a line of a message: at the price of claude-haiku-4-5, one micro-dollar for each
// input token.
func said(id string, tokens int, content string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"claude-haiku-4-5","content":%s,"usage":{"input_tokens":%d,"output_tokens":0}}}`+"\n", id, content, tokens)
}

type reader struct {
	*testing.T
	folder, path string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	return &reader{t, filepath.Join(t.TempDir(), "costs"), filepath.Join(t.TempDir(), "transcript.jsonl")}
}

func (r *reader) write(text string) {
	r.Helper()
	if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *reader) append(text string) {
	r.Helper()
	before, _ := os.ReadFile(r.path)
	r.write(string(before) + text)
}

// read returns the new entries as "id cost"; they are dropped when keep is false.
func (r *reader) read(keep bool) (costs []string) {
	r.Helper()
	reading, err := Read(r.folder, r.path, pricing.Shipped())
	if err != nil {
		r.Fatal(err)
	}
	if keep {
		if err := reading.Keep(); err != nil {
			r.Fatal(err)
		}
	}
	for _, c := range reading.Costs {
		costs = append(costs, c.ID+" "+c.USD)
	}
	return costs
}

func (r *reader) wants(keep bool, want ...string) {
	r.Helper()
	if got := r.read(keep); !slices.Equal(got, want) {
		r.Errorf("read %q, want %q", got, want)
	}
}

// S15.1: a transcript is read on from its last position, and each message reported once.
func TestTranscriptsAreReadOn(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.wants(true) // there is no file yet
	r.append(`{"type":"user","message":{"content":"hello"}}` + "\n" + said("m1", 10, `"hi"`))
	r.wants(false, "m1 0.000010")
	r.wants(true, "m1 0.000010") // it was not kept before
	r.wants(true)
	half := said("m2", 20, `[]`)
	r.append(half[:30])
	r.wants(true) // a line that is not whole yet
	r.append(half[30:] + "no JSON\n" + said("m3", 5, `[]`))
	r.wants(true, "m2 0.000020", "m3 0.000005")
	r.append(said("m3", 5, `[]`) + said("m3", 9, `[]`) + said("m3", 7, `[]`) + said("m4", 1, `[]`))
	r.wants(true, "m3+5 0.000004", "m4 0.000001")
}

// S15.1: a file that became shorter, or another one at its place, is read from its beginning.
func TestReplacedTranscriptsStartAgain(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.write(said("m1", 10, `[]`) + said("m2", 20, `[]`))
	r.wants(true, "m1 0.000010", "m2 0.000020")
	r.write(said("m1", 10, `[]`))
	r.wants(true, "m1 0.000010")
	r.write(said("n1", 30, `[]`) + said("n2", 40, `[]`) + said("n3", 50, `[]`))
	r.wants(true, "n1 0.000030", "n2 0.000040", "n3 0.000050")
	files, err := filepath.Glob(filepath.Join(r.folder, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.wants(true, "n1 0.000030", "n2 0.000040", "n3 0.000050")
	r.folder = ""
	r.wants(true, "n1 0.000030", "n2 0.000040", "n3 0.000050")
	r.wants(true, "n1 0.000030", "n2 0.000040", "n3 0.000050") // no position is kept
}

// A message has the calls that it asks for; the input of one that is long is left out.
func TestMessagesHaveTheirCalls(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.write(said("m1", 10, `[{"type":"text","text":"so"}]`) + said("m1", 10, `[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]`) +
		said("m1", 10, `[{"type":"tool_use","id":"t2","name":"Write","input":{"content":"`+strings.Repeat("x", maxInput)+`"}}]`))
	reading, err := Read("", r.path, pricing.Shipped())
	if err != nil || len(reading.Costs) != 1 {
		t.Fatalf("%+v, %v", reading, err)
	}
	text, err := json.Marshal(reading.Costs[0])
	if want := `{"id":"m1","cost_usd":"0.000010","tools":[{"tool":"Bash","input":{"command":"ls"}},{"tool":"Write"}]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

// S15.1: a model without a price is reported once, and does not count.
func TestModelsWithoutAPrice(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	line := `{"type":"assistant","message":{"id":"m%d","model":%q,"usage":{"input_tokens":%d}}}` + "\n"
	r.write(fmt.Sprintf(line, 1, "new-model", 5) + fmt.Sprintf(line, 2, "new-model", 5) + fmt.Sprintf(line, 3, "<synthetic>", 0))
	for _, want := range []string{"new-model", ""} {
		reading, err := Read(r.folder, r.path, pricing.Shipped())
		if err != nil || len(reading.Costs) != 0 || strings.Join(reading.Unpriced, " ") != want {
			t.Errorf("%+v, %v; want %q", reading, err, want)
		}
		if err := reading.Keep(); err != nil {
			t.Fatal(err)
		}
		r.append(fmt.Sprintf(line, 4, "new-model", 5))
	}
}

// S15.1: numbers of tokens count however they are written; one that cannot be is the most, and never none.
func TestTokensOfAnyForm(t *testing.T) {
	t.Parallel()
	const most = "1000000"
	for tokens, want := range map[string]string{
		"100": "0.000100", "1e2": "0.000100", "100.0": "0.000100", "99.5": "0.000100", `"100"`: "0.000100", "null": "0", "0": "0",
		"1e300": most, `"x"`: most, `""`: most, "-1": most, "true": most, "[1]": most, "{}": most, "123456789012345678901234567890": most,
	} {
		r := newReader(t)
		r.write(`{"type":"assistant","message":{"id":"m","model":"claude-haiku-4-5","usage":{"input_tokens":` + tokens + `,"output_tokens":0}}}` + "\n")
		if want == "0" {
			r.wants(true)
			continue
		}
		r.wants(true, "m "+want)
	}
}

// Writing to the cache costs by how long it lasts.
func TestCacheUsage(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.write(`{"type":"assistant","message":{"id":"m","model":"claude-haiku-4-5-20251001","usage":{"input_tokens":1,"output_tokens":1,` +
		`"cache_creation_input_tokens":100,"cache_read_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40}}}}` + "\n")
	r.wants(true, "m 0.000171") // 1 + 5 + 60*1.25 + 40*2 + 100*0.1
}
