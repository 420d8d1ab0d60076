package hostproxy_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// program runs a program with the environment of a jail, and returns its output.
func (w *world) program(argv ...string) (string, error) {
	w.t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		w.t.Skipf("%s is not installed", argv[0])
	}
	home := w.t.TempDir()
	command := exec.CommandContext(w.t.Context(), path, argv[1:]...)
	command.Dir = home
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PYENV_VERSION=" + os.Getenv("PYENV_VERSION"), "GIT_TERMINAL_PROMPT=0"}
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
		command.Env = append(command.Env, name+"=http://"+w.proxy)
	}
	command.Env = append(command.Env, "all_proxy=socks5h://"+w.proxy, "ALL_PROXY=socks5h://"+w.proxy, "NODE_USE_ENV_PROXY=1",
		"SSL_CERT_FILE="+w.certificate, "CURL_CA_BUNDLE="+w.certificate, "GIT_SSL_CAINFO="+w.certificate, "NODE_EXTRA_CA_CERTS="+w.certificate)
	out, err := command.CombinedOutput()
	return string(out), err
}

// clientWorld has example.com with and without TLS, and other.test, which no rule names.
func clientWorld(t *testing.T, handler http.Handler) *world {
	t.Helper()
	w := newWorld(t)
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for _, address := range []string{site, other} {
		w.serveAt(address+":80", plain.Listener.Addr())
		w.serveAt(address+":443", secure.Listener.Addr())
	}
	w.certificate = filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(w.certificate, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return w.start("example.com")
}

// TestClients: programs that people use reach the named host, and show the sentence for another one.
func TestClients(t *testing.T) {
	t.Parallel()
	python := "import sys, urllib.request, urllib.error\ntry: print(urllib.request.urlopen(sys.argv[1]).read().decode())\nexcept urllib.error.HTTPError as e: sys.exit(e.read().decode())"
	node := "const [h, p] = process.env.http_proxy.slice(7).split(':'); require('http').get({host: h, port: p, path: process.argv[1]}, r => r.pipe(process.stdout))"
	for name, argv := range map[string][]string{
		"curl":           {"curl", "-sSv", "URL"},
		"curl, tunnel":   {"curl", "-sSvp", "URL"},
		"curl, HTTP/1.0": {"curl", "-sSv0", "--no-alpn", "URL"},
		"curl, SOCKS":    {"curl", "-sSv", "--proxy", "socks5h://PROXY", "URL"},
		"wget":           {"wget", "-qO-", "--ca-certificate=CERT", "--content-on-error", "URL"},
		"python":         {"python3", "-c", python, "URL"},
		"node":           {"node", "-e", node, "URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := clientWorld(t, &requests{})
			for _, scheme := range []string{"http", "https"} {
				if name == "node" && scheme == "https" {
					continue // Node's http module makes no tunnel
				}
				fill := func(host string) []string {
					filled := make([]string, len(argv))
					for i, arg := range argv {
						filled[i] = strings.NewReplacer("PROXY", w.proxy, "CERT", w.certificate, "URL", scheme+"://"+host+"/path").Replace(arg)
					}
					return filled
				}
				if out, err := w.program(fill("example.com")...); err != nil || !strings.Contains(out, "GET /path at example.com") {
					t.Errorf("%s: %v %s", scheme, err, out)
				}
				out, _ := w.program(fill("other.test")...)
				if strings.Contains(out, "GET /path at") {
					t.Errorf("%s, other host: %s", scheme, out)
				}
				if !strings.Contains(name, "SOCKS") && name != "wget" && !strings.Contains(out, `add "other.test" to "hosts"`) {
					t.Errorf("%s, other host: the sentence is missing: %s", scheme, out)
				}
			}
			w.mustAsk("other.test:80", false, "no rule")
		})
	}
}

// TestRedirectsAreAsked: a redirect of a named host leads its client to the question for the next one.
func TestRedirectsAreAsked(t *testing.T) {
	t.Parallel()
	w := clientWorld(t, http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusFound))
	out, err := w.program("curl", "-sSL", "http://example.com/")
	if err != nil || !strings.Contains(out, "never reached") {
		t.Errorf("%v %s", err, out)
	}
	w.mustAsk("169.254.169.254:80", false, "never reached")
}

// TestUploads: bodies with and without a length, and with Expect: 100-continue, arrive whole.
func TestUploads(t *testing.T) {
	t.Parallel()
	w := clientWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprintf(rw, "%d bytes, %v", n, err)
	}))
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "https"} {
		for _, more := range [][]string{nil, {"-H", "Transfer-Encoding: chunked"}, {"-H", "Expect: 100-continue"}, {"-p"}} {
			argv := append([]string{"curl", "-sS", "-T", big, scheme + "://example.com/"}, more...)
			if out, err := w.program(argv...); err != nil || out != "5242880 bytes, <nil>" {
				t.Errorf("%q: %v %s", argv, err, out)
			}
		}
	}
}

// TestGit clones over HTTP and HTTPS, and pushes.
func TestGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	for _, argv := range [][]string{{"init", "-q", "--bare", "repo.git"}, {"-C", "repo.git", "config", "http.receivepack", "true"}} {
		command := exec.CommandContext(t.Context(), git, argv...)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	w := clientWorld(t, &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x"},
	})
	const script = `set -e; for s in http https; do git clone -q $s://example.com/repo.git $s; cd $s
git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m $s; git push -q origin HEAD; cd ..; done; git -C https log --format=%s`
	if out, err := w.program("sh", "-c", script); err != nil || !strings.HasSuffix(out, "https\nhttp\n") {
		t.Errorf("%v %s", err, out)
	}
	out, err := w.program("git", "clone", "-q", "https://other.test/repo.git")
	if err == nil || !strings.Contains(out, "403") {
		t.Errorf("%v %s", err, out)
	}
}

// TestWebSockets pass by an upgrade of HTTP/1.1.
func TestWebSockets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(rw, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		kind, data, err := c.Read(context.WithoutCancel(r.Context()))
		if err == nil {
			_ = c.Write(r.Context(), kind, data)
		}
	}))
	t.Cleanup(server.Close)
	w.serveAt(site+":80", server.Listener.Addr())
	w.start("example.com")
	c, response, err := websocket.Dial(t.Context(), "ws://example.com/", &websocket.DialOptions{HTTPClient: w.client(nil)})
	if err != nil {
		t.Fatal(err, response)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, data, err := c.Read(t.Context()); err != nil || string(data) != "hello" {
		t.Errorf("%q %v", data, err)
	}
}

// TestPackageManagers fetch from a registry at the named host.
func TestPackageManagers(t *testing.T) {
	t.Parallel()
	wheel := new(bytes.Buffer)
	archive := zip.NewWriter(wheel)
	for name, content := range map[string]string{
		"tiny.py": "", "tiny-1.0.dist-info/RECORD": "",
		"tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
		"tiny-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	} {
		file, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(file, content)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/tiny/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<a href="/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>`)
	})
	mux.HandleFunc("/tiny-1.0-py3-none-any.whl", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel.Bytes()) })
	mux.HandleFunc("/tiny", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0","dist":{"tarball":"https://example.com/t.tgz"}}}}`)
	})
	for name, c := range map[string]struct {
		argv       []string
		want, port string
	}{
		"pip": {[]string{"python3", "-m", "pip", "--isolated", "download", "--no-deps", "--disable-pip-version-check", "--retries=0", "--cert=CERT", "--index-url=https://HOST/simple/", "tiny"}, "Successfully downloaded tiny", "443"},
		"npm": {[]string{"npm", "view", "tiny", "version", "--fetch-retries=0", "--registry=http://HOST/"}, "1.0.0", "80"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := clientWorld(t, mux)
			fill := func(host string) []string {
				filled := make([]string, len(c.argv))
				for i, arg := range c.argv {
					filled[i] = strings.NewReplacer("CERT", w.certificate, "HOST", host).Replace(arg)
				}
				return filled
			}
			if out, err := w.program(fill("example.com")...); err != nil || !strings.Contains(out, c.want) {
				t.Errorf("%v %s", err, out)
			}
			if out, err := w.program(fill("other.test")...); err == nil {
				t.Errorf("other host: %s", out)
			}
			w.mustAsk("other.test:"+c.port, false, "no rule")
		})
	}
}
