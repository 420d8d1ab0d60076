package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/sdk"
)

// The cases of every SDK are in sdk/conformance/sdk.yaml and governance.yaml; this is Go's runner of them.

type tableOfSDKs struct {
	Fixtures map[string]map[string]json.RawMessage `json:"fixtures"`
	Cases    []tableCase                           `json:"cases"`
}

type tableCase struct {
	Name     string              `json:"name"`
	Category string              `json:"category"`
	Setup    map[string][]string `json:"setup"`
	Session  *string             `json:"session"`
	Steps    []tableStep         `json:"steps"`
}

type tableStep struct {
	Call       string            `json:"call"`
	Args       map[string]any    `json:"args"`
	As         string            `json:"as"`
	Role       string            `json:"role"`
	Token      string            `json:"token"`
	For        string            `json:"for"`
	Namespace  string            `json:"namespace"`
	Recorded   any               `json:"recorded"`
	Eventually bool              `json:"eventually"`
	Cancel     string            `json:"cancel"`
	TimeoutMS  int               `json:"timeout_ms"`
	Faults     json.RawMessage   `json:"faults"`
	Save       string            `json:"save"`
	Times      int               `json:"times"`
	Together   []tableStep       `json:"together"`
	Expect     *tableExpectation `json:"expect"`
}

type tableExpectation struct {
	Result any  `json:"result"`
	Error  any  `json:"error"`
	Ran    *int `json:"ran"`
	Any    bool `json:"any"`
}

func TestSDKTable(t *testing.T) {
	t.Parallel()
	control := startSDKHost(t)
	for file, least := range map[string]int{"sdk": 40, "governance": 60} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			table := readTable(t, file)
			if len(table.Cases) < least {
				t.Fatalf("the table has %d cases only", len(table.Cases))
			}
			for _, c := range table.Cases {
				t.Run(path.Join(c.Category, c.Name), func(t *testing.T) {
					t.Parallel()
					runCase(t, control, table, c)
				})
			}
		})
	}
}

// readTable returns a table of sdk/conformance, numbers as they are written.
func readTable(t *testing.T, name string) (table tableOfSDKs) {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../../sdk/conformance/" + name + ".yaml"))
	decoder := json.NewDecoder(bytes.NewReader(must[[]byte](t)(yaml.YAMLToJSON(text))))
	decoder.UseNumber()
	if err := decoder.Decode(&table); err != nil {
		t.Fatal(err)
	}
	return table
}

func runCase(t *testing.T, control string, table tableOfSDKs, c tableCase) {
	t.Helper()
	r := &tableRunner{t: t, saved: map[string]any{}, session: "agent"}
	if c.Session != nil {
		r.session = *c.Session
	}
	definitions := map[string]any{"schemas": map[string]json.RawMessage{}}
	for kind, names := range c.Setup {
		var list []json.RawMessage
		named := map[string]json.RawMessage{}
		of := table.Fixtures[kind]
		if kind == "attachable" {
			of = table.Fixtures["policies"]
		}
		for _, name := range names {
			list = append(list, of[name])
			named[name] = of[name]
		}
		if definitions[kind] = list; kind == "schemas" {
			definitions[kind] = named
		}
	}
	made, ok := r.ask(http.MethodPost, control+"/cases", definitions).(map[string]any)
	if !ok {
		t.FailNow()
	}
	r.base = control + "/cases/" + made["id"].(string)
	r.server, r.namespace, r.other, r.token = made["server"].(string), made["namespace"].(string), made["other"].(string), made["token"].(string)
	r.roles = map[string]string{"operator": made["operator_token"].(string), "approver": made["approver_token"].(string)}
	r.connect()
	defer func() { r.client.Close() }()
	for i, step := range c.Steps {
		for _, problem := range r.step(step) {
			t.Errorf("step %d: %s", i+1, problem)
		}
	}
	r.ask(http.MethodDelete, r.base, nil)
}

// startSDKHost starts the other side, and returns the URL of its control.
func startSDKHost(t *testing.T) string {
	t.Helper()
	interlock := binary(t, "interlock")
	program := filepath.Join(t.TempDir(), "sdkhost")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-gcflags", "all=-l -dwarf=false", "-o", program, "./sdkhost")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build sdkhost: %v\n%s", err, out)
	}
	host := exec.Command(program, "-interlock", interlock)
	host.Env, host.Stderr = cleanEnv(), os.Stderr
	input := must[io.WriteCloser](t)(host.StdinPipe())
	output := must[io.ReadCloser](t)(host.StdoutPipe())
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		if err := host.Wait(); err != nil {
			t.Errorf("sdkhost ended with %v", err)
		}
	})
	var says struct{ Control string }
	if err := json.NewDecoder(bufio.NewReader(output)).Decode(&says); err != nil {
		t.Fatalf("sdkhost does not serve: %v", err)
	}
	return says.Control
}

// tableRunner runs one case.
type tableRunner struct {
	t                                       *testing.T
	base, server, namespace, token, session string
	run, human, other                       string
	roles                                   map[string]string
	client                                  *sdk.Client
	ran                                     atomic.Int64

	mu    sync.Mutex
	saved map[string]any
}

// errTool is a tool's own error.
type errTool struct{ text string }

func (e errTool) Error() string { return e.text }

func (r *tableRunner) connect() {
	r.client = must[*sdk.Client](r.t)(sdk.Dial(r.server, r.options(r.token)))
}

func (r *tableRunner) options(token string) sdk.Options {
	return sdk.Options{Token: token, Namespace: r.namespace, Session: r.session, Run: r.run, Human: r.human}
}

// reconnect makes the client anew, with other settings where args has them.
func (r *tableRunner) reconnect(args map[string]any) error {
	for name, to := range map[string]*string{"server": &r.server, "token": &r.token, "session": &r.session, "run": &r.run, "human": &r.human} {
		if value, named := args[name].(string); named {
			*to = value
		}
	}
	next, err := sdk.Dial(r.server, r.options(r.token))
	if err != nil {
		return err
	}
	r.client.Close()
	r.client = next
	return nil
}

// ask makes a request of the host.
func (r *tableRunner) ask(method, url string, body any) any {
	r.t.Helper()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(must[[]byte](r.t)(json.Marshal(body)))
	}
	req := must[*http.Request](r.t)(http.NewRequestWithContext(within(r.t), method, url, reader))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Errorf("%s %s: %v", method, url, err)
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Errorf("%s %s: %s %v %s", method, url, resp.Status, err, text)
		return nil
	}
	return r.parse(text)
}

func (r *tableRunner) parse(text []byte) any {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		r.t.Errorf("%s: %v", text, err)
	}
	return value
}

// step makes a step, and returns the unexpected results.
func (r *tableRunner) step(s tableStep) (problems []string) {
	if len(s.Faults) > 0 {
		r.ask(http.MethodPost, r.base+"/faults", s.Faults)
	}
	if s.Eventually {
		eventually(r.t, "a step is as expected", func() error {
			if problems := r.once(s); len(problems) > 0 {
				return errors.New(strings.Join(problems, "\n"))
			}
			return nil
		})
		return nil
	}
	steps, before := s.Together, r.ran.Load()
	if steps == nil {
		steps = slices.Repeat([]tableStep{s}, max(s.Times, 1))
	}
	found := make([][]string, len(steps))
	var all sync.WaitGroup
	for i, one := range steps {
		all.Go(func() { found[i] = r.once(one) })
	}
	all.Wait()
	if s.Together != nil && s.Expect != nil && s.Expect.Ran != nil {
		problems = sdkDifferences(json.Number(fmt.Sprint(*s.Expect.Ran)), json.Number(fmt.Sprint(r.ran.Load()-before)), "/ran")
	}
	return append(problems, slices.Concat(found...)...)
}

func (r *tableRunner) once(s tableStep) (problems []string) {
	ctx := within(r.t)
	if s.TimeoutMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(s.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	args, _ := r.fill(s.Args).(map[string]any)
	ran := 0
	result, err := r.call(ctx, s, args, &ran)
	var failed any
	if err != nil {
		failed = r.failure(err, result)
	}
	if s.Save != "" {
		r.mu.Lock()
		if r.saved[s.Save] = result; failed != nil {
			r.saved[s.Save] = failed
		}
		r.mu.Unlock()
	}
	switch e := s.Expect; {
	case e != nil && e.Any:
		return nil
	case e != nil && e.Error != nil:
		problems = sdkDifferences(r.fill(e.Error), failed, "/error")
	case err != nil:
		problems = []string{fmt.Sprintf("failed: %v", failed)}
	case e != nil && e.Result != nil:
		problems = sdkDifferences(r.fill(e.Result), result, "/result")
	}
	if s.Recorded != nil {
		problems = append(problems, sdkDifferences(r.fill(s.Recorded), r.recorded(ctx, s, result), "/recorded")...)
	}
	if s.Expect != nil && s.Expect.Ran != nil && ran != *s.Expect.Ran {
		problems = append(problems, fmt.Sprintf("/ran: is %d, not %d", ran, *s.Expect.Ran))
	}
	for i := range problems {
		problems[i] = s.Call + ": " + problems[i]
	}
	return problems
}

// fill puts saved values in the place of "$NAME" and "$NAME.member".
func (r *tableRunner) fill(value any) any {
	switch v := value.(type) {
	case string:
		name, member, of := strings.Cut(strings.TrimPrefix(v, "$"), ".")
		r.mu.Lock()
		saved, known := r.saved[name]
		r.mu.Unlock()
		switch {
		case !strings.HasPrefix(v, "$") || !known:
			return v
		case of:
			return saved.(map[string]any)[member]
		default:
			return saved
		}
	case map[string]any:
		out := map[string]any{}
		for name, one := range v {
			out[name] = r.fill(one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = r.fill(one)
		}
		return out
	default:
		return value
	}
}

func (r *tableRunner) asRun(run *sdk.Run) any {
	if run == nil {
		return nil
	}
	return r.canonical(run, map[string]any{"ended": run.Ended(), "context_json": string(run.Context)})
}

// failure is an error in the words of the table.
func (r *tableRunner) failure(err error, result any) map[string]any {
	var (
		tool     errTool
		denied   *sdk.DeniedError
		asked    *sdk.ApprovalRequiredError
		rejected *sdk.RejectedError
		report   *sdk.ReportError
		refusal  *fault.Error
		members  any = map[string]any{}
		kind     string
	)
	message := err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		kind, members = "Cancelled", map[string]any{}
	case errors.As(err, &tool):
		kind, members = "ToolError", map[string]any{}
	case errors.As(err, &denied):
		kind, members, message = "Denied", denied, denied.Message
		switch configuration := (*sdk.ConfigurationError)(nil); {
		case errors.As(err, &configuration):
			kind = "ConfigurationError"
		case denied.Code == sdk.CodePolicyUnavailable:
			kind = "Unavailable"
		}
	case errors.As(err, &asked):
		kind, members, message = "AwaitingApproval", asked, asked.Message
	case errors.As(err, &rejected):
		kind, members, message = "Rejected", rejected, rejected.Message
	case errors.As(err, &report):
		kind, members = "ReportError", map[string]any{"call_id": report.CallID, "result": result}
	case errors.As(err, &refusal):
		kind, members, message = "Fault", refusal, refusal.Message
	}
	out, _ := r.canonical(members, map[string]any{
		"type": kind, "message": message, "reason": string(sdk.Reason(err)), "retriable": sdk.Retriable(err),
	}).(map[string]any)
	return out
}

// canonical is a Go value in the words of the table, with more members.
func (r *tableRunner) canonical(value any, more map[string]any) any {
	out := r.words(reflect.ValueOf(value))
	if object, ok := out.(map[string]any); ok {
		for name, one := range more {
			object[name] = one
		}
	}
	return out
}

func (r *tableRunner) words(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	switch value := v.Interface().(type) {
	case json.RawMessage:
		if len(value) == 0 {
			return nil
		}
		return r.parse(value)
	case json.Number, string, bool:
		return value
	case time.Duration:
		return json.Number(strconv.FormatFloat(value.Seconds(), 'f', -1, 64))
	case time.Time:
		if value.IsZero() {
			return nil
		}
		return value.Format(time.RFC3339Nano)
	case error:
		if v.Kind() == reflect.Struct {
			return nil
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return r.words(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Name != "Err" {
				name := snake(field.Name)
				if field.Type == reflect.TypeFor[time.Duration]() {
					name += "_seconds"
				}
				out[name] = r.words(v.Field(i))
			}
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, key := range v.MapKeys() {
			out[key.String()] = r.words(v.MapIndex(key))
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = r.words(v.Index(i))
		}
		return out
	case reflect.String:
		return v.String()
	default:
		return json.Number(fmt.Sprint(v.Interface()))
	}
}

// snake is a name of Go as the table writes it: "SessionID" is session_id.
func snake(name string) string {
	var out strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 && unicode.IsLower(rune(name[i-1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}

// sdkDifferences says where a value is not as expected.
func sdkDifferences(expected, actual any, at string) (problems []string) {
	switch want := expected.(type) {
	case map[string]any:
		if pattern, ok := want["$match"].(string); ok {
			if s, ok := actual.(string); !ok || !regexp.MustCompile(pattern).MatchString(s) {
				problems = append(problems, fmt.Sprintf("%s: %v does not match %s", at, actual, pattern))
			}
			return problems
		}
		if other, ok := want["$not"]; ok {
			if len(sdkDifferences(other, actual, at)) == 0 {
				problems = append(problems, fmt.Sprintf("%s: is %v", at, actual))
			}
			return problems
		}
		if size, ok := want["$size"].(json.Number); ok {
			if list, ok := actual.([]any); !ok || fmt.Sprint(len(list)) != size.String() {
				problems = append(problems, fmt.Sprintf("%s: does not have %s elements: %v", at, size, actual))
			}
			return problems
		}
		have, ok := actual.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v is not an object", at, actual)}
		}
		for name, one := range want {
			problems = append(problems, sdkDifferences(one, have[name], at+"/"+name)...)
		}
		return problems
	case []any:
		have, ok := actual.([]any)
		if !ok || len(have) != len(want) {
			return []string{fmt.Sprintf("%s: does not have %d elements: %v", at, len(want), actual)}
		}
		for i := range want {
			problems = append(problems, sdkDifferences(want[i], have[i], fmt.Sprintf("%s/%d", at, i))...)
		}
		return problems
	default:
		if !reflect.DeepEqual(expected, actual) {
			return []string{fmt.Sprintf("%s: is %v, not %v", at, actual, expected)}
		}
		return nil
	}
}
