// Package transcript reads the cost of an agent's messages from the transcript that its hook
// names (S15.1). It remembers per transcript how far it has read, and is light: the hook
// reads it before every call of a tool.
package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/pricing"
)

const (
	// maxRead is the most that is read for one event; the next event reads on.
	maxRead = 32 << 20
	// maxInput bounds the input of a tool that is sent with the cost of its call.
	maxInput = 16 << 10
	// remembered is how many messages may still grow: each is written in several lines.
	remembered = 32
	// identity is how much of a file's beginning shows that it is still the same.
	identity = 512
)

// Cost is the cost of one message.
type Cost struct {
	ID    string `json:"id"`
	USD   string `json:"cost_usd"`
	Tools []Tool `json:"tools,omitempty"`
}

// Tool is a call that the message has asked for.
type Tool struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`
}

// Reading has the new part of a transcript.
type Reading struct {
	Costs []Cost
	// Unpriced are models that the table does not know, each once per transcript: their
	// costs are not counted.
	Unpriced []string

	file string // that keeps the position; empty for none
	next state
}

// state is the position in a transcript.
type state struct {
	Offset int64 `json:"offset"`
	// Head is a digest of how the file begins.
	Head   string `json:"head"`
	HeadOf int64  `json:"head_of"`
	// Recent are the last messages, with their reported costs.
	Recent   []message `json:"recent,omitempty"`
	Unpriced []string  `json:"unpriced,omitempty"`
}

type message struct {
	ID    string `json:"id"`
	Micro int64  `json:"micro"`
}

// Read reads the new part of the transcript at name since the last time. folder keeps the
// position; where it is empty all is read each time, and the server knows earlier parts. A
// transcript that is not there has no new part.
func Read(folder, name string, prices *pricing.Table) (*Reading, error) {
	r := &Reading{}
	if folder != "" {
		sum := sha256.Sum256([]byte(name))
		r.file = path.Join(folder, hex.EncodeToString(sum[:16])+".json")
		if err := r.next.load(r.file); err != nil {
			return nil, err
		}
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the transcript: %w", err)
	}
	defer file.Close()
	if same, err := r.next.isOf(file); err != nil {
		return nil, err
	} else if !same {
		r.next = state{}
	}
	if _, err := file.Seek(r.next.Offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the transcript: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxRead))
	if err != nil {
		return nil, fmt.Errorf("read the transcript: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole == 0 && len(data) == maxRead {
		whole = len(data) // a line that long is none of a message
	}
	r.take(data[:whole], prices)
	r.next.Offset += int64(whole)
	return r, r.next.head(file)
}

// Keep remembers the position: the part that was read is reported.
func (r *Reading) Keep() error {
	if r.file == "" {
		return nil
	}
	if err := os.MkdirAll(path.Dir(r.file), 0o700); err != nil {
		return fmt.Errorf("keep the position in the transcript: %w", err)
	}
	data, err := json.Marshal(r.next)
	if err != nil {
		return fmt.Errorf("keep the position in the transcript: %w", err)
	}
	// Hooks run at the same time, each with a file of its own until it is whole.
	temporary := r.file + "." + strconv.Itoa(os.Getpid())
	if err = os.WriteFile(temporary, data, 0o600); err == nil {
		err = os.Rename(temporary, r.file)
	}
	if err != nil {
		return fmt.Errorf("keep the position in the transcript: %w", err)
	}
	return nil
}

func (s *state) load(file string) error {
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read the position in the transcript: %w", err)
	}
	if json.Unmarshal(data, s) != nil || s.Offset < 0 || s.HeadOf < 0 || s.HeadOf > identity {
		*s = state{} // all is read again, and the server knows earlier parts
	}
	return nil
}

// isOf reports that the position is one of this file: it has not become shorter, and begins
// as it did.
func (s *state) isOf(file io.ReaderAt) (bool, error) {
	digest, n, err := beginning(file, s.HeadOf)
	if err != nil {
		return false, err
	}
	if n < s.HeadOf || s.HeadOf > 0 && digest != s.Head {
		return false, nil
	}
	if s.Offset == 0 {
		return true, nil
	}
	var last [1]byte
	_, err = file.ReadAt(last[:], s.Offset-1)
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read the transcript: %w", err)
	}
	return last[0] == '\n' || s.Offset >= maxRead, nil
}

func (s *state) head(file io.ReaderAt) error {
	var err error
	s.Head, s.HeadOf, err = beginning(file, min(s.Offset, identity))
	return err
}

func beginning(file io.ReaderAt, n int64) (digest string, read int64, err error) {
	data := make([]byte, n)
	got, err := file.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", 0, fmt.Errorf("read the transcript: %w", err)
	}
	sum := sha256.Sum256(data[:got])
	return hex.EncodeToString(sum[:16]), int64(got), nil
}

// line has the fields of a transcript's line about a message of the agent.
type line struct {
	Type    string `json:"type"`
	Message struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage struct {
			Input      tokens `json:"input_tokens"`
			Output     tokens `json:"output_tokens"`
			CacheWrite tokens `json:"cache_creation_input_tokens"`
			CacheRead  tokens `json:"cache_read_input_tokens"`
			Creation   struct {
				Hour tokens `json:"ephemeral_1h_input_tokens"`
			} `json:"cache_creation"`
		} `json:"usage"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// tokens is a number of tokens. An unreadable number is the largest possible, and never none
// (S15.1).
type tokens int64

// UnmarshalJSON reads a number in any way that JSON writes one, in a text too.
func (t *tokens) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if f, inexact := strconv.ParseFloat(text, 64); err != nil && inexact == nil && f < math.MaxInt64 {
		n, err = int64(math.Ceil(f)), nil
	}
	if err != nil || n < 0 {
		n = math.MaxInt64
	}
	*t = tokens(n)
	return nil
}

func (l *line) usage() pricing.Usage {
	u := l.Message.Usage
	hour := min(max(u.Creation.Hour, 0), max(u.CacheWrite, 0))
	return pricing.Usage{
		Input: int64(u.Input), Output: int64(u.Output), CacheWrite5m: int64(u.CacheWrite - hour), CacheWrite1h: int64(hour), CacheRead: int64(u.CacheRead),
	}
}

// tools returns the calls in a line. A message whose content is a text has none.
func (l *line) tools() (tools []Tool) {
	var blocks []struct {
		Type  string          `json:"type"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	if json.Unmarshal(l.Message.Content, &blocks) != nil {
		return nil
	}
	for _, b := range blocks {
		if b.Type != "tool_use" || b.Name == "" {
			continue
		}
		if len(b.Input) > maxInput {
			b.Input = nil
		}
		tools = append(tools, Tool{b.Name, b.Input})
	}
	return tools
}

// costing is a message of this reading.
type costing struct {
	id    string
	micro int64
	tools []Tool
}

// take reads whole lines. A message has several, which repeat its usage or add to it.
func (r *Reading) take(data []byte, prices *pricing.Table) {
	var found []costing
	for text := range bytes.Lines(data) {
		var l line
		if json.Unmarshal(text, &l) != nil || l.Type != "assistant" || l.Message.ID == "" || len(l.Message.ID) > 200 {
			continue
		}
		usage := l.usage()
		model, known := prices.Of(l.Message.Model)
		if !known {
			if !usage.IsZero() && !slices.Contains(r.next.Unpriced, l.Message.Model) && len(r.next.Unpriced) < remembered {
				r.Unpriced = append(r.Unpriced, l.Message.Model)
				r.next.Unpriced = append(r.next.Unpriced, l.Message.Model)
			}
			continue
		}
		at := slices.IndexFunc(found, func(c costing) bool { return c.id == l.Message.ID })
		if at < 0 {
			at = len(found)
			found = append(found, costing{id: l.Message.ID})
		}
		found[at].micro = max(found[at].micro, model.MicroUSD(usage))
		if len(found[at].tools) < 64 {
			found[at].tools = append(found[at].tools, l.tools()...)
		}
	}
	for _, c := range found {
		r.report(c)
	}
}

// report adds the cost of a message, or its cost since the last report. Its id is then made
// of its earlier cost, so that a repeat has the same.
func (r *Reading) report(c costing) {
	cost := Cost{ID: c.id, Tools: c.tools[:min(len(c.tools), 64)]}
	micro := c.micro
	at := slices.IndexFunc(r.next.Recent, func(m message) bool { return m.ID == c.id })
	if at >= 0 {
		before := &r.next.Recent[at]
		if micro -= before.Micro; micro <= 0 {
			return
		}
		cost.ID += "+" + strconv.FormatInt(before.Micro, 10)
		before.Micro = c.micro
	} else {
		r.next.Recent = append(r.next.Recent, message{c.id, c.micro})
		r.next.Recent = r.next.Recent[max(0, len(r.next.Recent)-remembered):]
	}
	if micro > 0 {
		cost.USD = pricing.Dollars(micro)
		r.Costs = append(r.Costs, cost)
	}
}
