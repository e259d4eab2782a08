//go:build !darwin

package program

// readOnly knows nothing here: programs are where packages put them, on some systems on a volume that is never written.
func readOnly(string) (bool, error) { return false, nil }
