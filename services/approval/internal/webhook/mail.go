package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// smtpPort is where mail is submitted, and smtpTLSPort where TLS begins at once.
const (
	smtpPort    = 587
	smtpTLSPort = 465
)

// openSMTP sends mail. Replies are never read, so a reply makes no decision.
func openSMTP(r *Receivers, address string, set map[string]string) (string, func(context.Context, app.Notice, text) error, error) {
	host, port, err := hostPort(address)
	if err != nil {
		return "", nil, err
	}
	if set["from"] == "" || set["to"] == "" {
		return "", nil, errors.New("it needs from=ADDRESS and to=ADDRESS after the #")
	}
	to := strings.Split(set["to"], ",")
	options := []mail.Option{mail.WithPort(port), mail.WithoutNoop()}
	switch tls := set["tls"]; {
	case tls == "" && port == smtpTLSPort, tls == "on":
		options = append(options, mail.WithSSL())
	case tls == "", tls == "starttls":
		options = append(options, mail.WithTLSPortPolicy(mail.TLSMandatory), mail.WithPort(port))
	case tls == "none" && (r.allowHTTP || loopback(host)):
		options = append(options, mail.WithTLSPortPolicy(mail.NoTLS), mail.WithPort(port))
	case tls == "none":
		return "", nil, fmt.Errorf("mail to %s must be encrypted: leave out tls=none, or use --webhook-insecure-http where the network itself is trusted", host)
	default:
		return "", nil, fmt.Errorf("tls=%s must be starttls, on or none", tls)
	}
	if user := set["user"]; user != "" {
		password, err := secretText(set["password"], r.read)
		if err != nil {
			return "", nil, err
		}
		if set["tls"] == "none" {
			return "", nil, errors.New("a password is not sent without TLS: leave out user= or tls=none")
		}
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(user), mail.WithPassword(password))
	}
	if _, err := mail.NewClient(host, options...); err != nil {
		return "", nil, fmt.Errorf("the server cannot be used: %w", err)
	}
	build := func(id string, t text) (*mail.Msg, error) {
		m := mail.NewMsg()
		if err := m.From(set["from"]); err != nil {
			return nil, errors.New("from= must be an address of mail")
		}
		if err := m.To(to...); err != nil {
			return nil, errors.New("to= must be addresses of mail")
		}
		m.Subject(t.Title)
		m.SetGenHeader("Auto-Submitted", "auto-generated")
		// A message that is sent again is the same message.
		m.SetMessageIDWithValue(nameOf(id) + "@interlock." + host)
		m.SetBodyString(mail.TypeTextPlain, t.String()+"\n\nA reply to this message is not a decision.\n")
		return m, nil
	}
	if _, err := build("", text{}); err != nil {
		return "", nil, err
	}
	return host, func(ctx context.Context, n app.Notice, t text) error {
		m, err := build(n.ID, t)
		if err != nil {
			return err
		}
		client, err := mail.NewClient(host, options...)
		if err != nil {
			return err
		}
		return client.DialAndSendWithContext(ctx, m)
	}, nil
}

func hostPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		host, text = strings.Trim(address, "[]"), strconv.Itoa(smtpPort)
	}
	port, err = strconv.Atoi(text)
	if err != nil || host == "" || port < 1 || port > 65535 || strings.ContainsAny(host, "/@ ") {
		return "", 0, errors.New("the address must be a host and a port: mail.example.com:587")
	}
	return host, port, nil
}
