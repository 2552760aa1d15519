package pdf

import (
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
)

const (
	// maxPageAnnotations bounds the annotations of one page.
	maxPageAnnotations = 10_000
	// maxFieldValues bounds the remembered fields, so that a field that occurs several times is written once.
	maxFieldValues = 100_000
)

// openForm prepares the form environment that PDFium reads form values with, if there is a form. Scripts of forms do
// not run, because no page is reported as opened.
func (f *file) openForm() {
	form, err := f.FPDFDOC_InitFormFillEnvironment(&requests.FPDFDOC_InitFormFillEnvironment{
		Document: f.document,
		FormFillInfo: structs.FPDF_FORMFILLINFO{
			FFI_Invalidate:         func(references.FPDF_PAGE, float64, float64, float64, float64) {},
			FFI_SetCursor:          func(enums.FXCT) {},
			FFI_SetTimer:           func(int, func(int)) int { return 0 },
			FFI_KillTimer:          func(int) {},
			FFI_GetLocalTime:       func() (t structs.FPDF_SYSTEMTIME) { return t },
			FFI_GetPage:            func(references.FPDF_DOCUMENT, int) *references.FPDF_PAGE { return nil },
			FFI_GetRotation:        func(references.FPDF_PAGE) (r enums.FPDF_PAGE_ROTATION) { return r },
			FFI_ExecuteNamedAction: func(string) {},
		},
	})
	if err == nil {
		f.form, f.values = &form.FormHandle, map[string]bool{}
	}
}

// closeForm releases the memory of a form.
func (f *file) closeForm() {
	if f.form != nil {
		_, _ = f.FPDFDOC_ExitFormFillEnvironment(&requests.FPDFDOC_ExitFormFillEnvironment{FormHandle: *f.form}) // errors do not matter: the instance ends soon
		f.form = nil
	}
}

// annotations writes the annotations of a page: values of form fields, free text, notes and comments.
func (f *file) annotations(page requests.Page) error {
	count, err := f.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: page})
	if err != nil {
		return err
	}
	for i := range min(count.Count, maxPageAnnotations) {
		if f.b.Full() {
			return nil
		}
		annotation, err := f.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: page, Index: i})
		if err != nil {
			continue // the others may be intact
		}
		if text := f.annotation(annotation.Annotation); text != "" {
			f.b.Break()
			f.b.Write([]byte(text))
			f.b.Break()
		}
		_, _ = f.FPDFPage_CloseAnnot(&requests.FPDFPage_CloseAnnot{Annotation: annotation.Annotation}) // as above
	}
	return nil
}

// annotation returns the text of an annotation, "" if it has none or is hidden.
func (f *file) annotation(a references.FPDF_ANNOTATION) string {
	flags, err := f.FPDFAnnot_GetFlags(&requests.FPDFAnnot_GetFlags{Annotation: a})
	if err == nil && flags.Flags&(enums.FPDF_ANNOT_FLAG_HIDDEN|enums.FPDF_ANNOT_FLAG_NOVIEW) != 0 {
		return ""
	}
	kind, err := f.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: a})
	if err != nil {
		return ""
	}
	if kind.Subtype == enums.FPDF_ANNOT_SUBTYPE_WIDGET {
		return f.field(a)
	}
	if kind.Subtype == enums.FPDF_ANNOT_SUBTYPE_LINK || kind.Subtype == enums.FPDF_ANNOT_SUBTYPE_POPUP { // it repeats the text of another
		return ""
	}
	text, err := f.FPDFAnnot_GetStringValue(&requests.FPDFAnnot_GetStringValue{Annotation: a, Key: "Contents"})
	if err != nil {
		return ""
	}
	return text.Value
}

// field returns the value of a form field with a text value.
func (f *file) field(a references.FPDF_ANNOTATION) string {
	if f.form == nil {
		return ""
	}
	kind, err := f.FPDFAnnot_GetFormFieldType(&requests.FPDFAnnot_GetFormFieldType{FormHandle: *f.form, Annotation: a})
	if err != nil {
		return ""
	}
	if t := kind.FormFieldType; t != enums.FPDF_FORMFIELD_TYPE_TEXTFIELD && t != enums.FPDF_FORMFIELD_TYPE_COMBOBOX && t != enums.FPDF_FORMFIELD_TYPE_LISTBOX {
		return ""
	}
	value, err := f.FPDFAnnot_GetFormFieldValue(&requests.FPDFAnnot_GetFormFieldValue{FormHandle: *f.form, Annotation: a})
	if err != nil || f.values[value.FormFieldValue] {
		return ""
	}
	if len(f.values) < maxFieldValues {
		f.values[value.FormFieldValue] = true
	}
	return value.FormFieldValue
}
