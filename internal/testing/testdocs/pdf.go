package testdocs

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the format asks for it
	"crypto/rc4" //nolint:gosec // the same
	"encoding/hex"
	"fmt"
	"strings"
)

// PDFFile is what a PDF is made of. Pages are their texts, in ASCII.
type PDFFile struct {
	Content
	Pages []string
	// Annots are the dictionaries of annotations on the first page; widgets are fields of
	// the document's form, too.
	Annots []string
	// Password, if set, is asked for by readers.
	Password string
	// NoXref leaves out the table of where objects are, as a damaged file does.
	NoXref bool
}

// PDF makes a file of PDF 1.4.
func PDF(f PDFFile) []byte {
	p := &pdfWriter{}
	p.b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	const catalog, pages, font, info, annot, encrypt, first = 1, 2, 3, 4, 5, 6, 7
	id := bytes.Repeat([]byte{0x5a}, 16)
	var o []byte
	if f.Password != "" {
		var u []byte
		o, u, p.key = passwords(f.Password, id)
		p.object(encrypt, fmt.Sprintf("<< /Filter /Standard /V 1 /R 2 /O <%x> /U <%x> /P -4 >>", o, u))
	} else {
		p.object(encrypt, "null")
	}
	var kids strings.Builder
	for i, text := range f.Pages {
		page, content := first+2*i, first+2*i+1
		fmt.Fprintf(&kids, "%d 0 R ", page)
		annots := ""
		if i == 0 {
			annots = p.annots(f, annot, first+2*len(f.Pages))
		}
		p.object(page, fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 %d 0 R >> >> /Contents %d 0 R%s >>",
			pages, font, content, annots))
		p.stream(content, "BT /F1 12 Tf 72 720 Td ("+escape(text)+") Tj ET")
	}
	p.object(catalog, fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R /Lang %s%s >>", pages, p.text(catalog, "en-GB"), p.form))
	p.object(pages, fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(f.Pages)))
	p.object(font, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	p.object(info, fmt.Sprintf("<< /Title %s /Author %s /Subject %s /Keywords %s /CreationDate %s /ModDate %s >>", p.text(info, f.Title), p.text(info, f.Author),
		p.text(info, "Harbours"), p.text(info, "tide, quay"), p.text(info, "D:20260102030405Z"), p.text(info, "D:20260203050506+01'00'")))
	p.object(annot, fmt.Sprintf("<< /Type /Annot /Subtype /Link /Rect [72 700 200 730] /A << /S /URI /URI %s >> >>", p.text(annot, f.Link)))
	return p.end(f, catalog, info, encrypt, id)
}

type pdfWriter struct {
	b    bytes.Buffer
	at   []int // offsets by number
	key  []byte
	form string // of the catalog
}

// annots writes the annotations of the first page, and says where they are.
func (p *pdfWriter) annots(f PDFFile, link, first int) string {
	var all, fields string
	if f.Link != "" {
		all = fmt.Sprintf("%d 0 R ", link)
	}
	for i, a := range f.Annots {
		p.object(first+i, a)
		all += fmt.Sprintf("%d 0 R ", first+i)
		if strings.Contains(a, "/Widget") {
			fields += fmt.Sprintf("%d 0 R ", first+i)
		}
	}
	if fields != "" {
		p.form = " /AcroForm << /Fields [" + fields + "] >>"
	}
	if all == "" {
		return ""
	}
	return " /Annots [" + all + "]"
}

func (p *pdfWriter) object(n int, body string) {
	for len(p.at) <= n {
		p.at = append(p.at, 0)
	}
	p.at[n] = p.b.Len()
	fmt.Fprintf(&p.b, "%d 0 obj\n%s\nendobj\n", n, body)
}

func (p *pdfWriter) stream(n int, data string) {
	data = string(p.encrypt(n, []byte(data)))
	p.object(n, fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(data), data))
}

// text returns a string of the object n.
func (p *pdfWriter) text(n int, s string) string {
	return "<" + hex.EncodeToString(p.encrypt(n, []byte(s))) + ">"
}

func (p *pdfWriter) encrypt(n int, data []byte) []byte {
	if p.key == nil {
		return data
	}
	sum := md5.Sum(append(p.key[:len(p.key):len(p.key)], byte(n), byte(n>>8), byte(n>>16), 0, 0)) //nolint:gosec // the format's own
	return crypt(sum[:len(p.key)+5], data)
}

func (p *pdfWriter) end(f PDFFile, catalog, info, encrypt int, id []byte) []byte {
	start := p.b.Len()
	if !f.NoXref {
		fmt.Fprintf(&p.b, "xref\n0 %d\n0000000000 65535 f \n", len(p.at))
		for _, at := range p.at[1:] {
			fmt.Fprintf(&p.b, "%010d 00000 n \n", at)
		}
	}
	protected := ""
	if f.Password != "" {
		protected = fmt.Sprintf(" /Encrypt %d 0 R", encrypt)
	}
	fmt.Fprintf(&p.b, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R /ID [<%x> <%x>]%s >>\nstartxref\n%d\n%%%%EOF\n",
		len(p.at), catalog, info, id, id, protected, start)
	return p.b.Bytes()
}

func escape(s string) string { return strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(s) }

// passwords makes the entries O and U and the key of revision 2 (ISO 32000-1 section
// 7.6.3), with one password for owner and user.
func passwords(password string, id []byte) (o, u, key []byte) {
	pad := []byte("\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a")
	padded := append([]byte(password), pad...)[:32]
	sum := md5.Sum(padded) //nolint:gosec // the format's own
	o = crypt(sum[:5], padded)
	sum = md5.Sum(bytes.Join([][]byte{padded, o, {0xfc, 0xff, 0xff, 0xff}, id}, nil)) //nolint:gosec // the same
	key = append(key, sum[:5]...)
	return o, crypt(key, pad), key
}

func crypt(key, data []byte) []byte {
	c, err := rc4.NewCipher(key) //nolint:gosec // the format's own
	must(err)
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}
