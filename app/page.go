package app

import (
	"errors"
	"fmt"
	"net/url"
	"os/exec"
)

// openPage has the person's browser show a page. address is ours, never one that came from elsewhere.
func openPage(address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
		return errors.New("showing a page: it has no https address")
	}
	if err := exec.Command(pageOpener, address).Run(); err != nil {
		return fmt.Errorf("showing a page: %w", err)
	}
	return nil
}
