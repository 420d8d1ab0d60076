package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/commandline"
)

// container is the part of a container of the chart that tests read.
type container struct {
	Image         string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// PodSpec is the part of a pod of the chart that tests read.
type PodSpec struct {
	Containers []container
	Volumes    []struct {
		Name   string
		Secret struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
			Items       []struct{ Key, Path string }
		}
	}
}

// manifest is one object that the chart renders.
type manifest struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		PodSpec `yaml:",inline"`
		Ports   []struct {
			Name string
			Port int
		}
		Template struct{ Spec PodSpec }
	}
}

func (m manifest) component() string { return m.Metadata.Labels["app.kubernetes.io/component"] }

// chart are the objects that the chart renders with values of tools/chart/testdata, whose test
// holds the file against the templates.
func chart(t testing.TB, golden string) (all []manifest) {
	t.Helper()
	text := string(must[[]byte](t)(os.ReadFile("../../tools/chart/testdata/golden/" + golden + ".txt")))
	for document := range strings.SplitSeq(text, "\n---\n") {
		var m manifest
		if err := yaml.Unmarshal([]byte(document), &m); err != nil {
			t.Fatalf("%s: %v", golden, err)
		}
		if m.Kind != "" {
			all = append(all, m)
		}
	}
	return all
}

// installed is a chart's deployment. secrets are the contents of its Secrets.
type installed struct {
	*deployment
	objects []manifest
	secrets map[string]map[string][]byte
}

// unitOf makes the program of a pod, with its files.
func (r *installed) unitOf(t testing.TB, name string, p PodSpec) *unit {
	t.Helper()
	c := p.Containers[0]
	program, _, _ := strings.Cut(path.Base(c.Image), "@")
	program, _, _ = strings.Cut(program, ":")
	u := &unit{name: name, program: program, args: slices.Clone(c.Args), mounts: map[string]string{}}
	for _, variable := range c.Env {
		value := variable.Value
		if from := variable.ValueFrom.SecretKeyRef; from.Name != "" {
			value = string(r.key(t, from.Name, from.Key))
		}
		u.env = append(u.env, variable.Name+"="+value)
	}
	for _, mount := range c.VolumeMounts {
		u.mounts[mount.MountPath] = t.TempDir()
		for _, volume := range p.Volumes {
			if volume.Name != mount.Name || volume.Secret.SecretName == "" {
				continue
			}
			content, there := r.secrets[volume.Secret.SecretName]
			if !there {
				t.Errorf("%s: there is no Secret %s", name, volume.Secret.SecretName)
			}
			if volume.Secret.Items != nil {
				content = map[string][]byte{}
				for _, item := range volume.Secret.Items {
					content[item.Path] = r.key(t, volume.Secret.SecretName, item.Key)
				}
			}
			u.mounts[mount.MountPath] = folderWith(t, os.FileMode(volume.Secret.DefaultMode), content)
		}
	}
	return u
}

func (r *installed) key(t testing.TB, secret, key string) []byte {
	t.Helper()
	value, there := r.secrets[secret][key]
	if !there {
		t.Errorf("the Secret %s has no key %s", secret, key)
	}
	return value
}

// install places all Deployments of the chart, which find each other by its Services.
func (r *installed) install(t testing.TB) {
	t.Helper()
	ports := map[string]map[string]int{}
	for _, m := range r.objects {
		if m.Kind == "Secret" && m.StringData != nil {
			r.secrets[m.Metadata.Name] = map[string][]byte{}
			for key, value := range m.StringData {
				r.secrets[m.Metadata.Name][key] = []byte(value)
			}
		}
	}
	for _, m := range r.objects {
		if m.Kind != "Deployment" && m.component() != "all-in-one" || m.Kind == "Service" || m.Spec.Template.Spec.Containers == nil {
			continue
		}
		r.units = append(r.units, r.unitOf(t, m.component(), m.Spec.Template.Spec))
		ports[m.component()] = map[string]int{}
		for _, port := range m.Spec.Template.Spec.Containers[0].Ports {
			ports[m.component()][port.Name] = port.ContainerPort
		}
	}
	r.listen(t)
	for _, m := range r.objects {
		if of, ours := ports[m.component()]; m.Kind == "Service" && ours {
			for _, port := range m.Spec.Ports {
				at := r.at[fmt.Sprintf("%s:%d", m.component(), of[port.Name])]
				if at == "" {
					t.Errorf("Service %s: no program listens at %s", m.Metadata.Name, port.Name)
				}
				r.at[fmt.Sprintf("%s:%d", m.Metadata.Name, port.Port)] = at
			}
		}
	}
	for _, u := range r.units {
		r.place(t, u)
	}
}

// bootstrapped are the files that hold tokens and the key of session tokens.
func bootstrapped(t testing.TB) (folder string, files map[string][]byte) {
	t.Helper()
	folder, files = t.TempDir(), map[string][]byte{}
	program := binary(t, "interlock") // which takes its time, before that of the command begins
	if out, err := exec.CommandContext(within(t), program, "token", "bootstrap", "--dir", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, entry := range must[[]os.DirEntry](t)(os.ReadDir(folder)) {
		files[entry.Name()] = must[[]byte](t)(os.ReadFile(filepath.Join(folder, entry.Name())))
	}
	return folder, files
}

// certificate are the files of a Secret with a certificate.
func certificate(t testing.TB, authority *certtest.Authority, name string, hosts ...string) map[string][]byte {
	t.Helper()
	cert, key := authority.Issue(t, name, hosts...)
	return map[string][]byte{
		"tls.crt": must[[]byte](t)(os.ReadFile(cert)), "tls.key": must[[]byte](t)(os.ReadFile(key)),
		"ca.crt": must[[]byte](t)(os.ReadFile(authority.CA())),
	}
}

// The chart with its own Valkey and NATS has its acknowledged data after all of it was killed.
func TestChartsTrialKeepsWhatItAcknowledges(t *testing.T) {
	t.Parallel()
	tokens, files := bootstrapped(t)
	authority := certtest.New(t)
	r := &installed{deployment: &deployment{at: map[string]string{}}, objects: chart(t, "trial"), secrets: map[string]map[string][]byte{"il-interlock-tokens": files}}
	for _, service := range []string{"engine", "policy-enforcer", "state-store", "approval", "gateway"} {
		r.secrets["il-interlock-"+service+"-tls"] = certificate(t, authority, service)
	}
	var redis *redistest.Server
	var nats *eventServer
	for _, m := range r.objects {
		if m.Kind != "StatefulSet" {
			continue
		}
		switch c := m.Spec.Template.Spec.Containers[0]; m.component() {
		case "valkey":
			redis = redistest.Start(t, setFlag(t, c.Args, "--dir", t.TempDir())...)
			r.at["il-interlock-valkey:6379"] = redis.Addr()
		case "nats":
			nats = startEvents(t, commandOf(setFlag(t, c.Args, "-sd", t.TempDir())...))
			r.at["il-interlock-nats:4222"] = nats.address()
		}
	}
	r.install(t)
	ca := must[[]byte](t)(os.ReadFile(authority.CA()))
	e := &edge{url: "https://" + r.at["gateway:7420"], client: trustingOnly(t, ca), tokens: tokensOf(t, tokens)}
	r.start(t)
	r.keeps(t, e, redis, nats)
	r.tested(t)
}

// tested runs the tests of helm test.
func (r *installed) tested(t *testing.T) {
	t.Helper()
	for _, m := range r.objects {
		if m.Kind != "Pod" || m.component() != "test" {
			continue
		}
		u := r.unitOf(t, "test", m.Spec.PodSpec)
		r.place(t, u)
		cmd := exec.CommandContext(within(t), binary(t, u.program), u.args...)
		cmd.Env = append(cleanEnv(), u.env...)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "deployed") {
			t.Errorf("helm test: %v: %s", err, out)
		}
		return
	}
	t.Error("there is nothing for helm test")
}

// The chart in one pod has its acknowledged data after it was killed.
func TestChartsOnePodKeepsWhatItAcknowledges(t *testing.T) {
	t.Parallel()
	r := &installed{deployment: &deployment{at: map[string]string{}}, objects: chart(t, "all-in-one"), secrets: map[string]map[string][]byte{}}
	r.install(t)
	if len(r.units) != 1 {
		t.Fatalf("there are %d units", len(r.units))
	}
	r.units[0].args = append(r.units[0].args, "--nats", "127.0.0.1:0") // a pod has this port for itself
	r.start(t)
	e := &edge{url: "http://" + r.at["all-in-one:7420"], client: trustingOnly(t, nil), tokens: r.units[0].tokens(t)}
	r.keeps(t, e, nil)
}

// tokens reads those of `interlock up` without presence.
func (u *unit) tokens(t testing.TB) map[auth.Role]string {
	t.Helper()
	s := shape{tokensFile: filepath.Join(u.mounts["/data"], "local.json")}
	s.readTokens(t)
	return s.tokens
}

// The commands of docs/operations.md start the separate services, where the network is trusted.
func TestDocumentedServicesKeepWhatTheyAcknowledge(t *testing.T) {
	t.Parallel()
	_, block, _ := strings.Cut(string(must[[]byte](t)(os.ReadFile("../../docs/operations.md"))), "## Separate services")
	_, block, _ = strings.Cut(block, "    SHARED=")
	block, _, _ = strings.Cut("    SHARED="+block, "\n\n")
	bin := t.TempDir()
	for name := range commandline.Programs() {
		script := "#!/bin/sh\nprintf '%s\\n' \"" + name + "\" \"$@\" ''\n"
		if err := os.WriteFile(filepath.Join(bin, "interlock-"+name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	reader := exec.CommandContext(within(t), "bash", "-euc", block)
	reader.Env = append(cleanEnv(), "PATH="+bin+":"+os.Getenv("PATH"))
	commands := strings.Split(strings.TrimSpace(string(must[[]byte](t)(reader.Output()))), "\n\n")
	tokens, _ := bootstrapped(t)
	redis, nats := redistest.Start(t), startEvents(t, commandOf("-js", "-sd", t.TempDir()))
	d := &deployment{at: map[string]string{"redis:6379": redis.Addr(), "nats:4222": nats.address()}}
	for _, command := range commands {
		words := strings.Split(command, "\n")
		u := &unit{name: words[0], program: "interlock-" + words[0], args: append(words[1:], "--insecure-plaintext"), mounts: map[string]string{}}
		for i, word := range u.args {
			if word == "tokens.json" || word == "token.key" || word == "service" {
				u.args[i] = filepath.Join(tokens, word)
			}
		}
		d.units = append(d.units, u)
	}
	if len(d.units) != 5 {
		t.Fatalf("the documentation starts %d services", len(d.units))
	}
	d.listen(t)
	for _, u := range d.units {
		d.place(t, u)
	}
	d.start(t)
	e := &edge{url: "http://" + d.at["gateway:7420"], client: trustingOnly(t, nil), tokens: tokensOf(t, tokens)}
	d.keeps(t, e, redis, nats)
}
