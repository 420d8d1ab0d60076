package token

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

type bootstrapCommand struct {
	Secret string            `arg:"" optional:"" help:"Name of the Secret, in the namespace of the pod that this runs in."`
	Label  map[string]string `help:"Label of the Secret. May be repeated." placeholder:"KEY=VALUE" mapsep:"none"`
	Dir    string            `help:"Make files of the Secret's names in this folder instead." type:"path" placeholder:"DIR"`
	Owner  string            `help:"User and group that the files belong to, by number." placeholder:"UID:GID"`
}

// Run makes a Secret, or files, with hashes of tokens of all roles, the tokens, and a key of session tokens. It
// leaves existing ones as they are, without reading them.
func (c *bootstrapCommand) Run(ctx context.Context, streams console.Streams) error {
	switch {
	case (c.Secret == "") == (c.Dir == ""):
		return console.Misusedf("give the name of a Secret, or --dir with a folder")
	case c.Dir != "":
		return c.writeFiles(streams)
	}
	api, err := inCluster("/var/run/secrets/kubernetes.io/serviceaccount", os.Getenv)
	if err != nil {
		return err
	}
	created, err := c.create(ctx, api)
	switch {
	case err != nil:
		return err
	case created:
		fmt.Fprintf(streams.Out, "created Secret %s/%s\n", api.namespace, c.Secret)
	default:
		fmt.Fprintf(streams.Out, "Secret %s/%s is there already: it stays as it is\n", api.namespace, c.Secret)
	}
	return nil
}

func (c *bootstrapCommand) writeFiles(streams console.Streams) error {
	uid, gid := -1, -1
	if c.Owner != "" {
		if n, err := fmt.Sscanf(c.Owner, "%d:%d", &uid, &gid); n != 2 || err != nil {
			return console.Misusedf("--owner %q: give UID:GID, such as 65532:65532", c.Owner)
		}
	}
	// One that is there tells that the others belong to it.
	if file := filepath.Join(c.Dir, tokensName); exists(file) {
		fmt.Fprintf(streams.Out, "%s is there already: it stays as it is\n", file)
		return nil
	}
	made, err := secrets(time.Now())
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(made)), func(name string) bool { return name == tokensName })
	for _, name := range append(names, tokensName) { // last, because it says that all are there
		file := filepath.Join(c.Dir, name)
		created, err := auth.WriteSecret(file, []byte(made[name]))
		if err != nil {
			return err
		}
		if !created {
			fmt.Fprintf(streams.Out, "%s is there already: it stays as it is\n", file)
			continue
		}
		if err := os.Chown(file, uid, gid); err != nil {
			return fmt.Errorf("give %s to %s: %w", file, c.Owner, err)
		}
		fmt.Fprintf(streams.Out, "created %s\n", file)
	}
	return nil
}

// tokensName is that of the tokens file.
const tokensName = "tokens.json"

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// secrets returns a tokens file with hashes, a key of session tokens, and each token under the name of its role: those
// of people for them to take, and that of services for --service-token-file.
func secrets(now time.Time) (map[string]string, error) {
	file, tokens, err := auth.NewTokensFile(now)
	if err != nil {
		return nil, fmt.Errorf("make tokens: %w", err)
	}
	made := map[string]string{tokensName: string(file), "token.key": string(sessiontoken.NewKeyFile())}
	for role, token := range tokens {
		made[string(role)] = token
	}
	return made, nil
}

func (c *bootstrapCommand) create(ctx context.Context, api *cluster) (created bool, err error) {
	data, err := secrets(time.Now())
	if err != nil {
		return false, err
	}
	type metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels,omitempty"`
	}
	body, err := json.Marshal(struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   metadata          `json:"metadata"`
		StringData map[string]string `json:"stringData"`
	}{"v1", "Secret", metadata{c.Secret, c.Label}, data})
	if err != nil {
		return false, fmt.Errorf("make the Secret: %w", err)
	}
	status, answer, err := api.post(ctx, "/api/v1/namespaces/"+url.PathEscape(api.namespace)+"/secrets", body)
	switch {
	case err != nil:
		return false, fmt.Errorf("create the Secret: %w", err)
	case status == http.StatusConflict:
		return false, nil
	case status != http.StatusCreated:
		return false, fmt.Errorf("create the Secret: the API server answers %d: %s", status, answer)
	default:
		return true, nil
	}
}

// cluster is the API server of the cluster that the process runs in.
type cluster struct {
	base, token, namespace string
	client                 *http.Client
}

// inCluster finds it as pods do: by the files of their service account and two variables.
func inCluster(account string, getenv func(string) string) (*cluster, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("this command is for a pod in Kubernetes: there is no KUBERNETES_SERVICE_HOST; elsewhere use `interlock token add`")
	}
	read := func(name string) (string, error) {
		data, err := os.ReadFile(filepath.Join(account, name))
		if err != nil {
			return "", fmt.Errorf("read the pod's service account: %w; the pod needs automountServiceAccountToken", err)
		}
		return strings.TrimSpace(string(data)), nil
	}
	token, tokenErr := read("token")
	namespace, namespaceErr := read("namespace")
	ca, caErr := read("ca.crt")
	if err := errors.Join(tokenErr, namespaceErr, caErr); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(ca)) {
		return nil, errors.New("read the pod's service account: ca.crt has no certificate")
	}
	return &cluster{
		base: "https://" + net.JoinHostPort(host, port), token: token, namespace: namespace,
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool},
		}},
	}, nil
}

// post returns a short text of the answer, for errors.
func (c *cluster) post(ctx context.Context, path string, body []byte) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < http.StatusBadRequest {
		return res.StatusCode, "", nil // an answer of success has the Secret
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1024))
	return res.StatusCode, string(text), err
}
