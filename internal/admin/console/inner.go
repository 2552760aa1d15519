package console

// inner is the data of a part of a template, with the page's view.
type inner struct {
	View *view
	Data any
}

// Inner returns data and view together, for a part that needs both.
func (v *view) Inner(data any) inner { return inner{v, data} }
