// Package document gets the text out of documents. Their formats are large and the files may be hostile, so nothing but the
// command `handrail extract` calls Extract, in a sandbox of its own that reads standard input and writes standard output.
package document

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ledongthuc/pdf"
	"github.com/xuri/excelize/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// Page is a part of a document: a page, a sheet, a slide or a chapter, counted from 1.
type Page struct {
	Number int    `json:"page"`
	Text   string `json:"text"`
}

// kinds are the formats, by the ending of a file's name.
var kinds = map[string]func(in *bytes.Reader) ([]Page, error){
	"pdf": fromPDF, "docx": fromWord, "pptx": fromSlides, "xlsx": fromSheets, "epub": fromBook, "rtf": fromRTF, "html": fromHTML, "htm": fromHTML, "xhtml": fromHTML,
}

// Kind gives the kind of a document by its file's name; "" for what is no document, such as a text.
func Kind(name string) string {
	end := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if kinds[end] == nil {
		return ""
	}
	return end
}

// What is read of a document and given of it at most, in bytes.
const (
	MaxInput = 128 << 20
	MaxText  = 16 << 20
)

// Extract reads a document of a kind and gives its text, cut at MaxText. A document that is broken gives an error, or the pages
// that can be read.
func Extract(kind string, in io.Reader) (pages []Page, err error) {
	read := kinds[kind]
	if read == nil {
		return nil, fmt.Errorf("there is no kind of document %q", kind)
	}
	raw, err := io.ReadAll(io.LimitReader(in, MaxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading the document: %w", err)
	}
	if len(raw) > MaxInput {
		return nil, fmt.Errorf("the document has more than %d bytes", MaxInput)
	}
	defer func() {
		if r := recover(); r != nil { // package pdf panics on broken files
			err = fmt.Errorf("reading the document: %v", r)
		}
		if err != nil {
			err = fmt.Errorf("reading a document of kind %s: %w", kind, err)
		}
	}()
	pages, err = read(bytes.NewReader(raw))
	left := MaxText
	for i := range pages {
		p := &pages[i]
		p.Text = strings.ToValidUTF8(p.Text, "")
		if len(p.Text) > left {
			p.Text = strings.ToValidUTF8(p.Text[:left], "")
		}
		left -= len(p.Text)
	}
	return slices.DeleteFunc(pages, func(p Page) bool { return strings.TrimSpace(p.Text) == "" }), err
}

func fromPDF(in *bytes.Reader) ([]Page, error) {
	r, err := pdf.NewReader(in, in.Size())
	if err != nil {
		return nil, err
	}
	var pages []Page
	size := 0
	for n := 1; n <= r.NumPage() && size < MaxText; n++ {
		text := pdfPage(r, n)
		size += len(text)
		pages = append(pages, Page{n, text})
	}
	return pages, nil
}

// pdfPage gives a page line by line; a page that can't be read is empty.
func pdfPage(r *pdf.Reader, n int) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	p := r.Page(n)
	if p.V.IsNull() {
		return ""
	}
	text, err := p.GetPlainText(nil)
	if err != nil {
		return ""
	}
	return text
}

// unzip opens a part of a package. Its size on paper isn't believed.
func unzip(z *zip.Reader, name string) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 4*MaxText))
}

// fromXML gives the text of a part: what stands in elements named text, and a line for each element named block.
func fromXML(raw []byte, text, block map[string]bool) (string, error) {
	var b strings.Builder
	d := xml.NewDecoder(bytes.NewReader(raw))
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	in := 0
	for b.Len() < MaxText {
		t, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return b.String(), err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch {
			case text[t.Name.Local]:
				in++
			case t.Name.Local == "tab", t.Name.Local == "br":
				b.WriteByte(' ')
			}
		case xml.EndElement:
			if text[t.Name.Local] {
				in--
			}
			if block[t.Name.Local] {
				b.WriteByte('\n')
			}
		case xml.CharData:
			if in > 0 {
				b.Write(t)
			}
		}
	}
	return b.String(), nil
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool)
	for _, n := range names {
		m[n] = true
	}
	return m
}

// fromWord reads WordprocessingML (ECMA-376, part 1, 17).
func fromWord(in *bytes.Reader) ([]Page, error) {
	z, err := zip.NewReader(in, in.Size())
	if err != nil {
		return nil, err
	}
	var all strings.Builder
	for _, name := range []string{"word/document.xml", "word/footnotes.xml", "word/endnotes.xml", "word/comments.xml"} {
		raw, err := unzip(z, name)
		if err != nil {
			if name == "word/document.xml" {
				return nil, err
			}
			continue
		}
		text, err := fromXML(raw, set("t"), set("p"))
		all.WriteString(text)
		if err != nil {
			return []Page{{1, all.String()}}, err
		}
	}
	return []Page{{1, all.String()}}, nil
}

var slide = regexp.MustCompile(`^ppt/(?:slides/slide|notesSlides/notesSlide)(\d+)\.xml$`)

// fromSlides reads PresentationML (ECMA-376, part 1, 19); notes stand with the slide of the same number.
func fromSlides(in *bytes.Reader) ([]Page, error) {
	z, err := zip.NewReader(in, in.Size())
	if err != nil {
		return nil, err
	}
	texts := make(map[int]string)
	for _, f := range z.File {
		m := slide.FindStringSubmatch(f.Name)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		raw, err := unzip(z, f.Name)
		if err != nil {
			continue
		}
		text, _ := fromXML(raw, set("t"), set("p"))
		texts[n] += text
	}
	var pages []Page
	for n, text := range texts {
		pages = append(pages, Page{n, text})
	}
	slices.SortFunc(pages, func(a, b Page) int { return a.Number - b.Number })
	if len(pages) == 0 {
		return nil, errors.New("it has no slides")
	}
	return pages, nil
}

func fromSheets(in *bytes.Reader) ([]Page, error) {
	f, err := excelize.OpenReader(in, excelize.Options{UnzipSizeLimit: 256 << 20, UnzipXMLSizeLimit: 64 << 20})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var pages []Page
	for i, name := range f.GetSheetList() {
		var b strings.Builder
		b.WriteString(name + "\n")
		rows, err := f.Rows(name)
		if err != nil {
			continue
		}
		for rows.Next() && b.Len() < MaxText {
			cells, err := rows.Columns()
			if err != nil {
				break
			}
			w := csv.NewWriter(&b)
			_ = w.Write(cells)
			w.Flush()
		}
		_ = rows.Close()
		pages = append(pages, Page{i + 1, b.String()})
	}
	return pages, nil
}

// fromBook reads EPUB 3: the chapters in the order of the package's spine.
func fromBook(in *bytes.Reader) ([]Page, error) {
	z, err := zip.NewReader(in, in.Size())
	if err != nil {
		return nil, err
	}
	var container struct {
		Root struct {
			Path string `xml:"full-path,attr"`
		} `xml:"rootfiles>rootfile"`
	}
	raw, err := unzip(z, "META-INF/container.xml")
	if err == nil {
		err = xml.Unmarshal(raw, &container)
	}
	if err != nil {
		return nil, err
	}
	var book struct {
		Items []struct {
			ID   string `xml:"id,attr"`
			Href string `xml:"href,attr"`
		} `xml:"manifest>item"`
		Spine []struct {
			ID string `xml:"idref,attr"`
		} `xml:"spine>itemref"`
	}
	if raw, err = unzip(z, container.Root.Path); err == nil {
		err = xml.Unmarshal(raw, &book)
	}
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for _, i := range book.Items {
		files[i.ID] = i.Href
	}
	var pages []Page
	for i, s := range book.Spine {
		raw, err := unzip(z, path.Join(path.Dir(container.Root.Path), files[s.ID]))
		if err != nil {
			continue
		}
		chapter, err := fromHTML(bytes.NewReader(raw))
		if err != nil {
			continue
		}
		for _, c := range chapter {
			pages = append(pages, Page{i + 1, c.Text})
		}
	}
	return pages, nil
}

// unseen are the elements whose text a reader of the page doesn't see.
var unseen = set("script", "style", "template", "noscript")

// blocks begin a new line.
var blocks = set("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "title", "section", "article", "dt", "dd", "table", "ul", "ol", "hr")

func fromHTML(in *bytes.Reader) ([]Page, error) {
	r, err := charset.NewReader(in, "text/html")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	z := html.NewTokenizer(r)
	z.SetMaxBuf(8 << 20)
	hidden := ""
	for b.Len() < MaxText {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); err != io.EOF {
				return []Page{{1, b.String()}}, err
			}
			return []Page{{1, b.String()}}, nil
		case html.TextToken:
			if hidden == "" {
				b.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			if hidden == "" && unseen[string(name)] {
				hidden = string(name)
			}
			if blocks[string(name)] {
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == hidden {
				hidden = ""
			}
		}
	}
	return []Page{{1, b.String()}}, nil
}
