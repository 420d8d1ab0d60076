package document

import (
	"fmt"
	"sync"
	"testing"
)

func compiledBy(t testing.TB, c *SchemaCache, src string) *Schema {
	t.Helper()
	s, problems := c.Compile(must(t, src))
	if s == nil {
		t.Fatal(problems)
	}
	return s
}

// TestSchemaCache: one schema for one digest, as long as it is used.
func TestSchemaCache(t *testing.T) {
	t.Parallel()
	c := NewSchemaCache(2)
	a := compiledBy(t, c, `{"type":"string","minLength":1}`)
	if compiledBy(t, c, `{"minLength":1.0, "type":"string"}`) != a {
		t.Error("the same schema was compiled twice")
	}
	b := compiledBy(t, c, `{"type":"integer"}`)
	if a == b || len(b.Validate(NumberValue("1"))) > 0 || len(a.Validate(NumberValue("1"))) == 0 {
		t.Error("schemas are mixed up")
	}
	compiledBy(t, c, `{"type":"string","minLength":1}`) // a is now the one used last
	compiledBy(t, c, `{"type":"null"}`)
	if compiledBy(t, c, `{"type":"string","minLength":1}`) != a {
		t.Error("the schema used last was dropped")
	}
	if compiledBy(t, c, `{"type":"integer"}`) == b {
		t.Error("a third schema was kept")
	}
	checkCache(t, c)
}

// TestSchemaCacheProblems: a schema that does not compile gets CompileSchema's answer,
// and takes no place.
func TestSchemaCacheProblems(t *testing.T) {
	t.Parallel()
	c := NewSchemaCache(0) // at least one
	a := compiledBy(t, c, `{}`)
	for range 2 {
		s, problems := c.Compile(must(t, `{"type":"strin"}`))
		_, want := CompileSchema(must(t, `{"type":"strin"}`))
		if s != nil || fmt.Sprint(problems) != fmt.Sprint(want) {
			t.Errorf("got %v, %v", s, problems)
		}
		problems[0].Message = "" // it is the caller's
	}
	if len(c.known) != 0 {
		t.Errorf("keeps %d", len(c.known))
	}
	if compiledBy(t, c, `{}`) == a {
		t.Error("two were kept")
	}
	checkCache(t, c)
}

// TestSchemaCacheBytes: its contents are bounded in memory too.
func TestSchemaCacheBytes(t *testing.T) {
	t.Parallel()
	c := NewSchemaCache(1000)
	one := compiledBy(t, c, `{"title":"0"}`).size
	if one <= 0 {
		t.Fatal("a schema takes no memory")
	}
	c.bytes = 3 * one
	for i := range 10 {
		compiledBy(t, c, fmt.Sprintf(`{"title":"%d"}`, i))
	}
	if c.byUse.Len() != 3 {
		t.Errorf("holds %d of 3", c.byUse.Len())
	}
	// One that is larger than all is compiled, and kept while it is the last.
	c.bytes = one - 1
	s := compiledBy(t, c, `{"title":"large"}`)
	if compiledBy(t, c, `{"title":"large"}`) != s || c.byUse.Len() != 1 {
		t.Errorf("holds %d", c.byUse.Len())
	}
	checkCache(t, c)
}

// TestSchemaCacheConcurrent: concurrent callers get the same schema.
func TestSchemaCacheConcurrent(t *testing.T) {
	t.Parallel()
	c := NewSchemaCache(4)
	got := make([][]*Schema, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			for j := range 4 {
				s, _ := c.Compile(must(t, fmt.Sprintf(`{"const":%d}`, j)))
				c.Compile(must(t, `{"type":5}`))
				got[i] = append(got[i], s)
			}
			for j := range 20 { // push the others out, and compile them again
				c.Compile(must(t, fmt.Sprintf(`{"const":%d}`, j%6)))
			}
		})
	}
	wg.Wait()
	for _, schemas := range got {
		for j, s := range schemas {
			if s == nil || len(s.Validate(NumberValue(fmt.Sprint(j)))) > 0 {
				t.Errorf("not the schema that was asked for")
			}
		}
	}
	checkCache(t, c)

	c = NewSchemaCache(4)
	same := make([]*Schema, 8)
	for i := range same {
		wg.Go(func() { same[i], _ = c.Compile(must(t, `{"type":"string"}`)) })
	}
	wg.Wait()
	for _, s := range same {
		if s == nil || s != same[0] {
			t.Error("it was compiled more than once")
		}
	}
}

// checkCache compares the books of a cache with its contents.
func checkCache(t *testing.T, c *SchemaCache) {
	t.Helper()
	held := 0
	for e := c.byUse.Front(); e != nil; e = e.Next() {
		cached := e.Value.(*cachedSchema)
		held += cached.size
		if c.known[cached.digest] != e {
			t.Error("an entry cannot be found")
		}
	}
	if held != c.held || len(c.known) != c.byUse.Len() || c.byUse.Len() > c.entries {
		t.Errorf("%d entries of %d, %d found, %d bytes, counted %d", c.byUse.Len(), c.entries, len(c.known), held, c.held)
	}
}
