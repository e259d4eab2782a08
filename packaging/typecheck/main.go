// Typecheck checks packages as they would be built for another system with cgo, without a C compiler or headers for it:
// what comes from package C is taken on trust.
//
//	GOOS=darwin GOARCH=arm64 CGO_ENABLED=1 go run ./packaging/typecheck ./...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedTypesSizes,
	}, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(2)
	}
	c := checker{files: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}, roots: map[string]bool{}}
	for _, p := range roots {
		c.roots[p.PkgPath] = true
	}
	for _, p := range roots {
		c.check(p)
	}
	if len(c.done) < 100 { // a check of nothing must not pass
		fmt.Fprintf(os.Stderr, "typecheck: only %d packages were found\n", len(c.done))
		os.Exit(2)
	}
	if c.wrong > 0 {
		fmt.Fprintf(os.Stderr, "typecheck: %d errors\n", c.wrong)
		os.Exit(1)
	}
	fmt.Printf("typecheck: %d packages, and %d that they need, are well typed for %s\n", len(roots), len(c.done)-len(roots), os.Getenv("GOOS"))
}

type checker struct {
	files *token.FileSet
	done  map[string]*types.Package
	roots map[string]bool
	wrong int
}

func (c *checker) fail(err error) {
	// An expression of a type that comes from package C has an invalid type; what follows from that is no news.
	if text := err.Error(); !strings.Contains(text, "invalid type") && !strings.Contains(text, "build constraints exclude all Go files") {
		c.wrong++
		fmt.Fprintln(os.Stderr, text)
	}
}

// check checks what p needs and then p; bodies of functions only in the packages that were named.
func (c *checker) check(p *packages.Package) *types.Package {
	if t := c.done[p.PkgPath]; t != nil {
		return t
	}
	imports := map[string]*types.Package{}
	for path, dep := range p.Imports {
		imports[path] = c.check(dep)
	}
	var syntax []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			c.fail(err)
			continue
		}
		syntax = append(syntax, f)
	}
	conf := types.Config{FakeImportC: true, IgnoreFuncBodies: !c.roots[p.PkgPath], Sizes: p.TypesSizes, Error: c.fail, Importer: importer(imports)}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	t, _ := conf.Check(p.PkgPath, c.files, syntax, nil) // errors have gone to fail
	c.done[p.PkgPath] = t
	if c.roots[p.PkgPath] {
		for _, e := range p.Errors {
			c.fail(e)
		}
	}
	return t
}

type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if t := i[path]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%s was not found", path)
}
