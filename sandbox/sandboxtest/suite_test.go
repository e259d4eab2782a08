package sandboxtest

import "testing"

func TestMain(m *testing.M) { Main(m) }

func TestGrid(t *testing.T) { Grid(t) }

func TestCases(t *testing.T) { Cases(t) }

func TestLife(t *testing.T) { Life(t) }

func TestLayouts(t *testing.T) { Layouts(t) }

func TestNetwork(t *testing.T) { Network(t) }
