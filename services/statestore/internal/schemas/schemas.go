// Package schemas registers JSON Schemas, and compiles their versions.
package schemas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Announcer turns a new version into the event that is committed with it.
type Announcer interface {
	SchemaEvent(namespace, actor string, v *Schema) (store.Event, error)
}

// Schemas registers schemas, and compiles them.
type Schemas struct {
	ports    *ports.Ports
	announce Announcer
	compiler *document.SchemaCache
	cache    *snapshot.Cache[versionKey, *Compiled]
}

// cacheBytes bounds the memory of the compiled schemas that are kept.
const cacheBytes = 128 << 20

// New returns the schemas of a store.
func New(p *ports.Ports, announce Announcer) *Schemas {
	ss := &Schemas{
		ports: p, announce: announce, compiler: document.NewSchemaCache(1024), cache: snapshot.New[versionKey, *Compiled](cacheBytes),
	}
	p.Store.Gate().OnTurn(ss.cache.Clear)
	return ss
}

// Caches returns the caches in memory.
func (ss *Schemas) Caches() []snapshot.Use {
	return []snapshot.Use{ss.cache.UseBytes("state_schemas"), {Name: "state_compiled_schemas", Bytes: true, Of: ss.compiler.Size}}
}

// Schema is one immutable version of a JSON Schema (S10.1). Its number is the
// version of its record, so it can neither skip nor be given twice.
type Schema struct {
	ID          string          `json:"schema_id"`
	Name        string          `json:"name"`
	Number      int64           `json:"-"`
	Text        json.RawMessage `json:"json_schema"`
	Description string          `json:"description,omitempty"`
	Digest      string          `json:"digest"`
	CreatedAt   time.Time       `json:"created_at"`
	CreatedBy   string          `json:"created_by"`
}

// Compiled is a schema version, ready to use.
type Compiled struct {
	*Schema
	Rules *document.Schema
}

type versionKey struct {
	namespace, name string
	version         int64
}

func keyOf(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kind, ID: name}
}

// Register stores a schema as the next version of its name. The content of the
// latest version again makes no change and answers created = false.
func (ss *Schemas) Register(
	ctx context.Context, caller ports.Caller, name, description string, src []byte, idempotencyKey string,
) (v *Schema, created bool, err error) {
	if err := ports.PlainName("name", name); err != nil {
		return nil, false, err
	}
	value, problems := document.ParseAll(src, document.Limits{})
	if problems.HasErrors() {
		return nil, false, ports.BadJSON("json_schema", problems)
	}
	if _, problems := ss.compiler.Compile(value); problems.HasErrors() {
		return nil, false, ports.Violations(fault.New(fault.InvalidSchema, "the schema is not valid: %s", ports.First(problems)), "/json_schema", problems)
	}
	next := &Schema{
		Name: name, Text: src, Description: description, Digest: document.Digest(value), CreatedBy: caller.Principal.Name,
	}
	request := once.Key{Name: idempotencyKey, Digest: next.Digest}.By(caller.Principal)
	key := keyOf(caller.Namespace, name)
	if v, err := ss.registeredBefore(ctx, key, request); v != nil || err != nil {
		return v, true, err
	}
	err = retry.Run(ctx, "schema "+name, func() (err error) {
		v, created, err = ss.tryRegister(ctx, caller, key, next, request)
		return err
	})
	return v, created, err
}

// tryRegister makes the next version of a schema, unless it is the same as the latest.
func (ss *Schemas) tryRegister(ctx context.Context, caller ports.Caller, key store.Key, next *Schema, request once.Key) (v *Schema, created bool, err error) {
	latest, err := ss.latest(ctx, key)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		next.Number = 1
	case err != nil:
		return nil, false, err
	case latest.Digest == next.Digest:
		return latest, false, nil
	default:
		next.Number = latest.Number + 1
	}
	repeat, err := ss.put(ctx, caller, key, next, request)
	switch {
	case err != nil:
		return nil, false, err
	case repeat != 0:
		v, err := ss.Get(ctx, key.Namespace, key.ID, repeat)
		return v, true, err
	default:
		return next, true, nil
	}
}

// registeredBefore returns the version that a repeat of a request made (S6.5).
func (ss *Schemas) registeredBefore(ctx context.Context, key store.Key, request once.Key) (*Schema, error) {
	number, err := request.Number(ctx, ss.ports.Store, key)
	if number == 0 || err != nil {
		return nil, err
	}
	v, err := ss.Get(ctx, key.Namespace, key.ID, number)
	if err != nil {
		return nil, err
	}
	return v, request.Same(key, v.Digest)
}

// put commits the next version. Where the same request was carried out
// in the meantime it returns the version that made.
func (ss *Schemas) put(ctx context.Context, caller ports.Caller, key store.Key, v *Schema, request once.Key) (repeat int64, err error) {
	v.ID, v.CreatedAt = typeid.New(typeid.Schema), ss.ports.Now()
	event, err := ss.announce.SchemaEvent(caller.Namespace, caller.Principal.Name, v)
	if err != nil {
		return 0, fault.From(err)
	}
	data := v.encode()
	batch := store.Batch{
		Puts:   []store.Put{{Key: key, Expect: v.Number - 1, Data: data, History: data}},
		Events: []store.Event{event},
	}
	batch.Idempotency = request.KeepNumber(key, v.Number)
	result, err := ss.ports.Store.Commit(ctx, batch)
	switch {
	case err != nil:
		return 0, retry.Fault(err)
	case result.Replayed:
		return once.ReadNumber(result.Answer)
	}
	return 0, nil
}

// encode writes the record of a version, with the schema exactly as it was
// registered.
func (v *Schema) encode() []byte {
	w := jsonobject.New(len(v.Text) + len(v.Description) + 512)
	w.Open()
	w.Text("schema_id", v.ID)
	w.Text("name", v.Name)
	w.Raw("json_schema", v.Text)
	w.OptionalText("description", v.Description)
	w.Text("digest", v.Digest)
	w.Time("created_at", v.CreatedAt)
	w.Text("created_by", v.CreatedBy)
	w.Close()
	return w.Bytes()
}

// Get returns one version, or with number 0 the latest.
func (ss *Schemas) Get(ctx context.Context, namespace, name string, number int64) (*Schema, error) {
	key := keyOf(namespace, name)
	if number == 0 {
		return ss.latest(ctx, key)
	}
	entries, err := ss.ports.Store.History(ctx, key, number-1, 1)
	if err != nil {
		return nil, fault.From(err)
	}
	if len(entries) == 0 || entries[0].Version != number {
		return nil, fault.New(fault.NotFound, "schema %q has no version %d", name, number)
	}
	return decode(entries[0].Data, number)
}

func (ss *Schemas) latest(ctx context.Context, key store.Key) (*Schema, error) {
	record, err := ss.ports.Store.Get(ctx, key)
	if ports.NotFound(err) {
		return nil, fault.New(fault.NotFound, "schema %q is not registered; register it first", key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return decode(record.Data, record.Version)
}

func decode(data []byte, number int64) (*Schema, error) {
	v := &Schema{Number: number}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fault.From(fmt.Errorf("decode schema: %w", err))
	}
	return v, nil
}

// List returns a page of latest versions by name.
func (ss *Schemas) List(ctx context.Context, namespace, after string, limit int) ([]*Schema, string, error) {
	page, err := ss.ports.Store.List(ctx, store.Query{Namespace: namespace, Kind: kind, After: after, Limit: limit})
	if err != nil {
		return nil, "", fault.From(err)
	}
	versions := make([]*Schema, len(page.Records))
	for i, record := range page.Records {
		if versions[i], err = decode(record.Data, record.Version); err != nil {
			return nil, "", err
		}
	}
	return versions, page.Next, nil
}

// Versions returns a page of the versions of one schema that are older than one,
// or of all for 0, newest first, and which the next page must be older than: 0 when
// there is none.
func (ss *Schemas) Versions(ctx context.Context, namespace, name string, before int64, limit int) ([]*Schema, int64, error) {
	key := keyOf(namespace, name)
	latest, err := ss.latest(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	if before == 0 || before > latest.Number {
		before = latest.Number + 1
	}
	if before == 1 {
		return nil, 0, nil
	}
	oldest := max(before-int64(limit), 1)
	entries, err := ss.ports.Store.History(ctx, key, oldest-1, int(before-oldest))
	if err != nil {
		return nil, 0, fault.From(err)
	}
	versions := make([]*Schema, len(entries))
	for i, entry := range entries {
		if versions[len(entries)-1-i], err = decode(entry.Data, entry.Version); err != nil {
			return nil, 0, err
		}
	}
	if oldest == 1 {
		return versions, 0, nil
	}
	return versions, oldest, nil
}

// Compile returns a version ready to use. Versions are immutable, so the cache is
// always right.
func (ss *Schemas) Compile(ctx context.Context, namespace, name string, number int64) (*Compiled, error) {
	if number != 0 {
		if c, ok := ss.cache.Get(versionKey{namespace, name, number}); ok {
			return c, nil
		}
	}
	v, err := ss.Get(ctx, namespace, name, number)
	if err != nil {
		return nil, err
	}
	key := versionKey{namespace, name, v.Number}
	if c, ok := ss.cache.Get(key); ok {
		return c, nil
	}
	value, problem := document.Parse(v.Text, document.Limits{})
	if problem != nil {
		return nil, fault.From(fmt.Errorf("schema %s version %d: %w", name, v.Number, errors.New(problem.Message)))
	}
	rules, problems := ss.compiler.Compile(value)
	if problems.HasErrors() {
		// It was valid when it was registered: a validator that has grown stricter must
		// not guess the old meaning.
		return nil, ports.Violations(fault.New(fault.InvalidSchema, "schema %q version %d: %s", name, v.Number, ports.First(problems)), "/json_schema", problems)
	}
	c := &Compiled{Schema: v, Rules: rules}
	ss.cache.PutSized(key, c, definition.Memory(v.Text), nil)
	return c, nil
}

// kind is the kind of the records of schemas.
const kind = "schema"
