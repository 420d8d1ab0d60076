// Package relay reads the JSON-RPC messages of MCP as far as the gate must know them, and
// keeps the rest as the bytes that it is. It is pure: it neither reads from a connection nor
// decides.
package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one member of an object: its name, unescaped, and its value as it was written.
type Member struct {
	Name  string
	Value json.RawMessage
}

var (
	errNoObject = errors.New("it is not a JSON object")
	errNoArray  = errors.New("it is not a JSON array")
	// ErrTooDeep is the error of a text whose objects and arrays hold one another too often.
	ErrTooDeep = fmt.Errorf("its objects and arrays hold one another more than %d times", MaxDepth)
)

// MaxDepth bounds how many objects and arrays of a message may hold one another. Clients and
// their libraries read no more.
const MaxDepth = 1000

// decoder reads text as it is: names may repeat, and text need not be valid UTF-8.
func decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Members returns the members of an object in their order. Each value is a part of text.
func Members(text []byte) ([]Member, error) {
	var members []Member
	err := within(text, '{', errNoObject, func(d *jsontext.Decoder) error {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		member := Member{Name: name.String()}
		if member.Value, err = value(d, text); err == nil {
			members = append(members, member)
		}
		return err
	})
	return members, err
}

// Elements returns the elements of an array. Each is a part of text.
func Elements(text []byte) ([]json.RawMessage, error) {
	var elements []json.RawMessage
	err := within(text, '[', errNoArray, func(d *jsontext.Decoder) error {
		element, err := value(d, text)
		if err == nil {
			elements = append(elements, element)
		}
		return err
	})
	return elements, err
}

// within reads each member or element of the only value of text.
func within(text []byte, kind jsontext.Kind, other error, each func(*jsontext.Decoder) error) error {
	if tooDeep(text) {
		return ErrTooDeep
	}
	d := decoder(text)
	switch d.PeekKind() {
	case kind:
	case 0:
		_, err := d.ReadToken()
		return err
	default:
		return other
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if err := each(d); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(text[d.InputOffset():]); len(rest) > 0 {
		return errors.New("something follows it")
	}
	return nil
}

// value returns the next value of text, which d reads.
func value(d *jsontext.Decoder, text []byte) (json.RawMessage, error) {
	read, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := d.InputOffset()
	return text[end-int64(len(read)) : end : end], nil
}

// tooDeep reports whether text nests more than MaxDepth. It reads no further than that.
func tooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfText(text, i)
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// endOfText returns the index of the quotation mark that ends the text which begins at from.
func endOfText(text []byte, from int) int {
	for i := from + 1; i < len(text); i++ {
		next := bytes.IndexAny(text[i:], `"\`)
		if next < 0 {
			break
		}
		if i += next; text[i] == '"' {
			return i
		}
		i++ // the character after a backslash
	}
	return len(text)
}

// Message is one message of JSON-RPC. Of members that repeat, the last counts, as parsers of
// JSON have it.
type Message struct {
	// ID is as it was written; nil where there is none.
	ID                    json.RawMessage
	Method                string
	Params, Result, Error json.RawMessage
}

// IsCall reports whether the message is a request that wants a response.
func (m Message) IsCall() bool { return m.Method != "" && m.HasID() }

// HasID reports whether the message has an id that is not null.
func (m Message) HasID() bool { return m.ID != nil && string(m.ID) != "null" }

// Read reads one message. It does not insist on the member "jsonrpc".
func Read(text []byte) (Message, error) {
	members, err := Members(text)
	if err != nil {
		return Message{}, err
	}
	var m Message
	for _, member := range members {
		switch member.Name {
		case "id":
			m.ID = member.Value
		case "method":
			if json.Unmarshal(member.Value, &m.Method) != nil || m.Method == "" {
				return Message{}, errors.New("its method is not a name")
			}
		case "params":
			m.Params = member.Value
		case "result":
			m.Result = member.Value
		case "error":
			m.Error = notNull(member.Value)
		}
	}
	switch {
	case m.ID != nil && !scalar(m.ID):
		return Message{}, errors.New("its id is neither a text nor a number")
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return Message{}, errors.New("it is not a message of JSON-RPC")
	}
	return m, nil
}

func notNull(text json.RawMessage) json.RawMessage {
	if string(text) == "null" {
		return nil
	}
	return text
}

// scalar reports whether a value is a text, a number or null.
func scalar(text json.RawMessage) bool {
	return text[0] == '"' || text[0] == '-' || text[0] >= '0' && text[0] <= '9' || text[0] == 'n'
}

// byteOrderMark may begin a text.
var byteOrderMark = []byte("\uFEFF")

// Split returns the messages in a line or a body: none for an empty one, and those of a batch.
func Split(text []byte) ([]json.RawMessage, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), byteOrderMark))
	switch {
	case len(text) == 0:
		return nil, nil
	case text[0] == '[':
		return Elements(text)
	default:
		return []json.RawMessage{text}, nil
	}
}

// SameID reports whether the id of a response means a request of ours, whose ids are whole
// numbers: servers of the wild write 3 as "3" and as 3.0.
func SameID(id json.RawMessage, of int64) bool {
	text := string(id)
	if text == strconv.FormatInt(of, 10) {
		return true
	}
	if strings.HasPrefix(text, `"`) {
		if json.Unmarshal(id, &text) != nil {
			return false
		}
	}
	number, err := strconv.ParseFloat(text, 64)
	return err == nil && number == float64(of)
}

// LooseID returns the id of a message that cannot be read otherwise, such as one that nests too
// much; nil where it has none that is a text or a number.
func LooseID(text []byte) json.RawMessage {
	text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), byteOrderMark))
	depth := 0
	var found json.RawMessage
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := endOfText(text, i)
			if depth == 1 && end < len(text) && string(text[i:end+1]) == `"id"` {
				if id := valueOfID(text[end+1:]); id != nil {
					found = id
				}
			}
			i = end
		}
	}
	return found
}

// valueOfID returns the text or number after a colon.
func valueOfID(rest []byte) json.RawMessage {
	rest, colon := bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
	if rest = bytes.TrimLeft(rest, " \t\r\n"); !colon || len(rest) == 0 {
		return nil
	}
	end := 0
	if rest[0] == '"' {
		end = endOfText(rest, 0) + 1
	} else {
		for end < len(rest) && strings.IndexByte("+-.0123456789eE", rest[end]) >= 0 {
			end++
		}
	}
	if end == 0 || end > len(rest) || !json.Valid(rest[:end]) {
		return nil
	}
	return rest[:end]
}
