package sdk

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	target, opts, err := settings(getenv)
	if err != nil || target != DefaultServer || opts != (Options{}) {
		t.Errorf("of nothing: %s, %+v, %v", target, opts, err)
	}
	env = map[string]string{
		"INTERLOCK_SERVER": "engine:7421", "INTERLOCK_TOKEN": "t", "INTERLOCK_NAMESPACE": "ns", "INTERLOCK_CA": "ca.pem", "INTERLOCK_INSECURE": "true",
		"INTERLOCK_SESSION": "s", "INTERLOCK_RUN": "run_1", "WORKFLOW_STATE_ID": "wfstate_1",
		"INTERLOCK_BREAKGLASS": "g", "INTERLOCK_BREAKGLASS_KEY": "k", "INTERLOCK_BREAKGLASS_SPOOL": "p", "INTERLOCK_PRINCIPAL": "agent",
	}
	want := Options{Token: "t", Namespace: "ns", TLS: TLS{CAFile: "ca.pem"}, Insecure: true, Session: "s", Run: "run_1", State: "wfstate_1", BreakGlass: BreakGlass{Grant: "g", Key: "k", Spool: "p", Principal: "agent"}}
	if target, opts, err = settings(getenv); err != nil || target != "engine:7421" || opts != want {
		t.Errorf("%s, %+v, %v", target, opts, err)
	}
	for name, value := range map[string]string{"INTERLOCK_SERVER": "http://127.0.0.1:7420", "INTERLOCK_INSECURE": "perhaps"} {
		env = map[string]string{name: value}
		if _, _, err := settings(getenv); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// A token does not travel in the clear to another machine.
func TestDial(t *testing.T) {
	t.Parallel()
	if _, err := Dial("engine:7421", Options{Token: "t"}); !errors.Is(err, ErrPlaintext) {
		t.Error(err)
	}
	if _, err := Dial("", Options{}); err == nil {
		t.Error("dialled nothing")
	}
	for _, target := range []string{"http://127.0.0.1:7420", "HTTPS://interlock.example.com"} {
		if _, err := Dial(target, Options{}); err == nil || !strings.Contains(err.Error(), "HTTP address") {
			t.Errorf("%s: %v", target, err)
		}
	}
	c, err := Dial(DefaultServer, Options{Session: "s"})
	if err != nil || c.Session() != "s" || c.ForSession("t").Session() != "t" {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A token is not written into logs.
func TestOptionsHideTheToken(t *testing.T) {
	t.Parallel()
	opts := Options{Token: "secret", Session: "s"}
	for _, text := range []string{fmt.Sprint(opts), fmt.Sprintf("%+v", opts), fmt.Sprintf("%#v", opts), fmt.Sprintf("%v", &opts), fmt.Sprintf("%q", opts)} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "hidden") {
			t.Error(text)
		}
	}
}
