package daemon

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
)

// StoreLogin flags have the credentials for a Redis and the CAs to check it. All files are
// read again when they have changed, at the next connection.
type StoreLogin struct {
	StoreUsername     string `help:"User of the Redis, instead of one in the URL." env:"INTERLOCK_STORE_USERNAME" placeholder:"NAME"`
	StorePasswordFile string `help:"File with the password of the Redis, instead of one in the URL." env:"INTERLOCK_STORE_PASSWORD_FILE" type:"path" placeholder:"FILE"`
	StoreCA           string `name:"store-ca" help:"CA of the certificate of a rediss:// server (PEM); the system's by default." env:"INTERLOCK_STORE_CA" type:"path" placeholder:"FILE"`
	StoreClientCert   string `help:"Certificate shown to the Redis (PEM)." env:"INTERLOCK_STORE_CLIENT_CERT" type:"path" placeholder:"FILE"`
	StoreClientKey    string `help:"Key of that certificate (PEM)." env:"INTERLOCK_STORE_CLIENT_KEY" type:"path" placeholder:"FILE"`
}

func (f StoreLogin) config(url string) redisstore.Config {
	return redisstore.Config{
		URL: url, Username: f.StoreUsername, PasswordFile: f.StorePasswordFile,
		CA: f.StoreCA, Cert: f.StoreClientCert, Key: f.StoreClientKey,
	}
}

// NATSLogin flags have the credentials for a NATS server and the CAs to check it. Files
// of passwords and certificates are read again when they have changed, at the next
// connection.
type NATSLogin struct {
	NATSCreds        string `name:"nats-creds" help:"Credentials file for NATS, with a JWT and its key." env:"INTERLOCK_NATS_CREDS" type:"path" placeholder:"FILE"`
	NATSUsername     string `name:"nats-username" help:"User of NATS, instead of one in the URL." env:"INTERLOCK_NATS_USERNAME" placeholder:"NAME"`
	NATSPasswordFile string `name:"nats-password-file" help:"File with the password of NATS, instead of one in the URL." env:"INTERLOCK_NATS_PASSWORD_FILE" type:"path" placeholder:"FILE"`
	NATSCA           string `name:"nats-ca" help:"CA of the certificate of NATS (PEM); the system's by default." env:"INTERLOCK_NATS_CA" type:"path" placeholder:"FILE"`
	NATSClientCert   string `name:"nats-client-cert" help:"Certificate shown to NATS (PEM)." env:"INTERLOCK_NATS_CLIENT_CERT" type:"path" placeholder:"FILE"`
	NATSClientKey    string `name:"nats-client-key" help:"Key of that certificate (PEM)." env:"INTERLOCK_NATS_CLIENT_KEY" type:"path" placeholder:"FILE"`
}

// Endpoint returns a NATS with this login.
func (f NATSLogin) Endpoint(url string) (bus.Endpoint, error) {
	endpoint, err := bus.Endpoint{URL: url}.With(bus.Login{
		Credentials: f.NATSCreds, Username: f.NATSUsername, PasswordFile: f.NATSPasswordFile,
		CA: f.NATSCA, Cert: f.NATSClientCert, Key: f.NATSClientKey,
	})
	if err != nil {
		return bus.Endpoint{}, fmt.Errorf("--nats-url: %w", err)
	}
	return endpoint, nil
}
