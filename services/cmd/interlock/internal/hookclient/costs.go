package hookclient

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	strict "github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/pkg/pricing"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/transcript"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// costsEach is how many costs the server takes at a time.
const costsEach = 256

// costs reports the cost of the agent's messages since the last event (S15.1). Only Claude
// Code names a transcript whose form is known. A failed report is an error: a budget would
// not hold. warning informs the user of uncounted costs.
func (c *Client) costs(event []byte, post func(path string, body []byte) (int, []byte, error)) (warning string, err error) {
	var named struct {
		Session    string `json:"session_id"`
		Transcript string `json:"transcript_path"`
		Subagent   string `json:"agent_transcript_path"`
	}
	if c.Agent != hookevent.ClaudeCode || strict.Unmarshal(event, &named) != nil {
		return "", nil // the server judges unreadable events
	}
	if c.Session != "" {
		named.Session = c.Session
	}
	var warnings []string
	for _, path := range []string{named.Transcript, named.Subagent} {
		if path == "" || named.Session == "" {
			continue
		}
		warning, err := c.costsOf(named.Session, path, post)
		if err != nil {
			return "", fmt.Errorf("the cost of the agent cannot be counted: %w", err)
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return strings.Join(warnings, "\n"), nil
}

func (c *Client) costsOf(session, path string, post func(path string, body []byte) (int, []byte, error)) (warning string, err error) {
	folder, err := c.positions()
	if err != nil {
		return "", err
	}
	prices, err := c.prices()
	if err != nil {
		return "", err
	}
	read, err := transcript.Read(folder, path, prices)
	if err != nil {
		return "", err
	}
	for costs := read.Costs; len(costs) > 0; costs = costs[min(costsEach, len(costs)):] {
		body, err := json.Marshal(map[string]any{"source": "transcript", "costs": costs[:min(costsEach, len(costs))]})
		if err != nil {
			return "", fmt.Errorf("encode the costs: %w", err)
		}
		status, _, err := post("/v1/sessions/"+escaped(session)+"/costs", body)
		if err != nil {
			return "", err
		}
		if status != 200 {
			return "", fmt.Errorf("the server answered with status %d", status)
		}
	}
	if err := read.Keep(); err != nil {
		return "", err
	}
	if len(read.Unpriced) > 0 {
		warning = fmt.Sprintf("Interlock does not count the cost of %s: the price table of %s does not have it. Give a table with --prices or INTERLOCK_PRICES.",
			strings.Join(read.Unpriced, ", "), prices.AsOf)
	}
	return warning, nil
}

// escaped returns a name as a segment of a path. Package net/url would take longer to
// start.
func escaped(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// positions returns the folder of how far transcripts have been read: in the data folder,
// which agents cannot write to, or where there is none, in the user's cache.
func (c *Client) positions() (string, error) {
	if c.Data == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", nil //nolint:nilerr // all is read each time
		}
		return path.Join(cache, "interlock", "costs"), nil
	}
	folder, err := c.folder()
	if err != nil {
		return "", err
	}
	return path.Join(string(folder), "costs"), nil
}

func (c *Client) prices() (*pricing.Table, error) {
	if c.Prices == "" {
		return pricing.Shipped(), nil
	}
	data, err := os.ReadFile(c.Prices)
	if err != nil {
		return nil, fmt.Errorf("read the price table: %w", err)
	}
	return pricing.Parse(data)
}
