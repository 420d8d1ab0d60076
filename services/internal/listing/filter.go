// Package listing reads and writes the filters of lists: key=value terms joined by AND,
// the same for every list of every service. It must never decide on the rights of a
// caller.
package listing

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
)

// and joins the terms of a filter.
const and = "AND"

// maxValue is the most characters of one value.
const maxValue = 1024

// bare is a value that needs no quotes.
var bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:/@+*-]+$`) })

// Term is one condition of a filter.
type Term struct{ Key, Value string }

// Filter writes a filter. Terms with an empty value have no effect and are left out.
func Filter(terms ...Term) string {
	var parts []string
	for _, t := range terms {
		if t.Value != "" {
			parts = append(parts, t.Key+"="+quote(t.Value))
		}
	}
	return strings.Join(parts, " "+and+" ")
}

func quote(value string) string {
	if bare().MatchString(value) && value != and {
		return value
	}
	text, err := json.Marshal(value)
	if err != nil { // no string fails
		return strconv.Quote(value)
	}
	return string(text)
}

// Terms are the values of a filter by their keys.
type Terms map[string]string

// Parse reads a filter whose keys are among the legal ones.
func Parse(filter string, legal ...string) (Terms, error) {
	terms := Terms{}
	rest := strings.TrimSpace(filter)
	for rest != "" {
		key, after, found := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" || strings.ContainsAny(key, " \t\r\n\"") {
			return nil, invalid(legal, "%q is not a key=value term", clip(rest))
		}
		if !slices.Contains(legal, key) {
			return nil, invalid(legal, "there is no key %q", clip(key))
		}
		if _, twice := terms[key]; twice {
			return nil, invalid(legal, "the key %q is there twice", key)
		}
		value, after, ok := cutValue(strings.TrimLeft(after, " \t\r\n"))
		switch {
		case !ok:
			return nil, invalid(legal, "the value of %q is not a word or a quoted JSON string", key)
		case value == "":
			return nil, invalid(legal, "the key %q has no value", key)
		case len([]rune(value)) > maxValue:
			return nil, invalid(legal, "the value of %q has more than %d characters", key, maxValue)
		}
		terms[key] = value
		if rest, ok = cutAnd(after); !ok {
			return nil, invalid(legal, "after the value of %q there is %q; join terms by \" AND \"", key, clip(strings.TrimSpace(after)))
		}
	}
	return terms, nil
}

// cutValue reads the value that a text begins with: a JSON string, or the text before the
// next space.
func cutValue(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, " \t\r\n")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], !strings.Contains(text[:end], `"`)
	}
	for end := 1; end < len(text); end++ {
		switch text[end] {
		case '\\':
			end++
		case '"':
			err := json.Unmarshal([]byte(text[:end+1]), &value)
			return value, text[end+1:], err == nil
		}
	}
	return "", "", false
}

// cutAnd reads the AND that a text begins with, and is false for another text. After the
// last term the text is empty.
func cutAnd(text string) (rest string, ok bool) {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	if trimmed == "" {
		return "", true
	}
	rest, found := strings.CutPrefix(trimmed, and)
	next := strings.TrimLeft(rest, " \t\r\n")
	return next, found && len(trimmed) < len(text) && len(next) < len(rest) && next != ""
}

// List writes the values of a key that takes several, see Terms.List.
func List(values ...string) string {
	escaped := make([]string, len(values))
	for i, value := range values {
		escaped[i] = url.PathEscape(value)
		escaped[i] = strings.ReplaceAll(escaped[i], ",", "%2C")
	}
	return strings.Join(escaped, ",")
}

// List returns the values of a key that takes several: separated by commas, each
// percent-encoded.
func (t Terms) List(key string) ([]string, error) {
	if t[key] == "" {
		return nil, nil
	}
	values := strings.Split(t[key], ",")
	for i, value := range values {
		read, err := url.PathUnescape(value)
		if err != nil || read == "" {
			return nil, refuse("filter: the values of %s are separated by commas, and each is percent-encoded; %q is not", key, clip(value))
		}
		values[i] = read
	}
	return values, nil
}

// SomeOf does the work of List for a key that takes some of a few words.
func (t Terms) SomeOf(key string, words []string) ([]string, error) {
	values, err := t.List(key)
	for _, value := range values {
		if !slices.Contains(words, value) {
			return nil, refuse("filter: %s is some of %s, not %q", key, strings.Join(words, ", "), clip(value))
		}
	}
	return values, err
}

// OneOf returns the value of a key that takes one of a few words; empty when the filter
// has no such key.
func (t Terms) OneOf(key string, words []string) (string, error) {
	value := t[key]
	if value != "" && !slices.Contains(words, value) {
		return "", refuse("filter: %s is one of %s, not %q", key, strings.Join(words, ", "), clip(value))
	}
	return value, nil
}

// True returns whether a key is there, whose only value is true.
func (t Terms) True(key string) (bool, error) {
	value, err := t.OneOf(key, []string{"true"})
	return value != "", err
}

// Time returns the value of a key that takes an RFC 3339 time; zero when the filter has
// no such key.
func (t Terms) Time(key string) (time.Time, error) {
	value := t[key]
	if value == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Time{}, refuse("filter: %s is an RFC 3339 time such as 2026-01-31T08:00:00Z, not %q", key, clip(value))
	}
	return at, nil
}

// invalid refuses a filter and names the keys that it may have.
func invalid(legal []string, format string, args ...any) error {
	return refuse("filter: "+format+"; legal keys: "+strings.Join(legal, ", "), args...)
}

func refuse(format string, args ...any) error {
	f := fault.New(fault.InvalidRequest, format, args...)
	return f.Violate("/filter", "FILTER", f.Message)
}

// clip returns the beginning of a text, for messages.
func clip(text string) string {
	const most = 64
	if characters := []rune(text); len(characters) > most {
		return string(characters[:most]) + "..."
	}
	return text
}
