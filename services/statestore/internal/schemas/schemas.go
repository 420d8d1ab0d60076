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
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
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
	// Staged is set for a version that only an application of its set makes live, and Before is then the one that is live
	// by the records.
	Staged bool  `json:"staged,omitempty"`
	Before int64 `json:"before,omitempty"`
	// Live and Retired are of the name, when the version was read.
	Live    int64               `json:"-"`
	Retired *catalog.Retirement `json:"-"`
}

// own returns the version that is live by the record alone, when this is the latest.
func (v *Schema) own() int64 {
	if v.Staged {
		return v.Before
	}
	return v.Number
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

// Registration is a request to register a schema.
type Registration struct {
	Name, Description string
	Text              []byte
	IdempotencyKey    string
	// Staged stores the version without making it live.
	Staged bool
}

// Register stores a schema as the next version of its name, and makes it live. The content of the
// live version again makes no change and answers created = false.
func (ss *Schemas) Register(ctx context.Context, caller ports.Caller, in Registration) (v *Schema, created bool, err error) {
	name := in.Name
	if err := ports.PlainName("name", name); err != nil {
		return nil, false, err
	}
	value, problems := document.ParseAll(in.Text, document.Limits{})
	if problems.HasErrors() {
		return nil, false, ports.BadJSON("json_schema", problems)
	}
	if _, problems := ss.compiler.Compile(value); problems.HasErrors() {
		return nil, false, ports.Violations(fault.New(fault.InvalidSchema, "the schema is not valid: %s", ports.First(problems)), "/json_schema", problems)
	}
	next := &Schema{
		Name: name, Text: in.Text, Description: in.Description, Digest: document.Digest(value), CreatedBy: caller.Principal.Name, Staged: in.Staged,
	}
	request := idempotency.Key{Name: in.IdempotencyKey, Digest: next.Digest}.By(caller.Principal)
	key := ledger.SchemaOf(caller.Namespace, name)
	if v, err := ss.registeredBefore(ctx, key, request); v != nil || err != nil {
		return v, true, err
	}
	err = retry.Run(ctx, "schema "+name, func() (err error) {
		v, created, err = ss.tryRegister(ctx, caller, key, next, request)
		return err
	})
	return v, created, err
}

// tryRegister makes the next version of a schema, unless the live one has its content, or it is staged and the latest has it.
func (ss *Schemas) tryRegister(ctx context.Context, caller ports.Caller, key store.Key, next *Schema, request idempotency.Key) (v *Schema, created bool, err error) {
	st, err := ss.standing(ctx, key)
	if err != nil {
		return nil, false, err
	}
	next.Number, next.Before = 1, 0
	if latest := st.latest; latest != nil {
		next.Number = latest.Number + 1
		switch {
		case st.live != nil && st.live.Digest == next.Digest && (next.Staged || latest.Retired == nil):
			return st.live, false, nil
		case next.Staged && latest.Digest == next.Digest:
			return latest, false, nil
		case next.Staged:
			next.Before = latest.own()
		}
	}
	if err := st.changeable(next); err != nil {
		return nil, false, err
	}
	repeat, err := ss.put(ctx, caller, st, next, request)
	switch {
	case err != nil:
		return nil, false, err
	case repeat != 0:
		v, err := ss.Get(ctx, key.Namespace, key.ID, repeat)
		return v, true, err
	}
	next.Live = next.Number
	if next.Staged {
		next.Live, next.Retired = st.liveNumber(), st.place.Retired
	}
	return next, true, nil
}

// registeredBefore returns the version that a repeat of a request made (S6.5).
func (ss *Schemas) registeredBefore(ctx context.Context, key store.Key, request idempotency.Key) (*Schema, error) {
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
func (ss *Schemas) put(ctx context.Context, caller ports.Caller, st *standing, v *Schema, request idempotency.Key) (repeat int64, err error) {
	key := st.key
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
	if !v.Staged { // no set is applied meanwhile
		batch.Checks = append(batch.Checks, store.Check{Key: catalog.Key(key.Namespace), Version: st.catalog.Version})
	}
	batch.Idempotency = request.KeepNumber(key, v.Number)
	result, err := ss.ports.Commit(ctx, caller.Principal, batch)
	switch {
	case err != nil:
		return 0, retry.Fault(err)
	case result.Replayed:
		return idempotency.ReadNumber(result.Answer)
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
	w.OptionalTruth("staged", v.Staged)
	w.OptionalInteger("before", v.Before)
	w.Close()
	return w.Bytes()
}

// Get returns one version, or with number 0 the live one.
func (ss *Schemas) Get(ctx context.Context, namespace, name string, number int64) (*Schema, error) {
	key := ledger.SchemaOf(namespace, name)
	st, err := ss.standing(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case number == 0:
		return st.present()
	case st.live != nil && st.live.Number == number:
		return st.live, nil
	}
	v, err := ss.version(ctx, key, number)
	if err == nil {
		v.Live, v.Retired = st.liveNumber(), st.place.Retired
	}
	return v, err
}

// version returns one version.
func (ss *Schemas) version(ctx context.Context, key store.Key, number int64) (*Schema, error) {
	entries, err := ss.ports.Store.History(ctx, key, number-1, 1)
	if err != nil {
		return nil, fault.From(err)
	}
	if len(entries) == 0 || entries[0].Version != number {
		return nil, fault.New(fault.NotFound, "schema %q has no version %d", key.ID, number)
	}
	return decode(entries[0].Data, number)
}

func (ss *Schemas) latest(ctx context.Context, key store.Key) (*Schema, error) {
	record, err := ss.ports.Store.Get(ctx, key)
	if ports.NotFound(err) {
		return nil, notRegistered(key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return decode(record.Data, record.Version)
}

func notRegistered(name string) error {
	return fault.New(fault.NotFound, "schema %q is not registered; register it first", name)
}

func decode(data []byte, number int64) (*Schema, error) {
	v := &Schema{Number: number}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fault.From(fmt.Errorf("decode schema: %w", err))
	}
	return v, nil
}

// List returns a page of schemas by name, each in its live version or else the latest.
func (ss *Schemas) List(ctx context.Context, namespace, after string, limit int) ([]*Schema, string, error) {
	page, err := ss.ports.Store.List(ctx, store.Query{Namespace: namespace, Kind: ledger.KindSchema, After: after, Limit: limit})
	if err != nil {
		return nil, "", fault.From(err)
	}
	c, err := catalog.Read(ctx, ss.ports.Store, namespace)
	if err != nil {
		return nil, "", err
	}
	versions := make([]*Schema, len(page.Records))
	for i, record := range page.Records {
		latest, err := decode(record.Data, record.Version)
		if err != nil {
			return nil, "", err
		}
		st := &standing{key: record.Key, catalog: c, latest: latest}
		if err := ss.place(ctx, st); err != nil {
			return nil, "", err
		}
		if versions[i] = st.latest; st.live != nil {
			versions[i] = st.live
		}
	}
	return versions, page.Next, nil
}

// Versions returns a page of the versions of one schema that are older than one,
// or of all for 0, newest first, and which the next page must be older than: 0 when
// there is none.
func (ss *Schemas) Versions(ctx context.Context, namespace, name string, before int64, limit int) ([]*Schema, int64, error) {
	key := ledger.SchemaOf(namespace, name)
	st, err := ss.standing(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	latest := st.latest
	if latest == nil {
		return nil, 0, notRegistered(name)
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
		v, err := decode(entry.Data, entry.Version)
		if err != nil {
			return nil, 0, err
		}
		v.Live, v.Retired = latest.Live, latest.Retired
		versions[len(entries)-1-i] = v
	}
	if oldest == 1 {
		return versions, 0, nil
	}
	return versions, oldest, nil
}

// ForNew returns the version for a new state, ready to use: for 0 the live one. A retired schema has none (S26.2).
func (ss *Schemas) ForNew(ctx context.Context, namespace, name string, number int64) (*Compiled, error) {
	st, err := ss.standing(ctx, ledger.SchemaOf(namespace, name))
	if err != nil {
		return nil, err
	}
	if r := st.place.Retired; r != nil {
		return nil, fault.New(fault.FailedPrecondition, "schema %s was retired by %s, because %s, so no state was created; apply a set that has it, or register it again",
			document.Quote(name), r.By, r.Reason)
	}
	if number == 0 {
		v, err := st.present()
		if err != nil {
			return nil, err
		}
		number = v.Number
	}
	return ss.Compile(ctx, namespace, name, number)
}

// Compile returns a version ready to use, or with number 0 the live one. Versions are immutable, so the cache is always
// right.
func (ss *Schemas) Compile(ctx context.Context, namespace, name string, number int64) (*Compiled, error) {
	var v *Schema
	var err error
	if number == 0 {
		if v, err = ss.Get(ctx, namespace, name, 0); err != nil {
			return nil, err
		}
		number = v.Number
	}
	key := versionKey{namespace, name, number}
	if c, ok := ss.cache.Get(key); ok {
		return c, nil
	}
	if v == nil {
		if v, err = ss.version(ctx, ledger.SchemaOf(namespace, name), number); err != nil {
			return nil, err
		}
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
