//go:build !linux && !darwin

package app

// SurfaceFactsNow knows nothing here.
func SurfaceFactsNow() SurfaceFacts { return SurfaceFacts{} }
