package pgkv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/internal/testing/testpostgres"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// server is one for the tests that stop none.
var server = struct {
	sync.Once
	*testpostgres.Server
	err error
}{}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pgkv-") // outlives each test
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		panic(err)
	}
	if testpostgres.Programs() != "" {
		server.Server, server.err = testpostgres.New(dir, testpostgres.NoSync...)
	}
	code := m.Run()
	if server.Server != nil {
		_ = server.Close()
	}
	_ = os.RemoveAll(dir)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// dsn returns the connection string of the tests' server.
func dsn(t testing.TB) string {
	testpostgres.Need(t)
	if server.err != nil {
		t.Fatal(server.err)
	}
	return server.DSN()
}

// opener opens stores on a schema for each directory.
func opener(t *testing.T) storetest.Opener {
	var schemas sync.Map
	dsn := dsn(t)
	return func(t *testing.T, dir string) storetest.Store {
		schema, loaded := schemas.LoadOrStore(dir, schemaOf(t))
		if !loaded {
			if err := pgkv.Init(context.Background(), dsn, schema.(string)); err != nil {
				t.Fatal(err)
			}
		}
		o := pgkv.Options{DSN: dsn, Schema: schema.(string), Node: "a"}
		n, err := pgkv.Join(context.Background(), o) // stores close behind the test
		if err != nil {
			t.Fatal(err)
		}
		e := &pgkv.Engine{Node: n}
		s, err := store.On(e, dir, store.Options{})
		if err != nil {
			t.Fatal(errors.Join(err, e.Close()))
		}
		return verified{s, t}
	}
}

var schemas struct {
	sync.Mutex
	n int
}

// schemaOf returns the name of a new schema.
func schemaOf(testing.TB) string {
	schemas.Lock()
	defer schemas.Unlock()
	schemas.n++
	return fmt.Sprintf("crawl%d", schemas.n)
}

// verified is a store whose contents are checked as it closes.
type verified struct {
	*store.Store
	t *testing.T
}

func (v verified) Close() error {
	err := v.Store.Close()
	if errors.Is(err, scheduler.ErrClosed) {
		return nil
	}
	return err
}

func TestConformance(t *testing.T) { storetest.Run(t, opener(t)) }

func TestModel(t *testing.T) { storetest.Model(t, opener(t)) }

// query returns the one value that a statement selects.
func query[T any](t testing.TB, schema, statement string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn(t)+" search_path="+schema)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), statement, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return v
}
