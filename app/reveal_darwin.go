package app

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// revealFile shows a file in the Finder. It opens nothing.
func revealFile(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("showing a file: its path isn't absolute")
	}
	if _, err := os.Lstat(path); err != nil {
		return fmt.Errorf("showing a file: %w", err)
	}
	cmd := &exec.Cmd{Path: "/usr/bin/open", Args: []string{"open", "-R", path}, Env: []string{}, Dir: "/"}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("showing a file: %w", err)
	}
	return nil
}
