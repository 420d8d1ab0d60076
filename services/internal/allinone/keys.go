package allinone

import (
	"cmp"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

// authenticator knows the tokens of the file, those of Auth, and that of the services
// themselves, which no other process learns.
func (c *Server) authenticator(tokens *auth.Tokens) (all auth.Authenticator, own string, err error) {
	flags, err := c.sessionKey(true)
	if err != nil {
		return nil, "", err
	}
	outer, err := flags.Authenticator(tokens, c.cfg.Logger)
	if err != nil {
		return nil, "", err
	}
	own = auth.Mint()
	all = auth.Chain(auth.One(auth.Principal{Name: auth.OwnName, Role: auth.Service}, own), outer)
	if len(c.cfg.Begin) > 0 {
		c.starter = auth.Mint()
		all = auth.Chain(auth.One(auth.Principal{Name: starterName, Role: auth.Operator}, c.starter), all)
	}
	return all, own, nil
}

// starterName is the principal that stores the definitions of Config.Begin. Its token never leaves the process.
const starterName = "interlock up"

// receiptKey returns the key that signs receipts.
func (c *Server) receiptKey() (receipt.Signer, error) {
	if c.cfg.Receipts.ReceiptKey != "" {
		return c.cfg.Receipts.Signer()
	}
	if c.cfg.Seal != nil {
		return gateway.SealedReceiptKey(c.cfg.Data.ReceiptKey(), c.cfg.Seal)
	}
	return gateway.KeptReceiptKey(c.cfg.Data.ReceiptKey())
}

// consoleKey returns the file that the key of the console's sessions is from: none with presence, because whoever
// reads the file makes sessions of anybody. Then sessions end with the process (S23.2).
func (c *Server) consoleKey() string {
	if c.cfg.WithoutPresence {
		return cmp.Or(c.cfg.Auth.TokenKey, c.cfg.Data.TokenKey())
	}
	return ""
}

// sessionKey returns the flags with the key of session tokens, which is made where it is not there.
func (c *Server) sessionKey(create bool) (daemon.AuthFlags, error) {
	flags, file := c.cfg.Auth, c.cfg.Data.TokenKey()
	switch {
	case flags.TokenKey != "" || flags.Sessions != nil:
		return flags, nil
	case c.cfg.Seal == nil:
		flags.TokenKey = file
		if create {
			return flags, sessiontoken.CreateKey(file)
		}
		return flags, nil
	}
	if _, err := c.cfg.Seal.CreateFile(file, sessiontoken.NewKeyFile()); err != nil {
		return flags, err
	}
	text, err := c.cfg.Seal.ReadFile(file)
	if err != nil {
		return flags, err
	}
	key, err := sessiontoken.ParseKey(file, text)
	flags.Sessions = &key
	return flags, err
}
