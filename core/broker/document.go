package broker

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// documents are the kinds of files that are opened: those whose apps show them and run nothing that stands in them. Never among
// them: html, svg and xml (scripts), webloc, url and desktop (lead elsewhere), mobileconfig, terminal, command, workflow, action
// and shortcut (change or run something), archives, disk images, installers, executables, documents with macros.
var documents = []string{
	"pdf", "txt", "text", "md", "markdown", "csv", "tsv", "log", "rtf", "json",
	"png", "jpg", "jpeg", "gif", "webp", "heic", "heif", "tif", "tiff", "bmp",
	"mp3", "m4a", "aac", "wav", "aiff", "flac", "ogg", "mp4", "m4v", "mov", "webm",
	"docx", "xlsx", "pptx", "odt", "ods", "odp", "pages", "numbers", "key", "epub",
}

// documentName checks a document's name, as far as a name tells.
func documentName(path string) error {
	name := filepath.Base(path)
	for _, r := range path {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return refuse("this document isn't opened", "its path holds a character that can't be seen", "rename it")
		}
	}
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
	if !slices.Contains(documents, ext) || strings.HasPrefix(name, ".") {
		return refuse(fmt.Sprintf("%q isn't opened outside the sandbox", name), "only documents are whose apps run nothing that stands in them, such as pdf, txt, png, csv, docx and mp4",
			"tell the person where it is, so that they can open it themselves")
	}
	return nil
}

// heads are how files begin that are run, or that are read as something else than their name says.
var heads = []string{"#!", "\x7fELF", "MZ", "\xca\xfe\xba\xbe", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xca\xfe\xba\xbf",
	"<!doctype", "<html", "<?xml", "<svg", "<script", "[desktop entry]", "[internetshortcut]", "@echo off"}

// CheckDocument says why a file isn't opened as a document. path is absolute with its links resolved; f is the file, open, and
// then stands at its beginning again.
func CheckDocument(path string, f *os.File) error {
	if err := documentName(path); err != nil {
		return err
	}
	no := func(why string) error {
		return refuse(fmt.Sprintf("%q isn't opened outside the sandbox", filepath.Base(path)), why, "tell the person where it is, so that they can look at it")
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("looking at a document: %w", err)
	}
	if !info.Mode().IsRegular() {
		return no("it is no file")
	}
	if info.Mode()&0o111 != 0 && !foreignModes(info) {
		return no("it can be run as a program")
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("looking at a document: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("looking at a document: %w", err)
	}
	head = bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\ufeff")), " \t\r\n"))
	for _, h := range heads {
		if bytes.HasPrefix(head, bytes.ToLower([]byte(h))) {
			return no("what stands in it is not what its name says")
		}
	}
	return oddAttributes(f, no)
}

// foreignModes reports whether all files have the bit that makes a program: so it is on file systems that know no modes.
func foreignModes(info fs.FileInfo) bool { return info.Mode().Perm() == 0o777 }
