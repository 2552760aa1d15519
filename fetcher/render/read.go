package render

import (
	"context"
	_ "embed"
	"encoding/json"
)

//go:embed snapshot.js
var snapshotScript string

// maxText bounds the text read from a page, in UTF-16 units.
const maxText = 10 << 20

// scriptError is an error of one of our own scripts.
type scriptError struct{ words string }

func (e *scriptError) Error() string { return e.words }

// evaluate runs an expression in a world isolated from the page's scripts, which cannot change its built-ins, and
// awaits a promise.
func (t *tab) evaluate(ctx context.Context, expression string, out any) error {
	var world struct {
		ID int `json:"executionContextId"`
	}
	if err := t.browser.pipe.call(ctx, t.session, "Page.createIsolatedWorld", object{"frameId": t.frame, "worldName": "sextant"}, &world); err != nil {
		return err
	}
	var got struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Thrown struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := t.browser.pipe.call(ctx, t.session, "Runtime.evaluate",
		object{"expression": expression, "contextId": world.ID, "returnByValue": true, "awaitPromise": true}, &got); err != nil {
		return err
	}
	if got.Exception != nil {
		return &scriptError{got.Exception.Thrown.Description}
	}
	return json.Unmarshal(got.Result.Value, out)
}

// read reads the page's present state.
func (t *tab) read(ctx context.Context, out *Rendered) error {
	t.mu.Lock()
	err := t.failed
	t.mu.Unlock()
	if err != nil {
		return err
	}
	var got struct {
		HTML string `json:"html"`
		Cut  bool   `json:"cut"`
	}
	arguments, err := json.Marshal([]any{t.page.URL, maxText})
	if err != nil {
		return err
	}
	if err := t.evaluate(ctx, "("+snapshotScript+")(..."+string(arguments)+")", &got); err != nil {
		return err
	}
	out.HTML, out.Cut = []byte(got.HTML), got.Cut
	return nil
}
