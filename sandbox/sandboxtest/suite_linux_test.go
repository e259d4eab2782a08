package sandboxtest

import "testing"

func TestEscapes(t *testing.T) { Escapes(t) }

func TestChaos(t *testing.T) { Chaos(t) }
