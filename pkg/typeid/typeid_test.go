package typeid

import (
	"strings"
	"testing"
	"time"

	"github.com/gofrs/uuid/v5"
)

// The vectors are from the TypeID specification's valid.yml.
func TestEncodeSpecificationVectors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"00000000-0000-0000-0000-000000000000": "00000000000000000000000000",
		"00000000-0000-0000-0000-000000000001": "00000000000000000000000001",
		"00000000-0000-0000-0000-00000000000a": "0000000000000000000000000a",
		"00000000-0000-0000-0000-000000000020": "00000000000000000000000010",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "7zzzzzzzzzzzzzzzzzzzzzzzzz",
		"0110c853-1d09-52d8-d73e-1194e95b5f19": "0123456789abcdefghjkmnpqrs",
		"01890a5d-ac96-774b-bcce-b302099a8057": "01h455vb4pex5vsknk084sn02q",
	} {
		if got := encode(uuid.Must(uuid.FromString(in))); got != want {
			t.Errorf("encode(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestNewSortsByTime(t *testing.T) {
	t.Parallel()
	last := ""
	for range 1000 {
		id := New(Run)
		if !strings.HasPrefix(id, "run_") || len(id) != 30 || id <= last {
			t.Fatalf("id %q after %q", id, last)
		}
		last = id
	}
}

func TestNewWhere(t *testing.T) {
	t.Parallel()
	id, err := NewWhere(Run, func(id string) bool { return id[len(id)-1] == '7' })
	if err != nil || id[len(id)-1] != '7' {
		t.Fatalf("id %q, err %v", id, err)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	// The time of the specification's vector.
	if got, want := Time("run_01h455vb4pex5vsknk084sn02q").UnixMilli(), int64(0x01890a5dac96); got != want {
		t.Errorf("it was minted at %d, want %d", got, want)
	}
	before := time.Now().Truncate(time.Millisecond)
	if got := Time(New(Run)); got.Before(before) || got.After(time.Now()) {
		t.Errorf("an id of now is of %s", got)
	}
	for _, id := range []string{"", "run_", "run_1", "run_01h455vb4iex5vsknk084sn02q", "run_01h455vb4pex5vsknk084sn02qq"} {
		if got := Time(id); !got.IsZero() {
			t.Errorf("%q was minted at %s", id, got)
		}
	}
}
