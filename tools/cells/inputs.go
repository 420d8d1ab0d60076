package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// inputs are the numbers of inputs.json, by their names there.
type inputs struct {
	AloneServices      float64 `json:"alone_services_us"`
	AloneRedis         float64 `json:"alone_redis_us"`
	CheckServices      float64 `json:"check_services_us"`
	CheckRedis         float64 `json:"check_redis_us"`
	CheckTrips         float64 `json:"check_trips"`
	PairServices       float64 `json:"pair_services_us"`
	PairRedis          float64 `json:"pair_redis_us"`
	PairTrips          float64 `json:"pair_trips"`
	TransitionServices float64 `json:"transition_services_us"`
	TransitionRedis    float64 `json:"transition_redis_us"`
	TransitionTrips    float64 `json:"transition_trips"`
	StartServices      float64 `json:"start_services_us"`
	StartRedis         float64 `json:"start_redis_us"`
	StartTrips         float64 `json:"start_trips"`
	Hop                float64 `json:"hop_us"`
	Syncs              float64 `json:"syncs_per_second"`

	CheckBytes       float64 `json:"check_bytes"`
	ReportBytes      float64 `json:"report_bytes"`
	TransitionBytes  float64 `json:"transition_bytes"`
	StartBytes       float64 `json:"start_bytes"`
	CheckEvent       float64 `json:"check_event_bytes"`
	ReportEvent      float64 `json:"report_event_bytes"`
	TransitionEvent  float64 `json:"transition_event_bytes"`
	StartEvent       float64 `json:"start_event_bytes"`
	CheckStream      float64 `json:"check_stream_bytes"`
	ReportStream     float64 `json:"report_stream_bytes"`
	TransitionStream float64 `json:"transition_stream_bytes"`
	StartStream      float64 `json:"start_stream_bytes"`
	EntryMemory      float64 `json:"entry_memory_bytes"`
	EntryFile        float64 `json:"entry_file_bytes"`
	RelayRate        float64 `json:"relay_events_per_second"`

	StoreTimeout   float64 `json:"store_timeout_s"`
	Answer         float64 `json:"answer_s"`
	Retention      float64 `json:"decision_retention_h"`
	EventsKeep     float64 `json:"events_keep_h"`
	StreamDays     float64 `json:"stream_days"`
	StreamReplicas float64 `json:"stream_replicas"`
	RedisGB        float64 `json:"redis_gb"`
	Processors     float64 `json:"processors"`
	Enforcers      float64 `json:"enforcers"`
	Failover       float64 `json:"failover_s"`

	Decisions   float64 `json:"decisions_per_day"`
	Tenants     float64 `json:"tenants"`
	Zipf        float64 `json:"zipf"`
	Transitions float64 `json:"transitions_per_decision"`
	Starts      float64 `json:"starts_per_decision"`
	BurstShare  float64 `json:"burst_share"`
	BurstCalls  float64 `json:"burst_calls"`
	DiskSync    float64 `json:"disk_sync_us"`
	ZoneRTT     float64 `json:"zone_rtt_us"`
	RegionRTT   float64 `json:"region_rtt_ms"`
	Fork        float64 `json:"fork_ms_per_gb"`
	Load        float64 `json:"load_s_per_gb"`
	Alarm       float64 `json:"alarm_min"`
	Repair      float64 `json:"repair_min"`
	Move        float64 `json:"move_min"`
	HaltCommand float64 `json:"halt_command_ms"`
	HaltSilent  float64 `json:"halt_silent_s"`
	HaltTrips   float64 `json:"halt_round_trips"`

	Regions []region  `json:"-"`
	Hours   []float64 `json:"-"`

	pages map[string]string
}

// region has a share of all calls, and the hours of its day.
type region struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	UTC   int     `json:"utc"`
}

// place names a number of a page: a cell of a table, or the first match of a text.
type place struct {
	Page   string   `json:"page"`
	Table  string   `json:"table"`
	Row    []string `json:"row"`
	Column string   `json:"column"`
	Part   int      `json:"part"`
	Text   string   `json:"text"`
}

// choice is a number that the operator sets, or that is assumed.
type choice struct {
	Value float64 `json:"value"`
	Why   string  `json:"why"`
}

// file has the form of inputs.json.
type file struct {
	Measured map[string]place  `json:"measured"`
	Set      map[string]choice `json:"set"`
	Assumed  map[string]choice `json:"assumed"`
	Regions  []region          `json:"regions"`
	Hours    []float64         `json:"hours"`
}

// readInputs reads the inputs, and the measured ones from the pages in a folder.
func readInputs(name, docs string) (*inputs, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	in := &inputs{Regions: f.Regions, Hours: f.Hours, pages: map[string]string{}}
	values := map[string]float64{}
	for key, p := range f.Measured {
		if values[key], err = in.measured(docs, p); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, key, err)
		}
	}
	for _, choices := range []map[string]choice{f.Set, f.Assumed} {
		for key, c := range choices {
			values[key] = c.Value
		}
	}
	return in, in.fill(name, values)
}

// fill sets the fields. It fails for a name without a number, and for a number without a name.
func (in *inputs) fill(name string, values map[string]float64) error {
	fields := reflect.ValueOf(in).Elem()
	for i := range fields.NumField() {
		key := fields.Type().Field(i).Tag.Get("json")
		if key == "" || key == "-" {
			continue
		}
		value, found := values[key]
		if !found || value <= 0 {
			return fmt.Errorf("%s: give %q a number above 0", name, key)
		}
		fields.Field(i).SetFloat(value)
		delete(values, key)
	}
	for key := range values {
		return fmt.Errorf("%s: no part of the model uses %q; remove it", name, key)
	}
	shares := 0.0
	for _, r := range in.Regions {
		shares += r.Share
	}
	switch {
	case math.Abs(shares-1) > 1e-6:
		return fmt.Errorf("%s: the shares of the regions add up to %v; make it 1", name, shares)
	case len(in.Hours) != 24:
		return fmt.Errorf("%s: there are %d hours; give 24", name, len(in.Hours))
	case in.Enforcers < 2:
		return fmt.Errorf("%s: a cell has %v replicas of each service; give at least 2", name, in.Enforcers)
	}
	return nil
}

// measured reads a number of a page.
func (in *inputs) measured(docs string, p place) (float64, error) {
	if in.pages[p.Page] == "" {
		text, err := os.ReadFile(filepath.Join(docs, p.Page))
		if err != nil {
			return 0, err
		}
		in.pages[p.Page] = string(text)
	}
	page := in.pages[p.Page]
	if p.Text != "" {
		found := regexp.MustCompile(p.Text).FindStringSubmatch(page)
		if found == nil {
			return 0, fmt.Errorf("docs/%s has no text %q", p.Page, p.Text)
		}
		return strconv.ParseFloat(found[1], 64)
	}
	return p.cell(page)
}

var numbers = regexp.MustCompile(`[0-9]*\.?[0-9]+`)

// cell reads a number of a table: the part'th of those in its cell, from 1.
func (p place) cell(page string) (float64, error) {
	_, rest, found := strings.Cut(page, "\n### "+p.Table)
	if !found {
		return 0, fmt.Errorf("docs/%s has no table %q", p.Page, p.Table)
	}
	section, _, _ := strings.Cut(rest, "\n#")
	column := -1
	for line := range strings.Lines(section) {
		cells := split(line)
		if column < 0 {
			column = index(cells, p.Column)
			continue
		}
		if len(cells) > column && reflect.DeepEqual(cells[:min(len(p.Row), len(cells))], p.Row) {
			found := numbers.FindAllString(cells[column], -1)
			if part := max(p.Part, 1); part <= len(found) {
				return strconv.ParseFloat(found[part-1], 64)
			}
		}
	}
	return 0, fmt.Errorf("table %q of docs/%s has no number %d in row %q, column %q", p.Table, p.Page, max(p.Part, 1), p.Row, p.Column)
}

// split returns the cells of a row.
func split(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func index(cells []string, name string) int {
	for i, cell := range cells {
		if cell == name {
			return i
		}
	}
	return -1
}
