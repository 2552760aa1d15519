package console

// inner is what a part of a template sees: some data, and the page's view.
type inner struct {
	View *view
	Data any
}

// Inner puts data and view together, for a part that needs both.
func (v *view) Inner(data any) inner { return inner{v, data} }
