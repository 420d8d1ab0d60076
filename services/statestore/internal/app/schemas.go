package app

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
)

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

// compiled is a schema version, ready to use.
type compiled struct {
	*Schema
	rules *document.Schema
}

type schemaKey struct {
	namespace, name string
	version         int64
}

func schemaRecord(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindSchema, ID: name}
}

// RegisterSchema stores a schema as the next version of its name. The content of the
// latest version again makes no change and answers created = false.
func (a *App) RegisterSchema(
	ctx context.Context, caller Caller, name, description string, src []byte, idempotencyKey string,
) (v *Schema, created bool, err error) {
	if err := plainName("name", name); err != nil {
		return nil, false, err
	}
	value, problems := document.ParseAll(src, document.Limits{})
	if problems.HasErrors() {
		return nil, false, badJSON("json_schema", problems)
	}
	if _, problems := a.compiler.Compile(value); problems.HasErrors() {
		return nil, false, violations(fault.New(fault.InvalidSchema, "the schema is not valid: %s", first(problems)), "/json_schema", problems)
	}
	next := &Schema{
		Name: name, Text: src, Description: description, Digest: document.Digest(value), CreatedBy: caller.Principal.Name,
	}
	request := once.Key{Name: idempotencyKey, Digest: next.Digest}.By(caller.Principal)
	key := schemaRecord(caller.Namespace, name)
	if v, err := a.registeredBefore(ctx, key, request); v != nil || err != nil {
		return v, true, err
	}
	err = retry.Run(ctx, "schema "+name, func() (err error) {
		v, created, err = a.tryRegister(ctx, caller, key, next, request)
		return err
	})
	return v, created, err
}

// tryRegister makes the next version of a schema, unless it is the same as the latest.
func (a *App) tryRegister(ctx context.Context, caller Caller, key store.Key, next *Schema, request once.Key) (v *Schema, created bool, err error) {
	latest, err := a.latestSchema(ctx, key)
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
	repeat, err := a.putSchema(ctx, caller, key, next, request)
	switch {
	case err != nil:
		return nil, false, err
	case repeat != 0:
		v, err := a.Schema(ctx, key.Namespace, key.ID, repeat)
		return v, true, err
	default:
		return next, true, nil
	}
}

// registeredBefore returns the version that a repeat of a request made (S6.5).
func (a *App) registeredBefore(ctx context.Context, key store.Key, request once.Key) (*Schema, error) {
	number, err := request.Number(ctx, a.store, key)
	if number == 0 || err != nil {
		return nil, err
	}
	v, err := a.Schema(ctx, key.Namespace, key.ID, number)
	if err != nil {
		return nil, err
	}
	return v, request.Same(key, v.Digest)
}

// putSchema commits the next version. Where the same request was carried out
// in the meantime it returns the version that made.
func (a *App) putSchema(ctx context.Context, caller Caller, key store.Key, v *Schema, request once.Key) (repeat int64, err error) {
	v.ID, v.CreatedAt = typeid.New(typeid.Schema), a.now()
	event, err := a.announce.SchemaEvent(caller.Namespace, caller.Principal.Name, v)
	if err != nil {
		return 0, fault.From(err)
	}
	data := v.encode()
	batch := store.Batch{
		Puts:   []store.Put{{Key: key, Expect: v.Number - 1, Data: data, History: data}},
		Events: []store.Event{event},
	}
	batch.Idempotency = request.KeepNumber(key, v.Number)
	result, err := a.store.Commit(ctx, batch)
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

// Schema returns one version, or with number 0 the latest.
func (a *App) Schema(ctx context.Context, namespace, name string, number int64) (*Schema, error) {
	key := schemaRecord(namespace, name)
	if number == 0 {
		return a.latestSchema(ctx, key)
	}
	entries, err := a.store.History(ctx, key, number-1, 1)
	if err != nil {
		return nil, fault.From(err)
	}
	if len(entries) == 0 || entries[0].Version != number {
		return nil, fault.New(fault.NotFound, "schema %q has no version %d", name, number)
	}
	return decodeSchema(entries[0].Data, number)
}

func (a *App) latestSchema(ctx context.Context, key store.Key) (*Schema, error) {
	record, err := a.store.Get(ctx, key)
	if notFound(err) {
		return nil, fault.New(fault.NotFound, "schema %q is not registered; register it first", key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return decodeSchema(record.Data, record.Version)
}

func decodeSchema(data []byte, number int64) (*Schema, error) {
	v := &Schema{Number: number}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fault.From(fmt.Errorf("decode schema: %w", err))
	}
	return v, nil
}

// Schemas returns a page of latest versions by name.
func (a *App) Schemas(ctx context.Context, namespace, after string, limit int) ([]*Schema, string, error) {
	page, err := a.store.List(ctx, store.Query{Namespace: namespace, Kind: kindSchema, After: after, Limit: limit})
	if err != nil {
		return nil, "", fault.From(err)
	}
	versions := make([]*Schema, len(page.Records))
	for i, record := range page.Records {
		if versions[i], err = decodeSchema(record.Data, record.Version); err != nil {
			return nil, "", err
		}
	}
	return versions, page.Next, nil
}

// SchemaVersions returns a page of the versions of one schema that are older than one,
// or of all for 0, newest first, and which the next page must be older than: 0 when
// there is none.
func (a *App) SchemaVersions(ctx context.Context, namespace, name string, before int64, limit int) ([]*Schema, int64, error) {
	key := schemaRecord(namespace, name)
	latest, err := a.latestSchema(ctx, key)
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
	entries, err := a.store.History(ctx, key, oldest-1, int(before-oldest))
	if err != nil {
		return nil, 0, fault.From(err)
	}
	versions := make([]*Schema, len(entries))
	for i, entry := range entries {
		if versions[len(entries)-1-i], err = decodeSchema(entry.Data, entry.Version); err != nil {
			return nil, 0, err
		}
	}
	if oldest == 1 {
		return versions, 0, nil
	}
	return versions, oldest, nil
}

// compile returns a version ready to use. Versions are immutable, so the cache is
// always right.
func (a *App) compile(ctx context.Context, namespace, name string, number int64) (*compiled, error) {
	if number != 0 {
		if c, ok := a.schemas.Get(schemaKey{namespace, name, number}); ok {
			return c, nil
		}
	}
	v, err := a.Schema(ctx, namespace, name, number)
	if err != nil {
		return nil, err
	}
	key := schemaKey{namespace, name, v.Number}
	if c, ok := a.schemas.Get(key); ok {
		return c, nil
	}
	value, problem := document.Parse(v.Text, document.Limits{})
	if problem != nil {
		return nil, fault.From(fmt.Errorf("schema %s version %d: %w", name, v.Number, errors.New(problem.Message)))
	}
	rules, problems := a.compiler.Compile(value)
	if problems.HasErrors() {
		// It was valid when it was registered: a validator that has grown stricter must
		// not guess the old meaning.
		return nil, violations(fault.New(fault.InvalidSchema, "schema %q version %d: %s", name, v.Number, first(problems)), "/json_schema", problems)
	}
	c := &compiled{Schema: v, rules: rules}
	a.schemas.PutSized(key, c, definition.Memory(v.Text), nil)
	return c, nil
}
