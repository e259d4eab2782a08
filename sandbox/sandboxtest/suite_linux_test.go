package sandboxtest

import "testing"

func TestEscapes(t *testing.T) { Escapes(t) }

func TestTogether(t *testing.T) { Together(t) }

func TestBomb(t *testing.T) { Bomb(t) }

func TestChaos(t *testing.T) { Chaos(t) }
