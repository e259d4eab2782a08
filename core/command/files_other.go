//go:build !unix

package command

// System knows nothing here.
func System() Files { return nil }
