package natsserver

import (
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
)

// owner is the user of this process, who may do everything.
const owner = "interlock"

// Answers to observers arrive under observerInbox, those to this process elsewhere.
const (
	ownerInbox    = "_OWNER"
	observerInbox = "_INBOX"
)

// gate lets this process publish, by a password that no other process has; a client
// without a login is an observer, which cannot.
//
// NATS replies to a request wherever its sender wants the answer, under the subject of an
// event too. So observers have an account of their own: their messages stay in it, and
// the stream takes none from there.
type gate struct {
	password  string
	observers *server.Account
}

func newGate() *gate { return &gate{password: auth.Mint()} }

// options connect this process.
func (g *gate) options() []nats.Option {
	return []nats.Option{nats.UserInfo(owner, g.password), nats.CustomInboxPrefix(ownerInbox)}
}

// questions are the requests that an observer may make to JetStream: for the stream, and
// for its own consumers, whose names no other client knows. Lists of consumers would
// reveal them.
var questions = []string{
	"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.>",
	"$JS.API.STREAM.MSG.GET.>", "$JS.API.CONSUMER.INFO.>", "$JS.API.CONSUMER.MSG.NEXT.>",
	"$JS.API.CONSUMER.DELETE.>", "$JS.FC.>",
}

// sights are the subjects that an observer may see: events, and deliveries of consumers.
var sights = []string{bus.Root + ".>", observerInbox + ".>"}

// open makes the observers' account, before the server starts.
func (g *gate) open(srv *server.Server) error {
	observers, err := srv.RegisterAccount("OBSERVERS")
	if err != nil {
		return fmt.Errorf("make the observers' account: %w", err)
	}
	events := srv.GlobalAccount()
	for _, subject := range sights {
		err = errors.Join(err, events.AddStreamExport(subject, nil), observers.AddStreamImport(events, subject, ""))
	}
	// The desk answers this one.
	err = errors.Join(err, events.AddServiceExportWithResponse(deskSubject+">", server.Streamed, nil),
		observers.AddServiceImport(events, createSubject+">", deskSubject+">"),
		observers.SetServiceImportSharing(events, deskSubject+">", true)) // it has to know whose a consumer is
	for _, subject := range questions {
		err = errors.Join(err, events.AddServiceExportWithResponse(subject, server.Streamed, nil),
			observers.AddServiceImport(events, subject, subject))
	}
	if err != nil {
		return fmt.Errorf("open the events to observers: %w", err)
	}
	g.observers = observers
	return nil
}

// Check implements server.Authentication. A login that is wrong is turned away: it
// is more likely a mistake than an observer.
func (g *gate) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	switch {
	case g.password != "" && given.Username == owner && subtle.ConstantTimeCompare([]byte(g.password), []byte(given.Password)) == 1:
		c.RegisterUser(&server.User{Username: owner})
		return true
	case given.Username == "" && given.Password == "" && given.Token == "":
		c.RegisterUser(&server.User{Username: "observer", Account: g.observers, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: append([]string{createSubject + ">"}, questions...)},
			Subscribe: &server.SubjectPermission{Allow: sights},
		}})
		return true
	default:
		return false
	}
}
