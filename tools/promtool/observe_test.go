// Package promtool holds what is made for Prometheus and Grafana against what Interlock
// exports.
package promtool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const (
	root      = "../../"
	alerts    = root + "deploy/prometheus/alerts.yaml"
	tests     = root + "deploy/prometheus/alerts_test.yaml"
	dashboard = root + "deploy/grafana/interlock.json"
	runbook   = root + "docs/runbook.md"
	runbooks  = "https://github.com/interlock-run/interlock/blob/main/docs/runbook.md#"
)

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// exported are the metrics of docs/operations.md, which has those that are exported: a test
// next to the servers holds the two against each other. up is Prometheus's own.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	_, section, _ := strings.Cut(string(read(t, root+"docs/operations.md")), "\n### Metrics\n")
	section, _, _ = strings.Cut(section, "\n### ")
	names := map[string]bool{"up": true}
	for line := range strings.Lines(section) {
		row, isRow := strings.CutPrefix(line, "| ")
		if cell, _, _ := strings.Cut(row, " |"); isRow {
			for _, name := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cell, -1) {
				names[name[1]] = true
			}
		}
	}
	if len(names) < 40 {
		t.Fatalf("only %d metrics are documented: this test looks in the wrong place", len(names))
	}
	return names
}

var histogram = regexp.MustCompile(`_(bucket|sum|count)$`)

// check holds an expression against the metrics that there are.
func check(t *testing.T, where, expr string, exports map[string]bool) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v: %s", where, err, expr)
		return
	}
	selectors := 0
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		selector, is := node.(*parser.VectorSelector)
		if !is {
			return nil
		}
		selectors++
		for _, m := range selector.LabelMatchers {
			if m.Name == labels.MetricName && m.Type != labels.MatchEqual {
				t.Errorf("%s: the name of a metric is not written out: %s", where, expr)
			}
		}
		if name := selector.Name; !exports[name] && !exports[histogram.ReplaceAllString(name, "")] {
			t.Errorf("%s: there is no metric %q", where, name)
		}
		return nil
	})
	if selectors == 0 {
		t.Errorf("%s: no metric is named: %s", where, expr)
	}
}

type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// Each alert names metrics that there are, says in words what it is about, leads to a section
// of the runbook, and has a test in which it fires. Each section of the runbook is of an alert.
func TestAlerts(t *testing.T) {
	var all rules
	if err := yaml.Unmarshal(read(t, alerts), &all); err != nil {
		t.Fatal(err)
	}
	exports, fires, sections := exported(t), firing(t), headings(t)
	used, seen := map[string]bool{}, map[string]bool{}
	for _, group := range all.Groups {
		for _, rule := range group.Rules {
			if seen[rule.Alert] {
				t.Errorf("there are two of %s", rule.Alert)
			}
			seen[rule.Alert] = true
			check(t, rule.Alert, rule.Expr, exports)
			if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
				t.Errorf("%s: the severity is %q", rule.Alert, severity)
			}
			for _, name := range []string{"summary", "description"} {
				if text := rule.Annotations[name]; !strings.HasSuffix(text, ".") || len(text) < 20 {
					t.Errorf("%s: the %s is not a sentence: %q", rule.Alert, name, text)
				}
			}
			anchor, found := strings.CutPrefix(rule.Annotations["runbook_url"], runbooks)
			section, known := sections[anchor]
			used[anchor] = true
			if !found || !known {
				t.Errorf("%s: there is no section %s", rule.Alert, rule.Annotations["runbook_url"])
			}
			if !strings.Contains(section, "`"+rule.Alert+"`") {
				t.Errorf("%s: section %s does not name it", rule.Alert, anchor)
			}
			if !fires[rule.Alert] {
				t.Errorf("%s: no test has it fire", rule.Alert)
			}
		}
	}
	if len(seen) < 11 {
		t.Errorf("there are only %d alerts", len(seen))
	}
	for anchor, section := range sections {
		if !used[anchor] && anchor != "where-to-look" {
			t.Errorf("section %s is of no alert", anchor)
		}
		for _, part := range []string{"Meaning", "Enforcement", "Diagnosis", "Resolution"} {
			if used[anchor] && !strings.Contains(section, "**"+part+".**") {
				t.Errorf("section %s does not say %q", anchor, part)
			}
		}
	}
}

// firing are the alerts that a test has fire.
func firing(t *testing.T) map[string]bool {
	t.Helper()
	var all struct {
		Tests []struct {
			Rules []struct {
				Name   string           `yaml:"alertname"`
				Alerts []map[string]any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	if err := yaml.Unmarshal(read(t, tests), &all); err != nil {
		t.Fatal(err)
	}
	fires := map[string]bool{}
	for _, test := range all.Tests {
		for _, rule := range test.Rules {
			fires[rule.Name] = fires[rule.Name] || len(rule.Alerts) > 0
		}
	}
	return fires
}

// headings are the sections of the runbook, by their anchors as GitHub makes them.
func headings(t *testing.T) map[string]string {
	t.Helper()
	sections := map[string]string{}
	for _, section := range strings.Split(string(read(t, runbook)), "\n## ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(title), "")
		sections[strings.ReplaceAll(anchor, " ", "-")] = section
	}
	return sections
}

type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct{ H, W, X, Y int }
	Targets []struct {
		Expr  string `json:"expr"`
		RefID string `json:"refId"`
	} `json:"targets"`
}

// The dashboard is what Grafana takes: ids are unique, nothing overlaps, each expression parses
// and names metrics that there are. Its first row is about enforcement.
func TestDashboard(t *testing.T) {
	var board struct {
		UID    string  `json:"uid"`
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(read(t, dashboard), &board); err != nil {
		t.Fatal(err)
	}
	if board.UID == "" || len(board.Panels) < 20 {
		t.Fatalf("dashboard %q has %d panels", board.UID, len(board.Panels))
	}
	exports := exported(t)
	// What Grafana puts in for its variables.
	grafana := strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "1h")
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		where := fmt.Sprintf("panel %d (%s)", p.ID, p.Title)
		if p.ID == 0 || ids[p.ID] {
			t.Errorf("%s: its id is not its own", where)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := cells[cell]; other != "" || cell[0] >= 24 {
					t.Errorf("%s lies over %q", where, other)
				}
				cells[cell] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", where)
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if refs[target.RefID] {
				t.Errorf("%s: two queries are %s", where, target.RefID)
			}
			refs[target.RefID] = true
			check(t, where, grafana.Replace(target.Expr), exports)
		}
	}
	if first := board.Panels[0]; first.Type != "row" || first.Title != "Is anything not being enforced?" {
		t.Errorf("the first row is %q", first.Title)
	}
	for _, metric := range []string{
		"interlock_fail_closed_denials_total", "interlock_ready", "interlock_store_errors_total",
		"interlock_outbox_oldest_seconds", "interlock_decisions_unsealed_seconds",
	} {
		if !slices.ContainsFunc(board.Panels, func(p panel) bool {
			return p.GridPos.Y <= 1 && p.Type == "stat" && strings.Contains(p.Targets[0].Expr, metric)
		}) {
			t.Errorf("the first row does not show %s", metric)
		}
	}
}

// The chart has copies, for it has nothing outside of itself.
func TestCopiesOfTheChart(t *testing.T) {
	for file, of := range map[string]string{"alerts.yaml": alerts, "dashboard.json": dashboard} {
		if !bytes.Equal(read(t, root+"helm/interlock/files/"+file), read(t, of)) {
			t.Errorf("helm/interlock/files/%s differs from %s: copy it there", file, strings.TrimPrefix(of, root))
		}
	}
}
