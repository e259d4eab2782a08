package core

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pause
		var count atomic.Int64
		over := func() { count.Add(1) }
		is := func(on bool, left time.Duration, times int) {
			t.Helper()
			synctest.Wait()
			ended := int(count.Load())
			got, until := p.now()
			rest := time.Duration(0)
			if !until.IsZero() {
				rest = time.Until(until)
			}
			if got != on || rest != left || ended != times {
				t.Errorf("on %v, %v left, ended %d times; want %v, %v, %d", got, rest, ended, on, left, times)
			}
		}
		is(false, 0, 0)
		if p.end() {
			t.Error("it was on")
		}
		if p.begin(10*time.Minute, over) {
			t.Error("it was on before")
		}
		time.Sleep(10*time.Minute - 1)
		is(true, 1, 0)
		time.Sleep(time.Nanosecond)
		is(false, 0, 1)

		// A later word replaces an earlier one.
		p.begin(10*time.Minute, over)
		time.Sleep(5 * time.Minute)
		if !p.begin(10*time.Minute, over) {
			t.Error("it wasn't on before")
		}
		time.Sleep(9 * time.Minute)
		is(true, time.Minute, 1)
		p.begin(0, over)
		time.Sleep(time.Hour)
		is(true, 0, 1)
		if !p.end() {
			t.Error("it wasn't on")
		}
		p.begin(time.Minute, over)
		p.end()
		time.Sleep(time.Hour)
		is(false, 0, 1)
	})
}
