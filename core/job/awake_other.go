//go:build !darwin

package job

// keepAwake does nothing: only macOS puts programs to sleep whose windows nobody sees.
func keepAwake(string) (release func()) { return func() {} }
