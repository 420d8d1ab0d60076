// Package authzen lets gateways that are not Interlock's ask it, by OpenID AuthZEN's
// Authorization API 1.0 and its draft of a profile for access requests: is this tool call
// allowed? It translates to CheckToolCall and back, and holds no rules. A request that it
// cannot read or have decided is never permitted.
package authzen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/metadata"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// Paths that are served, with those below Path.
const (
	Path              = "/access/v1/"
	ConfigurationPath = "/.well-known/authzen-configuration"

	evaluationPath  = Path + "evaluation"
	evaluationsPath = Path + "evaluations"
	requestsPath    = Path + "requests"
)

const (
	headerRequestID = "X-Request-ID"
	headerNamespace = "X-Interlock-Namespace"

	// maxBody is one tool's input of 1 MiB (S1.1) and the envelope around it.
	maxBody = 1<<20 + 64<<10
	// maxEvaluations bounds the questions of one request.
	maxEvaluations = 64
	// checkTimeout bounds one decision, callTimeout the answer to one request.
	checkTimeout = 5 * time.Second
	callTimeout  = 30 * time.Second
)

// Config has the parts and settings of the package. The clients are required.
type Config struct {
	Policy    policyv1.PolicyEnforcerServiceClient
	Approvals approvalv1.ApprovalServiceClient
	// PublicURL is where gateways reach this server; without it there is no metadata, and
	// no denial says where to ask for access.
	PublicURL string
	// Input names the member of a context that is the tool's input; empty when the whole
	// context is.
	Input string
	// Resource names the member of the tool's input that gets the properties of the resource;
	// empty when they are not judged.
	Resource string
	// SessionProperty and RunProperty name the properties of a subject with its session
	// and its run.
	SessionProperty, RunProperty string
	// HumanType is the type of subjects that are people on whose behalf calls are made; empty for none. HumanIssuer vouches for
	// their names elsewhere, and GroupsProperty and Attributes name properties of theirs.
	HumanType, HumanIssuer, GroupsProperty string
	Attributes                             []string
	// AllowUnbound takes the word of policies for calls of sessions that drive no run.
	AllowUnbound bool
	// Undecided is notified of each call that was denied because it could not be decided;
	// nil if there is none.
	Undecided func(error)
	Logger    *slog.Logger // default slog.Default()
}

// Handler serves the API to callers that package access has let in.
type Handler struct {
	Config
	mux    *http.ServeMux
	origin *http.CrossOriginProtection
}

var _ access.Part = (*Handler)(nil)

// New makes the handler.
func New(cfg Config) *Handler {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.PublicURL = strings.TrimRight(cfg.PublicURL, "/")
	cfg.SessionProperty, cfg.RunProperty = cmp.Or(cfg.SessionProperty, "session"), cmp.Or(cfg.RunProperty, "run")
	h := &Handler{Config: cfg, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection()}
	h.mux.HandleFunc("POST "+evaluationPath, h.evaluation)
	h.mux.HandleFunc("POST "+evaluationsPath, h.evaluations)
	h.mux.HandleFunc("POST "+requestsPath, h.submit)
	h.mux.HandleFunc("GET "+requestsPath+"/{id}", h.task)
	h.mux.HandleFunc("GET "+ConfigurationPath, h.configuration)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin(w, r)
	defer h.recover(w, r)
	if err := h.origin.Check(r); err != nil {
		fail(w, http.StatusForbidden, "requests from pages of another origin are refused")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	h.mux.ServeHTTP(w, r.WithContext(ctx))
}

// Refuse implements access.Part.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, why *access.Refusal) {
	begin(w, r)
	if why.Challenge != "" {
		w.Header().Set("WWW-Authenticate", why.Challenge)
	}
	fail(w, why.Status, why.Message)
}

// begin sets the headers of every answer: the id of its request, above all.
func begin(w http.ResponseWriter, r *http.Request) {
	if id := r.Header.Get(headerRequestID); id != "" {
		w.Header().Set(headerRequestID, id)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

// recover responds with 500 for a panic, which is a bug and no permission.
func (h *Handler) recover(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	h.Logger.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("route", r.URL.Path),
		slog.String("value", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
	fail(w, http.StatusInternalServerError, "internal error; the server's log has the cause")
}

// fail writes an error of the transport: its body is a message. It is never a decision.
func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, message+"\n") //nolint:errcheck // the client went away
}

func write(w http.ResponseWriter, status int, contentType string, body any) {
	data, err := json.Marshal(body, json.Deterministic(true), jsontext.Multiline(false))
	if err != nil {
		fail(w, http.StatusInternalServerError, "the answer cannot be written")
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	w.Write(append(data, '\n')) //nolint:errcheck // the client went away
}

const (
	contentJSON    = "application/json"
	contentProblem = "application/problem+json"
)

// failure is why a request gets no decision: an error of the transport.
type failure struct {
	status  int
	message string
}

func (f *failure) Error() string { return f.message }

func bad(format string, args ...any) *failure {
	return &failure{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// read returns the body of a request: one JSON object without duplicate names.
func read(w http.ResponseWriter, r *http.Request, into any) *failure {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != contentJSON {
		return bad("set the header Content-Type: application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		message := fmt.Sprintf("the body is larger than %d bytes; send less", tooLarge.Limit)
		return &failure{http.StatusRequestEntityTooLarge, message}
	case err != nil:
		return bad("the body could not be read to its end; send it again")
	case jsontext.Value(body).Kind() != '{':
		return bad("the body must be a JSON object")
	}
	return decode(body, into)
}

// decode reads JSON. Members that are not known are ignored, as the API demands;
// ambiguous ones are refused, because another reader may see another value.
func decode(body []byte, into any) *failure {
	err := json.Unmarshal(body, into)
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &semantic):
		return bad("%s has the wrong type", cmp.Or(string(semantic.JSONPointer), "the body"))
	default:
		return bad("the body is not valid JSON in UTF-8 without duplicate names")
	}
}

// outgoing returns the request's context with the caller's metadata for the services.
func outgoing(r *http.Request) (context.Context, *failure) {
	md := metadata.MD{}
	if token := access.CallerOf(r.Context()).Token; token != "" {
		md.Set("authorization", "Bearer "+token)
	}
	switch given := r.Header.Values(headerNamespace); {
	case len(given) > 1 || len(given) == 1 && !rpc.ValidNamespace(given[0]):
		return nil, bad("the header %s must be the name of one namespace", headerNamespace)
	case len(given) == 1:
		md.Set(rpc.NamespaceKey, given[0])
	}
	switch behalf := r.Header.Values(access.ForHeader); {
	case len(behalf) > 1:
		return nil, bad("the header %s occurs more than once", access.ForHeader)
	case len(behalf) == 1:
		md.Set(rpc.ForKey, behalf[0])
	}
	// Services take an id that no log can mistake, and make one otherwise.
	if id := r.Header.Get(headerRequestID); id != "" && len(id) <= 64 && !strings.ContainsFunc(id, unprintable) {
		md.Set(rpc.RequestIDKey, id)
	}
	return metadata.NewOutgoingContext(r.Context(), md), nil
}

func unprintable(c rune) bool { return c <= ' ' || c > '~' }

// evaluation decides one question.
func (h *Handler) evaluation(w http.ResponseWriter, r *http.Request) {
	var q question
	why := read(w, r, &q)
	var answer *decision
	if why == nil {
		answer, why = h.single(r, &q)
	}
	if why != nil {
		fail(w, why.status, why.message)
		return
	}
	write(w, http.StatusOK, contentJSON, answer)
}

func (h *Handler) single(r *http.Request, q *question) (*decision, *failure) {
	ctx, why := outgoing(r)
	if why != nil {
		return nil, why
	}
	return h.decide(ctx, q)
}

// semantics are the ways to go through several questions: when to stop.
var semantics = map[string]func(*decision) (stop bool){
	"":                       func(*decision) bool { return false },
	"execute_all":            func(*decision) bool { return false },
	"deny_on_first_deny":     func(d *decision) bool { return !d.Decision },
	"permit_on_first_permit": func(d *decision) bool { return d.Decision },
}

// evaluations decides several questions, in their order: the counters of a state and of a
// policy depend on it.
func (h *Handler) evaluations(w http.ResponseWriter, r *http.Request) {
	var all struct {
		question
		Evaluations []jsontext.Value `json:"evaluations"`
		Options     struct {
			Semantic string `json:"evaluations_semantic"`
		} `json:"options"`
	}
	if why := read(w, r, &all); why != nil {
		fail(w, why.status, why.message)
		return
	}
	stop, known := semantics[all.Options.Semantic]
	switch {
	case !known:
		fail(w, http.StatusBadRequest,
			"options.evaluations_semantic must be execute_all, deny_on_first_deny or permit_on_first_permit")
		return
	case len(all.Evaluations) > maxEvaluations:
		fail(w, http.StatusBadRequest,
			fmt.Sprintf("at most %d evaluations are answered at once; ask again for the others", maxEvaluations))
		return
	case len(all.Evaluations) == 0:
		answer, why := h.single(r, &all.question)
		if why != nil {
			fail(w, why.status, why.message)
			return
		}
		write(w, http.StatusOK, contentJSON, answer)
		return
	}
	ctx, why := outgoing(r)
	if why != nil {
		fail(w, why.status, why.message)
		return
	}
	answers := []*decision{}
	for _, raw := range all.Evaluations {
		answer, why := h.item(ctx, raw, all.question)
		if why != nil {
			fail(w, why.status, why.message)
			return
		}
		answers = append(answers, answer)
		if stop(answer) {
			break
		}
	}
	write(w, http.StatusOK, contentJSON, map[string]any{"evaluations": answers})
}

// item decides one of several questions. A fault of one denies that one alone; an unknown
// caller gets no answers.
func (h *Handler) item(ctx context.Context, raw jsontext.Value, defaults question) (*decision, *failure) {
	if raw.Kind() != '{' {
		return nil, bad("each of evaluations must be an object")
	}
	q := question{}
	why := decode(raw, &q)
	var answer *decision
	if why == nil {
		q.inherit(defaults)
		answer, why = h.decide(ctx, &q)
	}
	switch {
	case why == nil:
		return answer, nil
	case why.status == http.StatusUnauthorized:
		return nil, why
	default:
		return denial(string(codeOf(why.status)), why.message, why.status), nil
	}
}

func codeOf(status int) fault.Reason {
	switch status {
	case http.StatusForbidden:
		return fault.PermissionDenied
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return fault.InvalidRequest
	default:
		return fault.Internal
	}
}

// configuration serves the metadata of the API. There are no searches, and so no
// endpoints of any.
func (h *Handler) configuration(w http.ResponseWriter, _ *http.Request) {
	if h.PublicURL == "" {
		fail(w, http.StatusNotFound, "this server does not know its public URL; set --public-url")
		return
	}
	write(w, http.StatusOK, contentJSON, map[string]any{
		"policy_decision_point":       h.PublicURL,
		"access_evaluation_endpoint":  h.PublicURL + evaluationPath,
		"access_evaluations_endpoint": h.PublicURL + evaluationsPath,
		"access_request_endpoint":     h.PublicURL + requestsPath,
		"capabilities":                []string{"urn:openid:authzen:capability:access-request"},
	})
}
