package extauthz

import (
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	extauthzv1 "github.com/interlock-run/interlock/gen/go/interlock/extauthz/v1"
)

// request is a request as the proxy describes it.
type request struct {
	http    *extauthzv1.AttributeContext_HttpRequest
	headers map[string]string
	// route has the facts of the proxy itself about the request: its configuration for the
	// route, and the findings of its filters. Clients have no say in it.
	route map[string]string
	// groups are those of the person whom the proxy names, all if groupsKnown is set.
	groups      []string
	groupsKnown bool
}

// Names of a proxy's facts about a request, in context_extensions of a route, and in the
// dynamic metadata of the namespace interlock.
const (
	metadataNamespace = "interlock"

	routeServer  = "server"
	routeSession = "session"
	routeRun     = "run"
)

func requestOf(check *extauthzv1.CheckRequest) (*request, error) {
	attributes := check.GetAttributes()
	r := &request{http: attributes.GetRequest().GetHttp(), headers: map[string]string{}, route: map[string]string{}}
	if r.http == nil {
		return nil, errors.New("it is not HTTP")
	}
	for name, value := range r.http.GetHeaders() {
		r.headers[strings.ToLower(name)] = value
	}
	for _, h := range r.http.GetHeaderMap().GetHeaders() { // with encode_raw_headers
		name, value := strings.ToLower(h.GetKey()), h.GetValue()
		if len(h.GetRawValue()) > 0 {
			value = string(h.GetRawValue())
		}
		if earlier, twice := r.headers[name]; twice {
			value = earlier + "," + value
		}
		r.headers[name] = value
	}
	for name, value := range attributes.GetMetadataContext().GetFilterMetadata()[metadataNamespace].GetFields() {
		r.route[name] = value.GetStringValue()
	}
	if list := attributes.GetMetadataContext().GetFilterMetadata()[metadataNamespace].GetFields()[routeGroups].GetListValue(); list != nil {
		r.groupsKnown = true
		for _, value := range list.GetValues() {
			text, ok := value.GetKind().(*structpb.Value_StringValue)
			r.groupsKnown = r.groupsKnown && ok && text.StringValue != ""
			r.groups = append(r.groups, value.GetStringValue())
		}
	}
	for _, name := range []string{routeServer, routeSession, routeRun, routeHuman, routeIssuer} {
		if value, said := attributes.GetContextExtensions()[metadataNamespace+"."+name]; said {
			r.route[name] = value
		}
	}
	return r, nil
}

// header returns the one value of a header, empty for none. A proxy writes several with
// commas between, which no name here has.
func (r *request) header(name string) (string, error) {
	value := strings.TrimSpace(r.headers[strings.ToLower(name)])
	if strings.Contains(value, ",") {
		return "", fmt.Errorf("the header %s occurs more than once", name)
	}
	return value, nil
}

// plainPath returns the path without its query, and whether it is written in the one way
// that every server reads as the same.
func (r *request) plainPath() (string, bool) {
	written, _, _ := strings.Cut(r.http.GetPath(), "?")
	meant := path.Clean("/" + written)
	if strings.HasSuffix(written, "/") && meant != "/" {
		meant += "/"
	}
	return written, written == meant && !strings.ContainsAny(written, `%\;#`)
}

// below reports that a path is another, or below it.
func below(p, base string) bool {
	rest, ok := strings.CutPrefix(p, strings.TrimSuffix(base, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// body returns the whole body of the request. A body that the proxy has cut off, or has
// not sent along, cannot be judged.
func (r *request) body() ([]byte, error) {
	text, raw := r.http.GetBody(), r.http.GetRawBody()
	if text != "" && len(raw) > 0 {
		return nil, errors.New("the proxy sent the body in two forms")
	}
	body := raw
	if text != "" {
		body = []byte(text)
	}
	if len(body) == 0 {
		return nil, errors.New("the proxy did not send its body: set with_request_body")
	}
	if r.headers["x-envoy-auth-partial-body"] == "true" {
		return nil, errTruncated
	}
	length, stated := r.headers["content-length"]
	switch size := r.http.GetSize(); {
	case stated && length != strconv.Itoa(len(body)), size > 0 && size != int64(len(body)), size < 0 && !stated:
		return nil, errTruncated
	}
	if encoding := r.headers["content-encoding"]; encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, errors.New("its body is compressed")
	}
	kind, params, err := mime.ParseMediaType(r.headers["content-type"])
	if err != nil || kind != "application/json" {
		return nil, errors.New("its Content-Type is not application/json")
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, errors.New("its body is not UTF-8")
	}
	return body, nil
}

var errTruncated = errors.New("its body is not the one that the client sent, or not all of it: raise max_request_bytes")

// agrees reports that the headers in which newer clients repeat fields of a message, for
// servers that route by them, have the same values.
func (r *request) agrees(messages []message) error {
	if method, there := r.headers["mcp-method"]; there && (len(messages) != 1 || messages[0].Method != method) {
		return errors.New("its header Mcp-Method is not the message's method")
	}
	name, there := r.headers["mcp-name"]
	if !there || !slices.ContainsFunc(messages, func(m message) bool { return m.Method == methodCallTool }) {
		return nil
	}
	if encoded, ok := strings.CutPrefix(name, "=?base64?"); ok {
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "?="))
		if err != nil {
			return errors.New("its header Mcp-Name cannot be read")
		}
		name = string(decoded)
	}
	if len(messages) != 1 || messages[0].Tool != name {
		return errors.New("its header Mcp-Name is not the name of the message's tool")
	}
	return nil
}
