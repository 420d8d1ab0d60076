package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// api is Slack's Web API. No error of it has a token.
type api struct {
	base   string
	client *http.Client
}

// refusedError is an answer of Slack that is not ok.
type refusedError struct{ method, code string }

func (e *refusedError) Error() string { return e.method + " is refused: " + e.code }

// limitedError says that there were too many calls.
type limitedError struct{ after time.Duration }

func (e *limitedError) Error() string {
	return "there were too many calls; more after " + e.after.String()
}

// mostAnswer bounds an answer of Slack.
const mostAnswer = 4 << 20

// call calls a method with a token, and decodes its answer.
func (a *api) call(ctx context.Context, token, method string, args, into any) error {
	body, err := json.Marshal(args)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := a.client.Do(req)
	if err != nil {
		var with *url.Error
		if errors.As(err, &with) {
			err = with.Err
		}
		return fmt.Errorf("%s: %w", method, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return &limitedError{time.Duration(max(seconds, 1)) * time.Second}
	}
	var answer struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s returned %s", method, resp.Status)
	}
	switch {
	case answer.Error == "ratelimited":
		return &limitedError{time.Second}
	case !answer.OK:
		return &refusedError{method, answer.Error}
	case into == nil:
		return nil
	default:
		return json.Unmarshal(text, into)
	}
}
