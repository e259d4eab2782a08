package sandboxtest

import "testing"

func TestQuestions(t *testing.T) { Questions(t) }
