package document

import (
	"container/list"
	"slices"
	"sync"
)

// SchemaCache compiles schemas once. Schemas with the same digest are the same.
// It keeps those used last and is safe for concurrent use: callers that ask for
// one schema at the same time wait for one compilation.
type SchemaCache struct {
	mu      sync.Mutex
	entries int
	bytes   int
	held    int // bytes
	byUse   list.List
	known   map[string]*list.Element // of *cachedSchema, by digest
}

// maxCacheBytes bounds the memory that a SchemaCache holds, as far as that can
// be estimated.
const maxCacheBytes = 64 << 20

// NewSchemaCache returns a cache for at most entries schemas, at least one, and
// about 64 MiB.
func NewSchemaCache(entries int) *SchemaCache {
	return &SchemaCache{entries: max(entries, 1), bytes: maxCacheBytes, known: map[string]*list.Element{}}
}

type cachedSchema struct {
	digest   string
	once     sync.Once
	schema   *Schema
	problems Problems
	size     int
}

// Compile does the work of CompileSchema, once for each Digest. A schema with problems is
// not kept.
func (c *SchemaCache) Compile(v Value) (*Schema, Problems) {
	digest := Digest(v)
	element := c.enter(digest)
	cached := element.Value.(*cachedSchema)
	cached.once.Do(func() {
		// Should the compiler panic, waiting callers get this.
		cached.problems = Problems{{Code: CodeBadSchema, Severity: SeverityError, Message: "the schema could not be compiled"}}
		cached.schema, cached.problems = CompileSchema(v)
		c.settle(element)
	})
	return cached.schema, slices.Clone(cached.problems)
}

// Size counts the schemas that are kept, and estimates their memory in bytes.
func (c *SchemaCache) Size() (schemas, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.known), c.held
}

// enter returns the entry of a digest, which is then the one used last.
func (c *SchemaCache) enter(digest string) *list.Element {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.known[digest]; ok {
		c.byUse.MoveToFront(element)
		return element
	}
	element := c.byUse.PushFront(&cachedSchema{digest: digest})
	c.known[digest] = element
	c.evict(element)
	return element
}

// settle counts a schema that has been compiled, or drops it.
func (c *SchemaCache) settle(element *list.Element) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached := element.Value.(*cachedSchema)
	if c.known[cached.digest] != element {
		return // evicted in between
	}
	if cached.schema == nil {
		c.drop(element)
		return
	}
	cached.size = cached.schema.size
	c.held += cached.size
	c.evict(element)
}

// evict drops the least recently used schemas, but not keep, until the rest fits.
func (c *SchemaCache) evict(keep *list.Element) {
	for c.byUse.Len() > c.entries || c.held > c.bytes {
		last := c.byUse.Back()
		if last == keep {
			return
		}
		c.drop(last)
	}
}

func (c *SchemaCache) drop(element *list.Element) {
	cached := c.byUse.Remove(element).(*cachedSchema)
	delete(c.known, cached.digest)
	c.held -= cached.size
}
