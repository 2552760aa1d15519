package pgkv

import "context"

// Reader is an Engine that only reads, beside the node that writes. It needs no more rights than SELECT.
type Reader struct{ Engine }

// Read opens a Reader of part 0. The end of ctx ends all waits for the database.
func Read(ctx context.Context, dsn, schema string) (*Reader, error) {
	n := &Node{o: Options{DSN: dsn, Schema: schema, Node: "reader"}, ctx: ctx, mark: &mark{}}
	err := n.open()
	if err != nil {
		return nil, err
	}
	err = initialised(ctx, n.pool, schema)
	if err == nil {
		err = n.countBefore(ctx)
	}
	if err != nil {
		n.pool.Close()
		return nil, err
	}
	return &Reader{Engine{Node: n}}, nil
}

// Close implements kv.Engine.
func (r *Reader) Close() error {
	r.pool.Close()
	return nil
}

// Clear removes everything of the part, so that a store can be restored into it.
func (e *Engine) Clear() error {
	for _, table := range []string{"kv", "body"} {
		if err := e.write("DELETE FROM "+table+" WHERE part = $3 AND EXISTS (SELECT FROM n)", e.Part); err != nil {
			return err
		}
	}
	return nil
}
