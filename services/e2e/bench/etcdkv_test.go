package main

import (
	"encoding/hex"
	"testing"
)

// The message of etcd's rpc.proto that its client has for
// Txn().If(Compare(ModRevision("k"), "=", 7)).Then(OpPut("k", "v")).
func TestSwapRequest(t *testing.T) {
	t.Parallel()
	const want = "0a09" + "0800" + "1002" + "1a016b" + "3007" + // compare: equal, mod, k, 7
		"1208" + "1206" + "0a016b" + "120176" // success: put k v
	if got := hex.EncodeToString(swapRequest("k", 7, []byte("v"))); got != want {
		t.Errorf("the request is %s, not %s", got, want)
	}
}

func TestSwapAnswer(t *testing.T) {
	t.Parallel()
	for encoded, want := range map[string]struct {
		revision int64
		swapped  bool
	}{
		// A header of cluster, member, revision 9 and term 2; swapped; a response, of a put.
		"0a08" + "0801" + "1002" + "1809" + "2002" + "1001" + "1a041202" + "0a00": {9, true},
		"0a02" + "1809": {9, false},
		"":              {0, false},
	} {
		answer, err := hex.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		revision, swapped, err := swapAnswer(answer)
		if err != nil || revision != want.revision || swapped != want.swapped {
			t.Errorf("%s: revision %d, swapped %t, %v", encoded, revision, swapped, err)
		}
	}
	if _, _, err := swapAnswer([]byte{0x0a, 0x05, 0x18}); err == nil {
		t.Error("an answer that is cut off is taken")
	}
}
