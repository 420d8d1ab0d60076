package storetest

import (
	"bytes"
	"fmt"

	"github.com/interlock-run/interlock/pkg/store"
)

var sizeTests = []test{{"grows with what is stored", func(f *fixture) {
	sized, ok := f.Store.(store.Sized)
	if !ok {
		f.Fatalf("%T does not know its size", f.Store)
	}
	size := func() int64 {
		n, err := sized.Bytes(f.ctx)
		if err != nil {
			f.Fatal(err)
		}
		return n
	}
	before := size()
	const records, each = 16, 1 << 20
	for i := range records {
		f.commit(create(run(fmt.Sprint(i)), string(bytes.Repeat([]byte{'x'}, each))))
	}
	// Half, because other tests' data in the same server may go in the meantime.
	if grown := size() - before; grown < records*each/2 {
		f.Errorf("it grew by %d bytes when %d were stored", grown, records*each)
	}
}}}
