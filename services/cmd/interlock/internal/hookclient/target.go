package hookclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// Request is the request that a transport carries to Target.
type Request struct {
	Path    string
	Headers [][2]string
	Body    []byte
}

// Transport posts a request to a target and answers the status and the body. It
// gives up at the deadline and answers at most limit bytes.
type Transport func(deadline time.Time, target Target, req Request, limit int64) (status int, body []byte, err error)

// Target is the edge: its unix socket, or its URL.
type Target struct {
	Socket string
	URL    string
	CA     string // file, for an https:// URL
}

// Target finds the edge.
func (c *Client) Target() (Target, error) {
	if c.Server != "" {
		if !strings.HasPrefix(c.Server, "http://") && !strings.HasPrefix(c.Server, "https://") {
			return Target{}, fmt.Errorf("the server %q is not an http:// address, which hooks need: "+
				"give --server or INTERLOCK_HTTP_SERVER with that of the edge", c.Server)
		}
		return Target{URL: strings.TrimSuffix(c.Server, "/"), CA: c.CA}, nil
	}
	folder, err := c.folder()
	if err != nil {
		return Target{}, err
	}
	endpoints, err := folder.ReadEndpoints()
	switch {
	case err != nil:
		return Target{}, err
	case endpoints.Socket != "":
		return Target{Socket: endpoints.Socket}, nil
	case endpoints.HTTP != "":
		return Target{URL: endpoints.HTTP, CA: c.CA}, nil
	default:
		return Target{}, Unreachable(errors.New(folder.NotServed()))
	}
}

// naming returns a transport whose errors name the server.
func (t Target) naming(post Transport) Transport {
	return func(deadline time.Time, target Target, req Request, limit int64) (int, []byte, error) {
		status, body, err := post(deadline, target, req, limit)
		if err != nil {
			err = fmt.Errorf("the server at %s cannot be reached: %w; is `interlock up` running?", t.address(), err)
		}
		return status, body, err
	}
}

// Reach describes why a hook would get no answer that counts from the server of the data
// folder.
func (c *Client) Reach(post Transport) error {
	folder, err := c.folder()
	if err != nil {
		return err
	}
	target, err := c.Target()
	if err != nil {
		return err
	}
	token, err := tokenfile.Token(folder.Local(), tokenfile.Agent)
	if err != nil {
		return err
	}
	return proved(time.Now().Add(Timeout), target, token, target.naming(post))
}

// proved asks the server to prove that it knows the token of the data folder. Until it
// has, it may be any program that listens there, and gets neither token nor event.
func proved(deadline time.Time, target Target, token string, post Transport) error {
	random, err := nonce()
	if err != nil {
		return err
	}
	challenge := tokenfile.NewChallenge(token, random)
	body, err := json.Marshal(challenge)
	if err != nil {
		return fmt.Errorf("encode the challenge: %w", err)
	}
	status, body, err := post(deadline, target, Request{
		Path: hookwire.ProofPath, Body: body, Headers: [][2]string{{"Content-Type", "application/json"}},
	}, maxMessage)
	if err != nil {
		return err
	}
	var answer tokenfile.Proof
	if status != 200 || json.Unmarshal(body, &answer) != nil || !challenge.Proved(token, target.address(), answer) {
		return errors.New("the server does not prove that it knows the token of the data folder, so its answer does not count: " +
			"another program listens there, or `interlock up` is of another version; restart `interlock up`")
	}
	return nil
}

// address returns where the server must know itself to be.
func (t Target) address() string {
	if t.Socket != "" {
		return t.Socket
	}
	_, address, _ := strings.Cut(t.URL, "://")
	return strings.TrimSuffix(address, "/")
}
