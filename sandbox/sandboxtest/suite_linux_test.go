package sandboxtest

import "testing"

func TestEscapes(t *testing.T) { Escapes(t) }
