package rest

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/internal/listing"
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

// param is one parameter of a route.
type param struct {
	name, in, about string
	integer         bool
	repeated        bool
	values          []string // when it is an enumeration
	longest         int      // of a header, in bytes; 0 for the usual bound
}

func inPath(name, about string) param  { return param{name: name, in: "path", about: about} }
func inQuery(name, about string) param { return param{name: name, in: "query", about: about} }
func intQuery(name, about string) param {
	return param{name: name, in: "query", about: about, integer: true}
}

var (
	idempotencyParam = param{
		name: headerIdempotency, in: "header",
		about: "A repeat with the same key and the same request gets the first answer.",
	}
	sessionParam = param{
		name: headerSession, in: "header",
		about: "The session that acts, by id or name. Agents must name theirs, unless their token does.",
	}
	forParam = param{
		name: access.ForHeader, in: "header", longest: len("Bearer ") + access.MaxToken,
		about: "The token of the person on whose behalf the caller acts, as Bearer TOKEN: of an OpenID Connect issuer, or of a person of this deployment.",
	}
	ifNoneMatchParam = param{
		name: headerIfNoneMatch, in: "header", about: "ETags that the caller has: 304 when one of them is current.",
	}
	pageSizeParam  = intQuery("page_size", "How many at most, up to 1000; 0 or absent for the default.")
	beforeParam    = inQuery(listing.Before, "Only objects older than the one with this id.")
	prefixParam    = inQuery(listing.Prefix, "Only those whose id begins like this.")
	pageTokenParam = inQuery("page_token", "next_page_token of the page before.")
)

// queryNames describes which query parameters a route takes.
func (rt *route) queryNames() string {
	var names []string
	for _, p := range rt.params {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return "; this path takes none"
	}
	return "; this path takes " + strings.Join(names, ", ")
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
			return badParameter(strings.ToValidUTF8(name, "\uFFFD"), "UNKNOWN_PARAMETER", "there is no such query parameter"+rt.queryNames())
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
			if values := c.r.Header.Values(p.name); len(values) > 1 || len(values) == 1 && !visible(values[0], cmp.Or(p.longest, 256)) {
				return badParameter(p.name, "INVALID", fmt.Sprintf("give it once, with at most %d visible ASCII characters", cmp.Or(p.longest, 256)))
			}
		}
	}
	size, err := c.number("page_size", 1000)
	if err != nil {
		return err
	}
	c.size, c.token = int32(size), c.query.Get("page_token") // at most 1000
	if rt.takes(headerIfMatch) && !rt.byDigest {
		c.match, err = c.ifMatch()
		return err
	}
	if rt.byDigest {
		return nil // registration reads it
	}
	if c.r.Header.Get(headerIfMatch) != "" && rt.method != http.MethodGet {
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

// path returns a path parameter, decoded.
func (c *call) path(name string) string { return c.r.PathValue(name) }

// header returns a request header.
func (c *call) header(name string) string { return c.r.Header.Get(name) }

// number returns an integer query parameter between 0 and limit; 0 when absent.
func (c *call) number(name string, limit int64) (int64, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	return wholeNumber(name, text, limit)
}

// version returns a version in the path or the query; 0 when it is not there.
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

// choice returns the number of an enumeration's value that the caller names in lower
// case; 0 for a name that there is not.
func choice(values map[string]int32, prefix, name string) int32 {
	if name != strings.ToLower(name) {
		return 0
	}
	return values[prefix+strings.ToUpper(name)]
}

// choice returns the number of the value of an enumeration that a query parameter names;
// 0 when it is absent.
func (c *call) choice(name string, values map[string]int32, prefix string, known []string) (int32, error) {
	n := choice(values, prefix, c.query.Get(name))
	if n == 0 && c.query.Has(name) {
		return 0, notOneOf(name, known)
	}
	return n, nil
}

// upperChoice does the work of choice for names in upper case.
func (c *call) upperChoice(name string, values map[string]int32, prefix string, known []string) (int32, error) {
	text := c.query.Get(name)
	n := values[prefix+text]
	if n == 0 && text != "" {
		return 0, notOneOf(name, known)
	}
	return n, nil
}

// notOneOf returns a 400 that blames a parameter that names no value of an enumeration.
func notOneOf(name string, known []string) *Problem {
	return badParameter(name, "ENUM", "must be one of "+strings.Join(known, ", "))
}

// duration returns a query parameter like 30s; 0 when absent.
func (c *call) duration(name string, limit time.Duration) (time.Duration, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	d, err := document.ParseDuration(text)
	if err != nil || d < 0 || d > limit {
		return 0, badParameter(name, "RANGE", "must be a time with its unit, e.g. 30s, of at most "+limit.String())
	}
	return d, nil
}

// momentMend says how a moment is written.
const momentMend = "must be a time as RFC 3339 writes it, e.g. 2026-03-04T12:00:00Z, or how long ago, e.g. 24h or 7d"

// moment returns a time that is written like that; nil for none.
func moment(text string, now time.Time) (at *timestamppb.Timestamp, valid bool) {
	if text == "" {
		return nil, true
	}
	if ago, err := document.ParseDuration(text); err == nil && ago >= 0 {
		return timestamppb.New(now.Add(-ago)), true
	}
	t, err := time.Parse(time.RFC3339, text)
	at = timestamppb.New(t)
	return at, err == nil && at.IsValid()
}

// flag returns a query parameter that is true or false; false when absent.
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

// ifMatch returns the version that the caller insists on; 0 for any.
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

// stagedParam is that of routes that store versions of definitions.
var stagedParam = param{name: "staged", in: "query", about: "Store the version without making it live.", values: []string{"true", "false"}}

// registrationParams are those of routes that register definitions.
func registrationParams(more ...param) []param {
	return append(more, idempotencyParam,
		param{name: headerIfMatch, in: "header", about: "ETag of the definition: 412 unless that one is live."},
		param{name: "expected_version", in: "query", about: "409 unless this version is live; absent for any.", integer: true},
		param{name: "expected_digest", in: "query", about: "409 unless the live version has this digest; absent for any."},
		stagedParam,
		param{name: "dry_run", in: "query", about: "Store nothing, and answer as if it were stored.", values: []string{"true", "false"}},
	)
}

// registration has the terms of a registration.
type registration struct {
	version        int64
	digest         string
	staged, dryRun bool
	// matched says that If-Match has named the digest.
	matched bool
}

// registration reads the terms of a registration.
func (c *call) registration() (r registration, err error) {
	if r.version, err = c.version("expected_version", c.query.Get("expected_version")); err != nil {
		return r, err
	}
	if r.staged, err = c.flag("staged"); err != nil {
		return r, err
	}
	if r.dryRun, err = c.flag("dry_run"); err != nil {
		return r, err
	}
	r.digest = c.query.Get("expected_digest")
	tag := c.header(headerIfMatch)
	if tag == "" || tag == "*" {
		return r, nil
	}
	digest, opened := strings.CutPrefix(tag, `"`)
	digest, closed := strings.CutSuffix(digest, `"`)
	switch {
	case !opened || !closed || len(digest) != 64:
		return r, badParameter(headerIfMatch, "INVALID", "must be one ETag of this definition, as a GET answers it, or *")
	case r.digest != "" && r.digest != digest:
		return r, badParameter(headerIfMatch, "CONFLICT", "If-Match and expected_digest name different versions; send one of them")
	}
	r.digest, r.matched = digest, true
	return r, nil
}

// refused returns the error of a registration: 412 where it was If-Match that named the version.
func (r registration) refused(err error) error {
	if !r.matched {
		return err
	}
	return unmatched(err, 1)
}

// etag returns a version as a strong entity tag.
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

// before and prefix are the terms of a filter that every list by id takes.
func (c *call) before() listing.Term {
	return listing.Term{Key: listing.Before, Value: c.query.Get(listing.Before)}
}

func (c *call) prefix() listing.Term {
	return listing.Term{Key: listing.Prefix, Value: c.query.Get(listing.Prefix)}
}

// several returns the values of a query parameter that takes more than one: by commas, or
// by repeating it.
func (c *call) several(name string) []string {
	var values []string
	for _, text := range c.query[name] {
		for value := range strings.SplitSeq(text, ",") {
			if value != "" {
				values = append(values, value)
			}
		}
	}
	return values
}

// momentTerm returns the term of a filter that a query parameter with a time asks for.
func (c *call) momentTerm(name string, now time.Time) (listing.Term, error) {
	at, valid := moment(c.query.Get(name), now)
	if !valid {
		return listing.Term{}, badParameter(name, "INVALID", momentMend)
	}
	if at == nil {
		return listing.Term{}, nil
	}
	return listing.Term{Key: name, Value: at.AsTime().Format(time.RFC3339Nano)}, nil
}
