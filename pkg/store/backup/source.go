package backup

// Source is what a store is restored from.
type Source interface {
	// About tells what the store was.
	About() (Head, Tail)
	// Each yields all items in their order.
	Each(yield func(Item) error) error
}

var _ Source = (*File)(nil)

// About returns the header and the trailer.
func (f *File) About() (Head, Tail) { return f.Head, f.Tail }
