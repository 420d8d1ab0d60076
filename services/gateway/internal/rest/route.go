package rest

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/fault"
)

// Header names.
const (
	headerIdempotency = "Idempotency-Key"
	headerIfMatch     = "If-Match"
	headerIfNoneMatch = "If-None-Match"
	headerLastEvent   = "Last-Event-ID"
	// headerSession names the session that acts (S10.9).
	headerSession = "X-Interlock-Session"
	headerFencing = "Interlock-Fencing-Token"
)

// bodyRule says what body a route takes.
type bodyRule int

const (
	noBody bodyRule = iota
	jsonBody
	optionalJSON   // an empty body means {}
	definitionBody // a definition: JSON or YAML
	patchBody      // a JSON object, a JSON Patch or a JSON Merge Patch
)

// route is one operation: what it is, for the router and for OpenAPI, and the
// function that serves it.
type route struct {
	method, path string
	id, summary  string
	about        string
	params       []param
	body         bodyRule
	request      reflect.Type // of the body's struct, when it has one
	definition   string       // what a definitionBody is, for OpenAPI
	maxBody      int64        // in bytes; 0 for the usual limit
	// fields are the caller's names of fields of the gRPC request, where they
	// differ.
	fields map[string]string
	// answers maps a status to the type of its body, nil for none.
	answers map[int]reflect.Type
	// public routes need no token.
	public bool
	// socket routes take the token as a subprotocol, too.
	socket bool
	serve  func(*call) (*answer, error)
	// stream serves instead of serve, for answers without an end.
	stream func(*call) error
}

// param is one parameter of a route.
type param struct {
	name, in, about string
	integer         bool
	repeated        bool
	values          []string // when it is an enumeration
}

func inPath(name, about string) param  { return param{name: name, in: "path", about: about} }
func inQuery(name, about string) param { return param{name: name, in: "query", about: about} }
func intQuery(name, about string) param {
	return param{name: name, in: "query", about: about, integer: true}
}

var (
	idempotencyParam = param{
		name: headerIdempotency, in: "header",
		about: "A repeat with the same key and the same request gets the first answer (S6.5).",
	}
	sessionParam = param{
		name: headerSession, in: "header",
		about: "The session that acts, by id or name. Agents must name theirs, unless their token does.",
	}
	ifNoneMatchParam = param{
		name: headerIfNoneMatch, in: "header", about: "ETags that the caller has: 304 when one of them is current.",
	}
	pageSizeParam  = intQuery("page_size", "How many at most, up to 1000; 0 or absent for the default.")
	pageTokenParam = inQuery("page_token", "next_page_token of the page before.")
)

// call is one request on its way to a service.
type call struct {
	ctx   context.Context
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	body  []byte
	media string // of the body
}

// answer is a success.
type answer struct {
	status   int
	body     any // nil for none
	etag     string
	location string
}

// ok is a 200 with this body.
func ok(body any) *answer { return &answer{status: http.StatusOK, body: body} }

// done is a 204.
func done() *answer { return &answer{status: http.StatusNoContent} }

// add registers a route with the router and with the OpenAPI document.
func (e *edge) add(rt route) {
	op := rt.document(e.api.OpenAPI().Components.Schemas)
	e.api.OpenAPI().AddOperation(op)
	e.api.Adapter().Handle(op, func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		e.dispatch(&rt, w, r)
	})
}

// dispatch takes a request through the checks that all routes share.
func (e *edge) dispatch(rt *route, w http.ResponseWriter, r *http.Request) {
	c := &call{w: w, r: r}
	err := e.prepare(rt, c)
	var reply *answer
	switch {
	case err != nil:
	case rt.stream != nil:
		err = rt.stream(c)
	default:
		var cancel context.CancelFunc
		c.ctx, cancel = context.WithTimeout(c.ctx, callTimeout)
		defer cancel()
		reply, err = rt.serve(c)
	}
	if err != nil {
		e.writeProblem(w, r, problemOf(err, rt))
		return
	}
	if reply == nil {
		return // a stream that has ended
	}
	h := w.Header()
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

// prepare authenticates roughly (the services do it properly), checks what
// cannot cross gRPC, and reads the body.
func (e *edge) prepare(rt *route, c *call) error {
	ctx, err := e.outgoing(c.r, rt, c.w.Header().Get(headerRequestID))
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

// checkParams refuses parameters that are unknown, repeated or not text: a typo
// in a filter must not silently widen an answer.
func (c *call) checkParams(rt *route) error {
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return newProblem(http.StatusBadRequest, string(fault.InvalidRequest), "the query is not properly encoded")
	}
	c.query = query
	for name, values := range query {
		at := slices.IndexFunc(rt.params, func(p param) bool { return p.in == "query" && p.name == name })
		switch {
		case at < 0:
			return badParameter(strings.ToValidUTF8(name, "\uFFFD"), "UNKNOWN_PARAMETER", "there is no such query parameter")
		case len(values) > 1 && !rt.params[at].repeated:
			return badParameter(name, "DUPLICATE_PARAMETER", "give it once")
		case slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }):
			return badParameter(name, "UTF8", "must be UTF-8")
		}
	}
	for _, p := range rt.params {
		switch p.in {
		case "path":
			if !utf8.ValidString(c.r.PathValue(p.name)) {
				return badParameter(p.name, "UTF8", "must be UTF-8")
			}
		case "header":
			if values := c.r.Header.Values(p.name); len(values) > 1 || len(values) == 1 && !visible(values[0], 256) {
				return badParameter(p.name, "INVALID", "give it once, with at most 256 visible ASCII characters")
			}
		}
	}
	if c.r.Header.Get(headerIfMatch) != "" && rt.method != http.MethodGet && !rt.takes(headerIfMatch) {
		return badParameter(headerIfMatch, "UNSUPPORTED", "this route has no precondition; leave the header out")
	}
	return nil
}

// takes reports whether the route has a parameter of this name.
func (rt *route) takes(name string) bool {
	return slices.ContainsFunc(rt.params, func(p param) bool { return p.name == name })
}

// conditional reports whether the route may answer 304.
func (rt *route) conditional() bool { return rt.takes(headerIfNoneMatch) }

// path is a path parameter, decoded.
func (c *call) path(name string) string { return c.r.PathValue(name) }

// header is a request header.
func (c *call) header(name string) string { return c.r.Header.Get(name) }

// number is an integer query parameter between 0 and limit; 0 when absent.
func (c *call) number(name string, limit int64) (int64, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	return wholeNumber(name, text, limit)
}

// page is which page of a list the caller wants.
func (c *call) page() (size int32, token string, err error) {
	n, err := c.number("page_size", 1000)
	return int32(n), c.query.Get("page_token"), err // at most 1000
}

// version is a version in the path or the query; 0 when it is not there.
func (c *call) version(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := wholeNumber(name, text, math.MaxInt64)
	if err == nil && n == 0 {
		err = fault.New(fault.NotFound, "versions begin at 1")
	}
	return n, err
}

// choice is the number of an enumeration's value that the caller names in lower
// case; 0 for a name that there is not.
func choice(values map[string]int32, prefix, name string) int32 {
	if name != strings.ToLower(name) {
		return 0
	}
	return values[prefix+strings.ToUpper(name)]
}

// choice is the number of the value of an enumeration that a query parameter
// names; 0 when it is absent.
func (c *call) choice(name string, values map[string]int32, prefix string, known []string) (int32, error) {
	n := choice(values, prefix, c.query.Get(name))
	if n == 0 && c.query.Has(name) {
		return 0, badParameter(name, "ENUM", "must be one of "+strings.Join(known, ", "))
	}
	return n, nil
}

// flag is a query parameter that is true or false; false when absent.
func (c *call) flag(name string) (bool, error) {
	text := c.query.Get(name)
	if c.query.Has(name) && text != "true" && text != "false" {
		return false, badParameter(name, "ENUM", "must be true or false")
	}
	return text == "true", nil
}

func wholeNumber(name, text string, limit int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > limit {
		return 0, badParameter(name, "RANGE", "must be a whole number from 0 to "+strconv.FormatInt(limit, 10))
	}
	return n, nil
}

// ifMatch is the version that the caller insists on; 0 for any.
func (c *call) ifMatch() (int64, error) {
	text := c.header(headerIfMatch)
	if text == "" || text == "*" {
		return 0, nil
	}
	digits, opened := strings.CutPrefix(text, `"`)
	digits, closed := strings.CutSuffix(digits, `"`)
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !opened || !closed || n < 1 {
		return 0, badParameter(headerIfMatch, "INVALID", `must be one ETag of this resource, e.g. "7", or *`)
	}
	return n, nil
}

// etag is a version as a strong entity tag.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// noneMatch reports whether If-None-Match lists this entity tag (RFC 9110,
// section 13.1.2).
func noneMatch(header, tag string) bool {
	if header == "" || tag == "" {
		return false
	}
	for listed := range strings.SplitSeq(header, ",") {
		listed = strings.TrimSpace(listed)
		if listed == "*" || strings.TrimPrefix(listed, "W/") == tag {
			return true
		}
	}
	return false
}

// visible reports whether s is at most limit visible ASCII characters.
func visible(s string, limit int) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return len(s) <= limit
}

// encoding keeps a user's JSON as it was written, but for white space outside
// strings. It was checked when it was stored.
var encoding = json.JoinOptions(
	jsontext.PreserveRawStrings(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
	jsontext.AllowDuplicateNames(true), json.Deterministic(true),
)

// writeJSON answers. A body that cannot be encoded is our fault: 500.
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
		_, _ = w.Write(text) // the client went away: nobody to tell
	}
}

// encode is the JSON text of a body, with a line end; text that is JSON already
// stays as it is.
func encode(body any) ([]byte, error) {
	if text, isJSON := body.(jsontext.Value); isJSON {
		return text, nil
	}
	text, err := json.Marshal(body, encoding)
	return append(text, '\n'), err
}
