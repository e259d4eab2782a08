//go:build !darwin

package app

// pageOpener is freedesktop.org's, from xdg-utils.
const pageOpener = "xdg-open"
