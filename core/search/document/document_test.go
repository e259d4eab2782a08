package document

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
)

// packed makes a zip of names and texts.
func packed(t testing.TB, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pdfOf makes a PDF with a line of text on each page.
func pdfOf(lines ...string) string {
	var b strings.Builder
	var at []int
	object := func(text string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), text)
	}
	b.WriteString("%PDF-1.4\n")
	kids := ""
	for i := range lines {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(lines)))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, l := range lines {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i))
		content := fmt.Sprintf("BT /F1 12 Tf 20 200 Td (%s) Tj ET", l)
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.String()
}

func samples(t testing.TB) map[string]string {
	t.Helper()
	book := excelize.NewFile()
	defer book.Close()
	for cell, text := range map[string]any{"A1": "Town", "B1": "People", "A2": "ลำปาง", "B2": 54321} {
		if err := book.SetCellValue("Sheet1", cell, text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := book.NewSheet("Second"); err != nil {
		t.Fatal(err)
	}
	if err := book.SetCellValue("Second", "A1", "ostrich"); err != nil {
		t.Fatal(err)
	}
	sheets, err := book.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	thai, err := charmap.Windows874.NewEncoder().String("สวัสดี")
	if err != nil {
		t.Fatal(err)
	}
	escaped := ""
	for _, c := range []byte(thai) {
		escaped += fmt.Sprintf(`\'%02x`, c)
	}
	return map[string]string{
		"pdf": pdfOf("The first page.", "The second page."),
		"docx": packed(t, "word/document.xml", `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>One </w:t></w:r><w:r><w:t>line.</w:t></w:r></w:p><w:p><w:r><w:t>สอง</w:t></w:r></w:p></w:body></w:document>`,
			"word/footnotes.xml", `<w:footnotes xmlns:w="w"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnotes>`),
		"pptx": packed(t, "ppt/slides/slide2.xml", `<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>Second slide</a:t></a:r></a:p></p:sld>`,
			"ppt/slides/slide1.xml", `<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>First slide</a:t></a:r></a:p></p:sld>`,
			"ppt/notesSlides/notesSlide2.xml", `<p:notes xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>Say this</a:t></a:r></a:p></p:notes>`),
		"xlsx": sheets.String(),
		"epub": packed(t, "META-INF/container.xml", `<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>`,
			"OPS/book.opf", `<package><manifest><item id="b" href="two.xhtml"/><item id="a" href="one.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>`,
			"OPS/one.xhtml", `<html><body><p>Chapter one</p></body></html>`, "OPS/two.xhtml", `<html><body><p>Chapter two</p></body></html>`),
		"rtf":  `{\rtf1\ansi\ansicpg874{\fonttbl{\f0 Hidden;}}{\*\generator Nobody;}Plain \b bold\b0  text\par ` + escaped + `\par \u3585?\u-3913? \{braces\}}`,
		"html": `<html><head><title>Title</title><style>p{}</style><script>var hidden = 1</script></head><body><p>Caf&eacute; &amp; bar</p><div>next</div></body></html>`,
	}
}

func TestExtract(t *testing.T) {
	want := map[string][]Page{
		"pdf":  {{1, "The first page."}, {2, "The second page."}},
		"docx": {{1, "One line.\nสอง\nA note.\n"}},
		"pptx": {{1, "First slide\n"}, {2, "Second slide\nSay this\n"}},
		"xlsx": {{1, "Sheet1\nTown,People\nลำปาง,54321\n"}, {2, "Second\nostrich\n"}},
		"epub": {{1, "Chapter one"}, {2, "Chapter two"}},
		"rtf":  {{1, "Plain bold text\nสวัสดี\nก\uf0b7 {braces}"}},
		"html": {{1, "Title\nCafé & bar\nnext"}},
	}
	for kind, text := range samples(t) {
		pages, err := Extract(kind, strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for i := range pages {
			if kind != "docx" && kind != "pptx" && kind != "xlsx" {
				pages[i].Text = strings.TrimSpace(pages[i].Text)
			}
		}
		if fmt.Sprint(pages) != fmt.Sprint(want[kind]) {
			t.Errorf("%s: %+v, want %+v", kind, pages, want[kind])
		}
		for _, broken := range []string{"", "nonsense", text[:len(text)/3]} {
			if kind == "html" || kind == "rtf" && strings.HasPrefix(broken, `{\rtf`) {
				continue // every text is some HTML, and what begins as RTF is some
			}
			if pages, err := Extract(kind, strings.NewReader(broken)); err == nil {
				t.Errorf("%s of %d bytes: %+v, and no error", kind, len(broken), pages)
			}
		}
	}
	if _, err := Extract("exe", strings.NewReader("MZ")); err == nil {
		t.Error("a kind that there isn't gives no error")
	}
}

// A small file that unpacks to a large one gives no more than MaxText.
func TestBombs(t *testing.T) {
	large := strings.Repeat("all work and no play ", 1<<20)
	bomb := packed(t, "word/document.xml", `<w:document xmlns:w="w"><w:p><w:t>`+large+`</w:t></w:p></w:document>`)
	if len(bomb) > 1<<20 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	pages, _ := Extract("docx", strings.NewReader(bomb))
	size := 0
	for _, p := range pages {
		size += len(p.Text)
	}
	if size > MaxText {
		t.Errorf("%d bytes of text, want at most %d", size, MaxText)
	}
	if _, err := Extract("rtf", strings.NewReader(`{\rtf1`+strings.Repeat("{", 1<<20))); err == nil {
		t.Error("a million groups within one another give no error")
	}
}

// No file makes it panic or give what isn't UTF-8.
func FuzzExtract(f *testing.F) {
	for kind, text := range samples(f) {
		f.Add(kind, text)
	}
	f.Fuzz(func(t *testing.T, kind, text string) {
		pages, _ := Extract(kind, strings.NewReader(text))
		for _, p := range pages {
			if strings.ToValidUTF8(p.Text, "") != p.Text {
				t.Errorf("%s: %q", kind, p.Text)
			}
		}
	})
}
