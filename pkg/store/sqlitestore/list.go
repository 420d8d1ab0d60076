package sqlitestore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
)

// Bounds of a page, see store.Query.
const (
	minPage = 1
	maxPage = 1000
)

// List returns a page of records, see store.Store.
func (s *Store) List(ctx context.Context, query store.Query) (store.Page, error) {
	const doing = "listing records"
	if err := s.usable(ctx); err != nil {
		return store.Page{}, err
	}
	if query.Limit < minPage || query.Limit > maxPage {
		return store.Page{}, fmt.Errorf("sqlitestore: a page of %d records: ask for %d to %d", query.Limit, minPage, maxPage)
	}
	if err := validate(store.Key{Namespace: query.Namespace, Kind: query.Kind}); err != nil {
		return store.Page{}, err
	}
	text, args := listQuery(query)
	rows, err := s.readers.QueryContext(ctx, text, args...)
	if err != nil {
		return store.Page{}, s.readError(ctx, doing, err)
	}
	defer rows.Close() // rows.Err reports failures
	var page store.Page
	for rows.Next() {
		var key string
		record, err := scanRecord(rows, &key)
		if err != nil {
			return store.Page{}, s.readError(ctx, doing, err)
		}
		// One more was asked for, to know whether there is a next page.
		if len(page.Records) == query.Limit {
			page.Next = page.Records[query.Limit-1].Key.ID
			break
		}
		record.Key = decodeKey(key)
		page.Records = append(page.Records, record)
	}
	if err := rows.Err(); err != nil {
		return store.Page{}, s.readError(ctx, doing, err)
	}
	return page, nil
}

// listQuery returns the query for one record more than a page.
func listQuery(query store.Query) (text string, args []any) {
	scope := scope(query.Namespace, query.Kind)
	order, beyond := "ASC", " > ?"
	if query.Descending {
		order, beyond = "DESC", " < ?"
	}
	if len(query.Labels) == 0 {
		from, to := scope+query.After, scopeEnd(scope)
		if query.Descending && query.After != "" {
			from, to = scope, from
		}
		return "SELECT version, labels, updated, data, key FROM records WHERE key > ? AND key < ? ORDER BY key " + order + " LIMIT ?",
			[]any{from, to, query.Limit + 1}
	}
	// The ids of the first label come in order from the index; the others are
	// looked up for each.
	var b strings.Builder
	b.WriteString("SELECT r.version, r.labels, r.updated, r.data, r.key FROM labels l CROSS JOIN records r ON r.row = l.row " +
		"WHERE l.scope = ? AND l.name = ? AND l.value = ?")
	names := slices.Sorted(maps.Keys(query.Labels))
	args = []any{scope, []byte(names[0]), []byte(query.Labels[names[0]])}
	if query.After != "" {
		b.WriteString(" AND l.id" + beyond)
		args = append(args, query.After)
	}
	for _, name := range names[1:] {
		b.WriteString(" AND EXISTS (SELECT 1 FROM labels m WHERE m.scope = l.scope AND m.name = ? AND m.value = ? AND m.id = l.id)")
		args = append(args, []byte(name), []byte(query.Labels[name]))
	}
	b.WriteString(" ORDER BY l.id " + order + " LIMIT ?")
	return b.String(), append(args, query.Limit+1)
}
