package show

import (
	"bytes"
	"testing"
)

func TestPrintForPrograms(t *testing.T) {
	t.Parallel()
	type run struct {
		RunID     string `json:"run_id"`
		SessionID string `json:"session_id"`
	}
	type moved struct {
		Accepted bool `json:"accepted"`
		Run      run  `json:"run"`
	}
	list := []run{{"run_1", "a"}, {"run_2\x1b", "b"}}
	for _, tc := range []struct {
		printer Printer
		value   any
		want    string
	}{
		{Printer{Quiet: true}, list, "run_1\nrun_2⟦U+001B⟧\n"},
		{Printer{Quiet: true, Output: "json"}, list[0], "run_1\n"},
		{Printer{Quiet: true}, []run{}, ""},
		{Printer{Quiet: true}, moved{true, list[0]}, "run_1\n"},
		{Printer{Quiet: true}, map[string]any{"fencing_token": 7}, "7\n"},
		{Printer{Output: "jsonl"}, list[:1], `{"run_id":"run_1","session_id":"a"}` + "\n"},
		{Printer{Output: "jsonl"}, append(list[:1:1], list[0]), `{"run_id":"run_1","session_id":"a"}` + "\n" + `{"run_id":"run_1","session_id":"a"}` + "\n"},
		{Printer{Output: "jsonl"}, list[0], `{"run_id":"run_1","session_id":"a"}` + "\n"},
	} {
		var out bytes.Buffer
		if err := tc.printer.Print(&out, tc.value, nil); err != nil || out.String() != tc.want {
			t.Errorf("%+v of %v: %q, %v; want %q", tc.printer, tc.value, &out, err, tc.want)
		}
	}
	var out bytes.Buffer
	if err := (Printer{Quiet: true}).Print(&out, map[string]int{"run_version": 1}, nil); err == nil {
		t.Errorf("without an id: %q", &out)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	value := map[string]string{"run_id": "r"}
	for format, want := range map[string]string{"table": "line\nline\n", "json": "{\"run_id\":\"r\"}\n{\"run_id\":\"r\"}\n", "yaml": "---\nrun_id: r\n---\nrun_id: r\n"} {
		var out bytes.Buffer
		for range 2 {
			if err := (Printer{Output: format}).Next(&out, value, func(Style) string { return "line" }); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Errorf("%s: %q", format, &out)
		}
	}
}
