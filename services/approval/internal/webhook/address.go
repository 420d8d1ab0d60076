package webhook

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// checkReceiver refuses a URL that messages must not be sent to.
func checkReceiver(text string, allowHTTP bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Fragment != "" || u.Opaque != "":
		return errors.New("a receiver must be a URL such as https://hooks.example.com/interlock") // it may hold a secret
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("the receiver on %s must have an https URL", u.Host)
	case allowHTTP || loopback(u.Hostname()):
		return nil
	default:
		return fmt.Errorf("the receiver on %s has an http URL, so anyone on the network path could read the requests; use https, "+
			"or --webhook-insecure-http where the network itself is trusted", u.Host)
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// publicBase returns where people reach the gateway, without a slash at the end.
func publicBase(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("--public-url %q must be a URL such as https://interlock.example.com", text)
	}
	return strings.TrimRight(text, "/"), nil
}

// hide leaves the URL out of an error: it may hold a secret.
func hide(err error) error {
	var with *url.Error
	if errors.As(err, &with) {
		return with.Err
	}
	return err
}
