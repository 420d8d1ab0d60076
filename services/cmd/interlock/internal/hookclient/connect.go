package hookclient

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// Connection is a server that has proved itself, and the caller's name there.
type Connection struct {
	deadline time.Time
	target   Target
	headers  [][2]string
	send     Transport
}

// Connect finds the server, for questions that have to be asked before a deadline.
func (c *Client) Connect(deadline time.Time, post Transport) (*Connection, error) {
	target, err := c.Target()
	if err != nil {
		return nil, err
	}
	post = target.naming(post)
	token := c.Token
	if token == "" {
		folder, err := c.folder()
		if err != nil {
			return nil, err
		}
		if token, err = tokenfile.Token(folder.Local(), tokenfile.Agent); err != nil {
			return nil, fmt.Errorf("no token: %w; give INTERLOCK_TOKEN, or --data-dir with the folder of `interlock up`", err)
		}
	}
	witness := c.witness()
	headers := [][2]string{{"Authorization", "Bearer " + token}, {"Content-Type", "application/json"}}
	if c.Namespace != "" {
		headers = append(headers, [2]string{hookwire.NamespaceHeader, c.Namespace})
	}
	if witness != "" {
		headers = append(headers, [2]string{hookwire.WitnessHeader, "Bearer " + witness})
	}
	if traceparent(c.Trace) {
		headers = append(headers, [2]string{"Traceparent", c.Trace})
	}
	if err := plain(headers); err != nil {
		return nil, err
	}
	// A session's token is not known to the server: it only knows how it was signed.
	if c.Server == "" && strings.HasPrefix(token, "ilk_") {
		if err := proved(deadline, target, token, post); err != nil {
			return nil, err
		}
	}
	if witness != "" && !strings.HasPrefix(token, "ilk_") {
		if err := proved(deadline, target, witness, post); err != nil {
			return nil, err
		}
	}
	return &Connection{deadline, target, headers, post}, nil
}

// post sends a request as the caller.
func (to *Connection) post(req Request) (status int, body []byte, err error) {
	if err := plain(req.Headers); err != nil {
		return 0, nil, err
	}
	req.Headers = append(append([][2]string{}, to.headers...), req.Headers...)
	return to.send(to.deadline, to.target, req, maxMessage)
}

// plain refuses headers that could end theirs early.
func plain(headers [][2]string) error {
	for _, h := range headers {
		if strings.ContainsFunc(h[1], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("the value for %s has control characters", h[0])
		}
	}
	return nil
}
