package daemon

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-run/interlock/pkg/rpc"
)

// ClientFlags of a service that calls others. It calls with its own callers'
// credentials, so there is no token here.
type ClientFlags struct {
	CA                string `name:"ca" help:"CA of the other services' certificates (PEM)." env:"INTERLOCK_CA" type:"path" placeholder:"FILE"`
	ClientCert        string `help:"Certificate shown to the other services (PEM)." env:"INTERLOCK_CLIENT_CERT" type:"path" placeholder:"FILE"`
	ClientKey         string `help:"Key of that certificate (PEM)." env:"INTERLOCK_CLIENT_KEY" type:"path" placeholder:"FILE"`
	InsecurePlaintext bool   `help:"Call other machines without TLS, where the network itself is trusted." env:"INTERLOCK_INSECURE_PLAINTEXT"`
}

// Client is the configuration of connections to the other services.
func (f ClientFlags) Client(tracer trace.TracerProvider) rpc.ClientConfig {
	return rpc.ClientConfig{
		TLS:            rpc.ClientTLS{CAFile: f.CA, CertFile: f.ClientCert, KeyFile: f.ClientKey},
		Insecure:       f.InsecurePlaintext,
		TracerProvider: tracer,
	}
}
