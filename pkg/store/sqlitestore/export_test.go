package sqlitestore

import (
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

// As is a configuration of another program.
func (c Config) As(p storetest.Program) Config {
	c.Program, c.formats, c.steps = p.Version, p.Formats, slices.Clone(schema)
	for format := 2; format <= p.Formats.Newest; format++ {
		text := fmt.Sprintf("UPDATE records SET data = CAST(data || '+%d' AS BLOB)", format)
		if format == p.Fail {
			text += "; SELECT nothing"
		}
		c.steps = append(c.steps, step{"a test", format, text})
	}
	return c
}

// Endless is a configuration of a program whose step changes all records and never ends.
func (c Config) Endless() Config {
	c.formats = store.Formats{Oldest: 2, Newest: 2}
	c.steps = append(slices.Clone(schema), step{"a test", 2, `
		DELETE FROM records;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
		INSERT INTO records (key, version, labels, updated, data) SELECT i, 1, x'', 0, randomblob(1000) FROM n`})
	return c
}
