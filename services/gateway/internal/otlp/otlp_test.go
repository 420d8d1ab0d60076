package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// export is what a client sends: %TEMPORALITY%, %TIME% and %VALUE% are for tests to say.
const export = `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]},"scopeMetrics":[{"metrics":[
	{"name":"claude_code.token.usage","sum":{"aggregationTemporality":1,"dataPoints":[{"asDouble":900}]}},
	{"name":"claude_code.cost.usage","unit":"USD","sum":{"isMonotonic":true,"aggregationTemporality":%TEMPORALITY%,"dataPoints":[
		{"attributes":[{"key":"session.id","value":{"stringValue":"s1"}},{"key":"model","value":{"stringValue":"m"}}],"startTimeUnixNano":"100","timeUnixNano":"%TIME%",%VALUE%}]}}]}]}]}`

// enforcer remembers what was reported to it.
type enforcer struct {
	policyv1.PolicyEnforcerServiceClient
	got []*policyv1.ReportCostRequest
	err error
}

func (e *enforcer) ReportCost(_ context.Context, req *policyv1.ReportCostRequest, _ ...grpc.CallOption) (*policyv1.ReportCostResponse, error) {
	e.got = append(e.got, req)
	return &policyv1.ReportCostResponse{}, e.err
}

func (e *enforcer) post(t *testing.T, form, encoding string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, bytes.NewReader(body))
	r.Header.Set("Content-Type", form)
	r.Header.Set("Content-Encoding", encoding)
	w := httptest.NewRecorder()
	(&Handler{Policy: e, Logger: slog.New(slog.DiscardHandler)}).ServeHTTP(w, r)
	return w
}

func exporting(temporality, time, value string) []byte {
	return []byte(strings.NewReplacer("%TEMPORALITY%", temporality, "%TIME%", time, "%VALUE%", value).Replace(export))
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// S15.1: JSON and protobuf, compressed or not, say the same.
func TestForms(t *testing.T) {
	t.Parallel()
	text := exporting("1", "200", `"asDouble":0.25`)
	req := &collector.ExportMetricsServiceRequest{}
	if err := protojson.Unmarshal(text, req); err != nil {
		t.Fatal(err)
	}
	binary, err := proto.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	e := &enforcer{}
	for _, tt := range []struct {
		form, encoding string
		body           []byte
	}{
		{"application/json", "", text},
		{"application/json; charset=utf-8", "gzip", zipped(t, text)},
		{"application/x-protobuf", "", binary},
		{"application/x-protobuf", "gzip", zipped(t, binary)},
	} {
		if w := e.post(t, tt.form, tt.encoding, tt.body); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", tt.form, w.Code, w.Body)
		}
	}
	for _, got := range e.got {
		if got.GetSessionId() != "s1" || got.GetSource() != "otlp" || len(got.GetCosts()) != 1 || !proto.Equal(got, e.got[0]) ||
			got.GetCosts()[0].GetCostUsd() != "0.250000000" || got.GetCosts()[0].GetTotal() {
			t.Errorf("reported %v", got)
		}
	}
	if len(e.got) != 4 {
		t.Errorf("%d reports", len(e.got))
	}
}

// S15.1: a point that adds is counted by its time, and one that is a total by its series.
func TestTemporality(t *testing.T) {
	t.Parallel()
	for temporality, same := range map[string]bool{"1": false, "2": true} {
		e := &enforcer{}
		e.post(t, "application/json", "", exporting(temporality, "200", `"asInt":"2"`))
		e.post(t, "application/json", "", exporting(temporality, "300", `"asInt":"3"`))
		if len(e.got) != 2 {
			t.Fatalf("%d reports", len(e.got))
		}
		first, second := e.got[0].GetCosts()[0], e.got[1].GetCosts()[0]
		if (first.GetId() == second.GetId()) != same || first.GetTotal() != same || second.GetCostUsd() != "3" {
			t.Errorf("temporality %s: %v, %v", temporality, first, second)
		}
	}
}

// S15.1: an amount of more than nothing is never nothing.
func TestFineAmounts(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"1e-05": "0.000010000", "1e-30": "0.000000001", "5e-324": "0.000000001", "0": "0.000000000", "2.5": "2.500000000"} {
		e := &enforcer{}
		e.post(t, "application/json", "", exporting("1", "2", `"asDouble":`+value))
		if len(e.got) != 1 || e.got[0].GetCosts()[0].GetCostUsd() != want {
			t.Errorf("%s is reported as %v", value, e.got)
		}
	}
}

// What cannot be counted is told to the exporter.
func TestWhatCannotBeCounted(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no session":     strings.ReplaceAll(string(exporting("1", "2", `"asInt":"2"`)), "session.id", "other.id"),
		"no temporality": string(exporting("0", "2", `"asInt":"2"`)),
		"negative":       string(exporting("1", "2", `"asDouble":-1`)),
		"no number":      string(exporting("1", "2", `"asDouble":"NaN"`)),
		"no value":       string(exporting("1", "2", `"flags":1`)),
	} {
		e := &enforcer{}
		w := e.post(t, "application/json", "", []byte(body))
		if w.Code != http.StatusOK || len(e.got) != 0 || !strings.Contains(w.Body.String(), `"rejectedDataPoints"`) {
			t.Errorf("%s: %d %s, %v", name, w.Code, w.Body, e.got)
		}
	}
	good := exporting("1", "2", `"asInt":"2"`)
	for err, want := range map[error]int{
		fault.New(fault.Unavailable, "the store is down").GRPCStatus().Err():   http.StatusServiceUnavailable,
		fault.New(fault.PermissionDenied, "not yours").GRPCStatus().Err():      http.StatusForbidden,
		fault.New(fault.InvalidRequest, "no such thing").GRPCStatus().Err():    http.StatusBadRequest,
		fault.New(fault.Unauthenticated, "who are you?").GRPCStatus().Err():    http.StatusUnauthorized,
		fault.New(fault.DeadlineExceeded, "it took long").GRPCStatus().Err():   http.StatusServiceUnavailable,
		fault.New(fault.VersionConflict, "others were it").GRPCStatus().Err():  http.StatusServiceUnavailable,
		fault.New(fault.CommitUncertain, "nobody can tell").GRPCStatus().Err(): http.StatusServiceUnavailable,
	} {
		e := &enforcer{err: err}
		if w := e.post(t, "application/json", "", good); w.Code != want {
			t.Errorf("%v: %d, want %d", err, w.Code, want)
		}
	}
	e := &enforcer{}
	for _, tt := range []struct {
		form, encoding, body string
		want                 int
	}{
		{"text/plain", "", "x", http.StatusUnsupportedMediaType},
		{"application/json", "", "{", http.StatusBadRequest},
		{"application/x-protobuf", "", "\xff\xff", http.StatusBadRequest},
		{"application/json", "gzip", "{}", http.StatusBadRequest},
		{"application/json", "br", "{}", http.StatusBadRequest},
		{"application/json", "", strings.Repeat(" ", maxBody+1), http.StatusBadRequest},
		{"application/json", "gzip", string(zipped(t, bytes.Repeat([]byte(" "), maxBody+1))), http.StatusBadRequest},
		{"application/json", "", "{}", http.StatusOK},
	} {
		w := e.post(t, tt.form, tt.encoding, []byte(tt.body))
		if text, _ := io.ReadAll(w.Body); w.Code != tt.want || len(e.got) != 0 {
			t.Errorf("%s %.20q: %d %s", tt.form, tt.body, w.Code, text)
		}
	}
}
