package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// defaultServer is where `interlock up` serves gRPC unless told otherwise.
const defaultServer = "127.0.0.1:7421"

// clientFlags of every command that talks to a server.
type clientFlags struct {
	Server    string `help:"The server: a gRPC address, or the http:// address of its edge. Found in the data folder by default." env:"INTERLOCK_SERVER" placeholder:"ADDRESS"`
	Token     string `help:"Token to call with. By default that of the operator in the data folder." env:"INTERLOCK_TOKEN" placeholder:"TOKEN"`
	Namespace string `help:"Namespace." env:"INTERLOCK_NAMESPACE" placeholder:"NAME"`
	Data      string `name:"data-dir" help:"Data folder of the server on this machine; by default the nearest .interlock, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Insecure  bool   `help:"Talk to another machine without TLS, where the network itself is trusted." env:"INTERLOCK_INSECURE"`
	CA        string `name:"ca" help:"CA of the server's certificate (PEM); turns TLS on." env:"INTERLOCK_CA" type:"path" placeholder:"FILE"`
}

// dial connects as the given role, unless a token was given.
func (f *clientFlags) dial(ctx context.Context, role auth.Role) (*grpc.ClientConn, error) {
	target, err := f.target(ctx)
	if err != nil {
		return nil, err
	}
	token, err := f.credentials(role)
	if err != nil {
		return nil, err
	}
	return rpc.Dial(target, rpc.ClientConfig{
		Token: token, Namespace: f.Namespace, Insecure: f.Insecure, TLS: rpc.ClientTLS{CAFile: f.CA},
	})
}

func (f *clientFlags) credentials(role auth.Role) (string, error) {
	if f.Token != "" {
		return f.Token, nil
	}
	token, err := auth.FileToken(dataFolder(f.Data).Tokens(), role)
	if err != nil {
		return "", fmt.Errorf("no token: give --token or INTERLOCK_TOKEN, or --data-dir with the folder of `interlock up`: %w", err)
	}
	return token, nil
}

// dataFolder is the data folder as told, or else the nearest one.
func dataFolder(told string) datadir.Dir {
	if told != "" {
		return datadir.Dir(told)
	}
	wd, err := os.Getwd()
	if err != nil {
		return datadir.Default
	}
	return datadir.Find(wd)
}

func (f *clientFlags) target(ctx context.Context) (string, error) {
	if f.Server == "" {
		folder := dataFolder(f.Data)
		endpoints, err := folder.ReadEndpoints()
		switch {
		case err != nil:
			return "", err
		case endpoints.GRPC != "":
			return endpoints.GRPC, nil
		case f.Token == "":
			// Its token is for its server, not for whoever else listens.
			return "", fmt.Errorf("no server runs in %s: start `interlock up` there, or give --server and --token", folder)
		default:
			return defaultServer, nil
		}
	}
	if strings.HasPrefix(f.Server, "http://") || strings.HasPrefix(f.Server, "https://") {
		return discover(ctx, f.Server)
	}
	return f.Server, nil
}

// discover asks an edge where the gRPC services are.
func discover(ctx context.Context, base string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/.well-known/interlock", nil)
	if err != nil {
		return "", fmt.Errorf("server %s: %w", base, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("the server can not be reached: %w; is `interlock up` running?", err)
	}
	defer resp.Body.Close()
	var found struct {
		GRPC string `json:"grpc"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&found); err != nil || found.GRPC == "" {
		return "", fmt.Errorf("%s does not say where its gRPC services are; give --server HOST:PORT of gRPC", base)
	}
	return found.GRPC, nil
}
