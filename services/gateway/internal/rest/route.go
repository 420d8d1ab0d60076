package rest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
)

// bodyRule is the kind of body of a route.
type bodyRule int

const (
	noBody bodyRule = iota
	jsonBody
	optionalJSON   // an empty body means {}
	definitionBody // a definition: JSON or YAML
	patchBody      // a JSON object, a JSON Patch or a JSON Merge Patch
)

// route is one operation: its description, for the router and for OpenAPI, and the
// function that serves it.
type route struct {
	method, path string
	id, summary  string
	about        string
	params       []param
	body         bodyRule
	request      reflect.Type // of the body's struct, when it has one
	definition   string       // the kind of a definitionBody, for OpenAPI
	maxBody      int64        // in bytes; 0 for the usual limit
	// byDigest says that If-Match names a digest, and not a version.
	byDigest bool
	// fields are the caller's names of fields of the gRPC request, where they
	// differ.
	fields map[string]string
	// answers maps a status to the type of its body, nil for none.
	answers map[int]reflect.Type
	// timeout bounds the call; 0 for the usual.
	timeout time.Duration
	serve   func(*call) (*answer, error)
	// lines serves all elements of a list as JSON lines, to clients that accept them; nil
	// where there is no such answer.
	lines func(*call) error
	// stream serves instead of serve, for answers without an end.
	stream func(*call) error
}

// call is one request on its way to a service.
type call struct {
	ctx   context.Context
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	body  []byte
	media string // of the body

	// size and token say which page of a list is asked for.
	size  int32
	token string
	// match is the version of If-Match; 0 for any.
	match int64
}

// answer is a success.
type answer struct {
	status   int
	body     any // nil for none
	etag     string
	location string
	// warning is for the client's people; empty for none.
	warning string
}

// ok returns a 200 with this body.
func ok(body any) *answer { return &answer{status: http.StatusOK, body: body} }

// tagged returns the answer with an entity tag.
func (a *answer) tagged(etag string) *answer {
	a.etag = etag
	return a
}

// at returns the answer with the place of its object: a 201 where that is new.
func (a *answer) at(location string, created bool) *answer {
	a.location = location
	if created {
		a.status = http.StatusCreated
	}
	return a
}

// done returns a 204 for a call of a service without a result.
func done[R any](_ R, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusNoContent}, nil
}

// shown returns a 200 with the result of a call of a service.
func shown[M, V any](m M, err error, view func(M) V) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(view(m)), nil
}

// versionPath returns the path of one version of a named object.
func versionPath(base, name string, version int64) string {
	return base + "/" + url.PathEscape(name) + "/versions/" + strconv.FormatInt(version, 10)
}

// taking serves requests whose body is a T.
func taking[T any](serve func(*call, T) (*answer, error)) func(*call) (*answer, error) {
	return func(c *call) (*answer, error) {
		in, err := decode[T](c.body)
		if err != nil {
			return nil, err
		}
		return serve(c, in)
	}
}

// add registers a route with the router and with the OpenAPI document.
func (e *edge) add(rt route) {
	item := e.doc.Paths[rt.path]
	if item == nil {
		item = map[string]*openapi.Operation{}
		e.doc.Paths[rt.path] = item
	}
	item[strings.ToLower(rt.method)] = rt.document(e.shapes)
	e.mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) { e.dispatch(&rt, w, r) })
}

// dispatch takes a request through the checks that all routes share.
func (e *edge) dispatch(rt *route, w http.ResponseWriter, r *http.Request) {
	c := &call{w: w, r: r}
	err := c.prepare(rt)
	if rt.lines != nil {
		w.Header().Set("Vary", "Accept")
	}
	var reply *answer
	switch {
	case err != nil:
	case rt.stream != nil:
		err = rt.stream(c)
	case rt.lines != nil && c.accepts(contentLines):
		err = rt.lines(c)
	default:
		var cancel context.CancelFunc
		c.ctx, cancel = context.WithTimeout(c.ctx, cmp.Or(rt.timeout, callTimeout))
		defer cancel()
		reply, err = rt.serve(c)
	}
	if err = unmatched(err, c.match); err != nil {
		e.writeProblem(w, r, problemOf(err, rt))
		return
	}
	if reply == nil {
		return // a stream that has ended
	}
	h := w.Header()
	if reply.warning != "" {
		h.Set("X-Interlock-Warning", reply.warning)
	}
	if reply.etag != "" {
		h.Set("ETag", reply.etag)
	}
	if reply.location != "" {
		h.Set("Location", reply.location)
	}
	if rt.conditional() && noneMatch(c.header(headerIfNoneMatch), reply.etag) {
		reply = &answer{status: http.StatusNotModified}
	}
	if reply.body == nil {
		w.WriteHeader(reply.status)
		return
	}
	e.writeJSON(w, r, reply.status, contentJSON, reply.body)
}

// prepare checks the parts that cannot cross gRPC, and reads the body.
func (c *call) prepare(rt *route) error {
	ctx, err := outgoing(c.r, c.w.Header().Get(headerRequestID))
	if err != nil {
		return err
	}
	c.ctx = ctx
	if err := c.checkParams(rt); err != nil {
		return err
	}
	if rt.body == noBody {
		return nil
	}
	if c.r.ContentLength != 0 || rt.body != optionalJSON {
		if c.media, err = mediaType(c.r, rt.body); err != nil {
			return err
		}
	}
	c.body, err = readBody(c.w, c.r, cmp.Or(rt.maxBody, maxBody))
	if err == nil && len(c.body) == 0 && rt.body == optionalJSON {
		c.body = []byte("{}")
	}
	return err
}

// encoding keeps a user's JSON as it was written, but for white space outside
// strings. It was checked when it was stored.
var encoding = json.JoinOptions(
	jsontext.PreserveRawStrings(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
	jsontext.AllowDuplicateNames(true), json.Deterministic(true),
)

// writeJSON writes the response. A body that cannot be encoded is our fault: 500.
func (e *edge) writeJSON(w http.ResponseWriter, r *http.Request, status int, contentType string, body any) {
	text, err := encode(body)
	if err != nil {
		p := problemOf(fault.New(fault.Internal, "").Wrap(err), &route{})
		p.Detail = "internal error; the server's log has the cause"
		w.Header().Del("ETag")
		e.writeProblem(w, r, p)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer can
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // the client went away: no reader is left
	}
}

// encode returns the JSON text of a body, with a line end; text that is JSON already
// stays as it is.
func encode(body any) ([]byte, error) {
	if text, isJSON := body.(jsontext.Value); isJSON {
		return text, nil
	}
	text, err := json.Marshal(body, encoding)
	return append(text, '\n'), err
}
