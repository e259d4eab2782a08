//go:build !unix

package search

import (
	"errors"
	"os"
)

var errSystem = errors.New("files are not opened on this system")

func openTop(string) (*os.File, error)               { return nil, errSystem }
func openFolder(*os.File, string) (*os.File, error)  { return nil, errSystem }
func openRegular(*os.File, string) (*os.File, error) { return nil, errSystem }
func statAt(*os.File, string) (facts, error)         { return facts{}, errSystem }
func factsOf(*os.File) (facts, error)                { return facts{}, errSystem }
