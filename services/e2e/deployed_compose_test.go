package e2e

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

const composeFile = "../../deploy/compose/compose.yaml"

// composed is the part of a compose file that tests read.
type composed struct {
	Services map[string]struct {
		Image       string
		Build       struct{ Args map[string]string }
		Command     []string
		Environment map[string]string
		Ports       []string
		Volumes     []string
		DependsOn   map[string]any `yaml:"depends_on"`
	}
	Volumes map[string]any
}

// readCompose reads the compose file as docker does, with no variable set.
func readCompose(t testing.TB) (c composed) {
	t.Helper()
	text := string(must[[]byte](t)(os.ReadFile(composeFile)))
	text = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`).ReplaceAllString(text, "$1")
	if left := regexp.MustCompile(`\$\{?\w+`).FindString(text); left != "" {
		t.Fatalf("compose: %s has no default", left)
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// tokensOf reads the token of each role that token bootstrap has made in a folder.
func tokensOf(t testing.TB, folder string) map[auth.Role]string {
	t.Helper()
	tokens := map[auth.Role]string{}
	for _, role := range auth.Roles() {
		tokens[role] = must[string](t)(auth.ReadPassword(filepath.Join(folder, string(role))))
	}
	return tokens
}

// setFlag replaces the argument after a flag.
func setFlag(t testing.TB, args []string, flag, with string) []string {
	t.Helper()
	at := slices.Index(args, flag)
	if at < 0 || at+1 == len(args) {
		t.Fatalf("%q has no %s", args, flag)
	}
	args = slices.Clone(args)
	args[at+1] = with
	return args
}

// The compose file's commands, environment and files start everything, and all of it that is
// killed has its acknowledged data when it starts again.
func TestComposeKeepsWhatItAcknowledges(t *testing.T) {
	t.Parallel()
	compose := readCompose(t)
	volumes := map[string]string{}
	for name := range compose.Volumes {
		volumes[name] = t.TempDir()
	}
	valkey, bootstrap := compose.Services["valkey"].Command, compose.Services["secrets"].Command
	redis := redistest.Start(t, setFlag(t, valkey[1:], "--dir", volumes["valkey"])...)
	nats := startEvents(t, commandOf(setFlag(t, compose.Services["nats"].Command, "-sd", volumes["nats"])...))
	// As root it gives the files to the user of the images; others keep them.
	owner := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	bootstrap = setFlag(t, setFlag(t, bootstrap, "--dir", volumes["secrets"]), "--owner", owner)
	program := binary(t, "interlock") // which takes its time, before that of the command begins
	for range 2 {                     // docker compose runs it at each start
		if out, err := exec.CommandContext(within(t), program, bootstrap...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	d := &deployment{at: map[string]string{"valkey:6379": redis.Addr(), "nats:4222": nats.address()}}
	for name, service := range compose.Services {
		image, isOurs := strings.CutPrefix(service.Image, "ghcr.io/interlock-run/")
		program, tag, _ := strings.Cut(image, ":")
		if !isOurs || name == "secrets" {
			continue
		}
		if program != service.Build.Args["PROGRAM"] || tag != "latest" {
			t.Errorf("compose: %s is %s, and is built from %v", name, service.Image, service.Build.Args)
		}
		u := &unit{name: name, program: program, args: slices.Clone(service.Command), mounts: map[string]string{}}
		for variable, value := range service.Environment {
			u.env = append(u.env, variable+"="+value)
		}
		for _, volume := range service.Volumes {
			from, to, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":")
			u.mounts[to] = volumes[from]
		}
		d.units = append(d.units, u)
	}
	d.listen(t)
	for _, u := range d.units {
		d.place(t, u)
	}
	d.start(t)
	e := &edge{url: "http://" + d.at["gateway:7420"], client: trustingOnly(t, nil), tokens: tokensOf(t, volumes["secrets"])}
	d.used = func() { d.observed(t, compose) }
	d.keeps(t, e, redis, nats)
	stream := &world{shape: &shape{nats: bus.Endpoint{URL: "nats://" + nats.address()}}}
	types := map[string]bool{}
	for seen := stream.events(t, bus.Subject{Entity: "run"}); !types["started"] || !types["transitioned"]; {
		types[seen.next(t).GetType()] = true
	}
}

// observed requires that Prometheus reaches each service by its settings, and that the services
// export the metrics that the alerts and the dashboard name, with the labels that those select by.
func (d *deployment) observed(t *testing.T, compose composed) {
	t.Helper()
	mounted := map[string]string{}
	for _, volume := range compose.Services["prometheus"].Volumes {
		from, to, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":")
		mounted[to] = filepath.Join(filepath.Dir(composeFile), from)
	}
	var settings struct {
		RuleFiles []string `yaml:"rule_files"`
		Scrape    []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	read := func(file string) []byte { return must[[]byte](t)(os.ReadFile(file)) }
	if err := yaml.Unmarshal(read(mounted["/etc/prometheus/prometheus.yml"]), &settings); err != nil {
		t.Fatal(err)
	}
	scraped := map[string]string{}
	for _, scrape := range settings.Scrape {
		for _, static := range scrape.Static {
			for _, target := range static.Targets {
				if d.at[target] == "" {
					t.Fatalf("Prometheus scrapes %s, which is not there", target)
				}
				resp := must[*http.Response](t)(http.Get("http://" + d.at[target] + "/metrics"))
				scraped[target] = string(must[[]byte](t)(io.ReadAll(resp.Body)))
				resp.Body.Close()
			}
		}
	}
	if len(scraped) != len(d.units) || len(settings.RuleFiles) != 1 {
		t.Errorf("Prometheus scrapes %d of %d services, by rules of %v", len(scraped), len(d.units), settings.RuleFiles)
	}
	all := strings.Join(slices.Collect(maps.Values(scraped)), "\n")
	used := string(read(mounted[settings.RuleFiles[0]])) + strings.ReplaceAll(string(read("../../deploy/grafana/interlock.json")), `\"`, `"`)
	selected := regexp.MustCompile(`\b((?:interlock|process|go|grpc_server)_[a-z_]+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(used, -1)
	if len(selected) < 55 {
		t.Errorf("only %d metrics are selected: this test looks in the wrong place", len(selected))
	}
	for _, match := range selected {
		if match[1] == "interlock_certificate_expiry_seconds" { // there is no TLS here
			continue
		}
		if !regexp.MustCompile(`(?m)^` + match[1] + `[ {]`).MatchString(all) {
			t.Errorf("no service exports %s", match[1])
		}
		for _, label := range regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`).FindAllStringSubmatch(match[2], -1) {
			if label[1] != "namespace" && !regexp.MustCompile(`(?m)^`+match[1]+`\{[^}]*\b`+label[1]+`="`).MatchString(all) {
				t.Errorf("no %s has the label %s", match[1], label[1])
			}
		}
	}
}

// Grafana finds the dashboard and Prometheus where the compose file puts them.
func TestComposeShowsTheDashboard(t *testing.T) {
	t.Parallel()
	compose := readCompose(t)
	grafana := compose.Services["grafana"]
	here := func(path string) string {
		t.Helper()
		for _, volume := range grafana.Volumes {
			from, to, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":")
			if below, is := strings.CutPrefix(path+"/", to+"/"); is {
				return filepath.Join(filepath.Dir(composeFile), from, below)
			}
		}
		t.Fatalf("grafana has no %s", path)
		return ""
	}
	if _, err := os.Stat(here(grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])); err != nil {
		t.Error(err)
	}
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	var sources struct {
		Datasources []struct{ URL, Type string }
	}
	for kind, into := range map[string]any{"dashboards/interlock.yaml": &dashboards, "datasources/prometheus.yaml": &sources} {
		if err := yaml.Unmarshal(must[[]byte](t)(os.ReadFile(here("/etc/grafana/provisioning/"+kind))), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, provider := range dashboards.Providers {
		if files := must[[]string](t)(filepath.Glob(here(provider.Options.Path) + "/*.json")); len(files) != 1 {
			t.Errorf("%s has %q", provider.Options.Path, files)
		}
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(sources.Datasources[0].URL, "http://"), ":")
	if _, there := compose.Services[host]; !there || port != "9090" || sources.Datasources[0].Type != "prometheus" || len(dashboards.Providers) != 1 {
		t.Errorf("grafana asks %v, with %v", sources, dashboards)
	}
}

// The images are of the programs that there are, from files that there are.
func TestImagesAreOfThePrograms(t *testing.T) {
	t.Parallel()
	var programs []string
	for _, entry := range must[[]os.DirEntry](t)(os.ReadDir("../cmd")) {
		programs = append(programs, entry.Name())
	}
	var ko struct {
		Builds []struct {
			ID, Main string
		}
	}
	folder := "../../deploy/images/"
	if err := yaml.Unmarshal(must[[]byte](t)(os.ReadFile(folder+"ko.yaml")), &ko); err != nil {
		t.Fatal(err)
	}
	var built []string
	for _, build := range ko.Builds {
		built = append(built, build.ID)
		if build.Main != "./cmd/"+build.ID {
			t.Errorf("%s is made of %s", build.ID, build.Main)
		}
	}
	slices.Sort(built)
	if !slices.Equal(built, programs) {
		t.Errorf("ko builds %q, and there are %q", built, programs)
	}
	text := string(must[[]byte](t)(os.ReadFile(folder + "Dockerfile")))
	for _, program := range programs {
		if !strings.Contains(text, program) {
			t.Errorf("the Dockerfile does not name %s", program)
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(text, -1) {
		for _, from := range strings.Fields(match[1]) {
			if _, err := os.Stat("../../" + from); err != nil {
				t.Error(err)
			}
		}
	}
}

// Each file of deploy/ is one that a test starts or reads: a new one has to be added here, with
// its test.
func TestEveryDeployedFileHasItsTest(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"compose/compose.yaml":                        "TestComposeKeepsWhatItAcknowledges",
		"compose/prometheus.yaml":                     "TestComposeKeepsWhatItAcknowledges",
		"compose/grafana/dashboards/interlock.yaml":   "TestComposeShowsTheDashboard",
		"compose/grafana/datasources/prometheus.yaml": "TestComposeShowsTheDashboard",
		"grafana/interlock.json":                      "TestComposeKeepsWhatItAcknowledges; tools/promtool",
		"images/Dockerfile":                           "TestImagesAreOfThePrograms",
		"images/ko.yaml":                              "TestImagesAreOfThePrograms",
		"images/prebuilt.Dockerfile":                  "tools/cluster",
		"nats/nats.conf":                              "TestDeployedNATSAccounts, TestChartInProductionKeepsWhatItAcknowledges",
		"github/apply/action.yml":                     "services/cmd/interlock, script github_action",
		"github/apply/run.sh":                         "services/cmd/interlock, script github_action",
		"github/setup/action.yml":                     "services/cmd/interlock, script github_action",
		"github/setup/install.sh":                     "services/cmd/interlock, script github_action",
		"schemastore/catalog.json":                    "services/gateway/internal/rest, its schemas",
		"prometheus/alerts.yaml":                      "TestComposeKeepsWhatItAcknowledges; tools/promtool",
		"prometheus/alerts_test.yaml":                 "tools/promtool",
		"redis/redis.conf":                            "TestDeployedRedisKeepsWhatItAcknowledged, TestChartInProductionKeepsWhatItAcknowledges",
		"redis/users.acl":                             "TestDeployedRedisUsers, TestRunbookCommandsOfRedis",
	}
	source := ""
	for _, file := range must[[]string](t)(filepath.Glob("*_test.go")) {
		source += string(must[[]byte](t)(os.ReadFile(file)))
	}
	for file, named := range tests {
		for _, test := range regexp.MustCompile(`Test\w+`).FindAllString(named, -1) {
			if !strings.Contains(source, "func "+test+"(") {
				t.Errorf("%s: there is no %s", file, test)
			}
		}
	}
	err := filepath.WalkDir("../../deploy", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && tests[strings.TrimPrefix(filepath.ToSlash(path), "../../deploy/")] == "" {
			t.Errorf("no test starts %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
