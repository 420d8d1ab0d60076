// Package otlp takes OpenTelemetry metrics of agents' clients: their figures for the cost
// of a session (S15.1). It holds no rules, and drops all other metrics.
package otlp

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// Path is where OTLP/HTTP posts metrics.
const Path = "/v1/metrics"

const (
	// Metric is the metric that counts, and Session its attribute that says for which
	// session (Claude Code's documentation of its OpenTelemetry metrics).
	Metric = "claude_code.cost.usage"
	// Session is the attribute that names the session of the client.
	Session = "session.id"

	source = "otlp"
	// maxBody bounds a request, compressed or not.
	maxBody = 8 << 20
	// costsEach is how many costs the policy enforcer takes at a time.
	costsEach = 256
)

// Handler takes metrics.
type Handler struct {
	Policy policyv1.PolicyEnforcerServiceClient
	Logger *slog.Logger
}

// ServeHTTP takes one export, as protobuf or as JSON. It answers 200 only when every cost is
// counted, and a status that exporters repeat when that can help.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	form, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || form != "application/x-protobuf" && form != "application/json" {
		http.Error(w, "metrics must be application/x-protobuf or application/json", http.StatusUnsupportedMediaType)
		return
	}
	req, err := read(w, r, form)
	if err != nil {
		answer(w, form, http.StatusBadRequest, &spb.Status{Code: 3, Message: err.Error()})
		return
	}
	ctx := r.Context()
	if token := access.CallerOf(ctx).Token; token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	if namespace := r.Header.Get("X-Interlock-Namespace"); namespace != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, rpc.NamespaceKey, namespace)
	}
	costs, rejected := costsOf(req)
	for _, of := range costs {
		if err := h.report(ctx, of); err != nil {
			f := fault.From(err)
			h.Logger.LogAttrs(ctx, slog.LevelWarn, "the cost of a session from its metrics could not be counted",
				slog.String("session_id", of.session), slog.Any("error", err))
			answer(w, form, statusOf(f), &spb.Status{Code: int32(f.GRPCStatus().Code()), Message: f.Message}) //nolint:gosec // a small number
			return
		}
	}
	resp := &collector.ExportMetricsServiceResponse{}
	if rejected > 0 {
		resp.PartialSuccess = &collector.ExportMetricsPartialSuccess{
			RejectedDataPoints: rejected, ErrorMessage: "a cost was not counted: it has no " + Session + ", or its value is not a valid amount of dollars",
		}
	}
	answer(w, form, http.StatusOK, resp)
}

// statusOf returns a status that exporters repeat the export on where that can help (OTLP
// 1.9, "OTLP/HTTP Response").
func statusOf(f *fault.Error) int {
	switch f.Reason {
	case fault.Unavailable, fault.CommitUncertain, fault.DeadlineExceeded, fault.VersionConflict:
		return http.StatusServiceUnavailable
	case fault.PermissionDenied:
		return http.StatusForbidden
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	default:
		return http.StatusBadRequest
	}
}

func answer(w http.ResponseWriter, form string, status int, m proto.Message) {
	data, err := proto.Marshal(m)
	if form == "application/json" {
		data, err = protojson.Marshal(m)
	}
	if err != nil {
		http.Error(w, "the answer could not be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", form)
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

func read(w http.ResponseWriter, r *http.Request, form string) (*collector.ExportMetricsServiceRequest, error) {
	var body io.Reader = http.MaxBytesReader(w, r.Body, maxBody)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("the metrics are not gzip: %w", err)
		}
		body = unzipped
	default:
		return nil, fmt.Errorf("the encoding %.40q is not known: use gzip", encoding)
	}
	data, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("the metrics could not be read: %w", err)
	}
	if len(data) > maxBody {
		return nil, errors.New("the metrics are too large")
	}
	req := &collector.ExportMetricsServiceRequest{}
	if form == "application/json" {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, req)
	} else {
		err = proto.Unmarshal(data, req)
	}
	if err != nil {
		return nil, fmt.Errorf("the metrics are not OTLP: %w", err)
	}
	return req, nil
}

func (h *Handler) report(ctx context.Context, of sessionCosts) error {
	for batch := range slices.Chunk(of.costs, costsEach) {
		if _, err := h.Policy.ReportCost(ctx, &policyv1.ReportCostRequest{SessionId: of.session, Source: source, Costs: batch}); err != nil {
			return err
		}
	}
	return nil
}

type sessionCosts struct {
	session string
	costs   []*policyv1.Cost
}

// costsOf returns the costs in an export by session, in their order, and how many could
// not be read.
func costsOf(req *collector.ExportMetricsServiceRequest) (all []sessionCosts, rejected int64) {
	for _, resource := range req.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				if metric.GetName() != Metric {
					continue
				}
				sum := metric.GetSum()
				for _, point := range sum.GetDataPoints() {
					session, cost := costOf(resource.GetResource().GetAttributes(), sum.GetAggregationTemporality(), point)
					if cost == nil {
						rejected++
						continue
					}
					at := slices.IndexFunc(all, func(s sessionCosts) bool { return s.session == session })
					if at < 0 {
						at = len(all)
						all = append(all, sessionCosts{session: session})
					}
					all[at].costs = append(all[at].costs, cost)
				}
			}
		}
	}
	return all, rejected
}

// costOf returns the cost of one point; nil for one that cannot be read. Its id is that
// of its series, and for an amount since the last point, also of the point's time.
func costOf(resource []*common.KeyValue, temporality metrics.AggregationTemporality, point *metrics.NumberDataPoint) (session string, cost *policyv1.Cost) {
	var names []string
	for _, attributes := range [][]*common.KeyValue{resource, point.GetAttributes()} {
		for _, a := range attributes {
			if a.GetKey() == Session {
				session = a.GetValue().GetStringValue()
			}
			value, err := proto.MarshalOptions{Deterministic: true}.Marshal(a.GetValue())
			if err != nil {
				return "", nil
			}
			names = append(names, strconv.Quote(a.GetKey())+"="+strconv.Quote(string(value)))
		}
	}
	amount, ok := amountOf(point)
	total := temporality == metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	delta := temporality == metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	if session == "" || len(session) > 256 || !ok || !total && !delta {
		return "", nil
	}
	slices.Sort(names)
	names = append(names, strconv.FormatUint(point.GetStartTimeUnixNano(), 10))
	if delta {
		names = append(names, strconv.FormatUint(point.GetTimeUnixNano(), 10))
	}
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return session, &policyv1.Cost{Id: hex.EncodeToString(sum[:16]), CostUsd: amount, Total: total}
}

// finest is the least amount above zero that is written.
const finest = 1e-9

// amountOf writes an amount as a decimal number: OTLP has floats, money has none.
func amountOf(point *metrics.NumberDataPoint) (string, bool) {
	switch v := point.GetValue().(type) {
	case *metrics.NumberDataPoint_AsInt:
		return strconv.FormatInt(v.AsInt, 10), v.AsInt >= 0
	case *metrics.NumberDataPoint_AsDouble:
		if math.IsNaN(v.AsDouble) || v.AsDouble < 0 || v.AsDouble > 1_000_000 {
			return "", false
		}
		if v.AsDouble > 0 && v.AsDouble < finest {
			return strconv.FormatFloat(finest, 'f', 9, 64), true
		}
		return strconv.FormatFloat(v.AsDouble, 'f', 9, 64), true
	default:
		return "", false
	}
}
