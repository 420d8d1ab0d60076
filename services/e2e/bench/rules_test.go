package main

import (
	"slices"
	"testing"
)

func TestEngineTimes(t *testing.T) {
	t.Parallel()
	times, err := engineTimes([]byte(`{"name":"ours","ns":[1,2],"allocations":0}
{"name":"other","ns":[10,30],"allocations":7}
`))
	if err != nil || len(times) != 2 || times[1].Name != "other" || !slices.Equal(times[1].NS, []float64{10, 30}) {
		t.Errorf("read %+v, %v", times, err)
	}
	for _, broken := range []string{"", "{", "nothing\n"} {
		if times, err := engineTimes([]byte(broken)); err == nil {
			t.Errorf("%q is read as %+v", broken, times)
		}
	}
}
