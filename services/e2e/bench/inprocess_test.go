package main

import "testing"

func TestCollectBenchmarks(t *testing.T) {
	t.Parallel()
	const printed = `goos: linux
BenchmarkDecideExact/find/busy-2     	  273937	        99.92 ns/op	       0 B/op	       0 allocs/op
BenchmarkStepGuarded-2   	    8763	      2698 ns/op	    1200 B/op	       5 allocs/op
PASS`
	once, err := collect(nil, printed)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := collect(once, printed)
	if err != nil || len(twice) != 2 {
		t.Fatalf("%d benchmarks, %v", len(twice), err)
	}
	step := named(twice, "StepGuarded")
	if step == nil || len(step.ns) != 2 || step.ns[1] != 2698 || step.allocs != "5" {
		t.Errorf("a step is %+v", step)
	}
	for name, want := range map[string]string{
		"DecideGlob/find_and_decide/cold": "DecideGlob/find/cold", "StepGuarded": "StepPlain", "DecideExact/alone": "",
		"Validate1KB/patch_and_change": "Validate1KB/library", "Validate1KB/library": "",
	} {
		if got := base(name); got != want {
			t.Errorf("%s is compared with %q, not %q", name, got, want)
		}
	}
}
