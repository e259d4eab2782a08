//go:build !darwin

package tool

// mdfind is where there is no such index.
const mdfind = ""
