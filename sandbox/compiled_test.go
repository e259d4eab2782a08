package sandbox

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// A policy is compiled once, however it came about, and another policy is another, whichever field differs.
func TestCompiledOnce(t *testing.T) {
	make := func() Policy {
		return Guarded(linux).AllowRead(at("/a")).AllowWrite(at("/b"), Place{Path: "/c", Device: 1, Inode: 1, File: true}).AllowProtected("/b/.vscode").AllowNetwork()
	}
	c := make().compiled()
	if make().compiled() != c || make().compiled().index() != c.index() {
		t.Error("the same policy is compiled again")
	}
	var full Policy
	fill(reflect.ValueOf(&full).Elem())
	was := full.compiled()
	var leaves func(v reflect.Value, name string)
	leaves = func(v reflect.Value, name string) {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				leaves(v.Field(i), name+"."+v.Type().Field(i).Name)
			}
			return
		case reflect.Slice:
			leaves(v.Index(1), name+"[1]")
			v.Set(v.Slice(0, 1))
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Bool:
			v.SetBool(false)
		case reflect.Int:
			v.SetInt(v.Int() + 1)
		default:
			v.SetUint(v.Uint() - 1)
		}
		if full.compiled() == was || full.compiled().text == was.text {
			t.Errorf("%s makes no difference", name)
		}
		v.Set(old)
	}
	leaves(reflect.ValueOf(&full).Elem(), "policy")
	if full.compiled().text != was.text {
		t.Error("the test changed the policy")
	}
}

// Where one name ends and the next begins counts too.
func TestCompiledApart(t *testing.T) {
	if Guarded(linux).AllowProtected("/a", "/b").compiled() == Guarded(linux).AllowProtected("/a/b").compiled() {
		t.Error("two policies are one")
	}
}

// What the maker of a policy does with its slices later changes the policy, not what was compiled of it before.
func TestCompiledKeepsItsOwn(t *testing.T) {
	places := []Place{at("/home/anna/one")}
	p := Guarded(linux)
	p.writes = places
	decide := p.Decider()
	places[0] = at("/home/anna/two")
	if !decide(Write, "/home/anna/one/x").Allowed || decide(Write, "/home/anna/two/x").Allowed {
		t.Error("what was compiled changed")
	}
	if p.Decide(Write, "/home/anna/one/x").Allowed || !p.Decide(Write, "/home/anna/two/x").Allowed {
		t.Error("the changed policy has the old one's decisions")
	}
	_, params, err := p.SBPL()
	if err != nil {
		t.Fatal(err)
	}
	params[0].Value = "/etc"
	if _, again, _ := p.SBPL(); again[0].Value == "/etc" {
		t.Error("a caller changed the profile")
	}
}

func TestCompiledIsBounded(t *testing.T) {
	var wait sync.WaitGroup
	for i := range 4 * maxCompiled {
		wait.Go(func() {
			own := fmt.Sprintf("/home/anna/%d", i)
			p := Guarded(linux).AllowWrite(at(own))
			for range 10 {
				if !p.Decide(Write, own+"/x").Allowed || p.Decide(Write, own+"0/x").Allowed {
					t.Error("another policy decided")
				}
				if profile, params, err := p.SBPL(); err != nil || profile == "" || !strings.Contains(fmt.Sprint(params), own+"}") {
					t.Error("another policy was printed", err)
				}
			}
		})
	}
	wait.Wait()
	ready.Lock()
	defer ready.Unlock()
	if n := len(ready.policies); n != maxCompiled {
		t.Errorf("%d policies are kept, want %d", n, maxCompiled)
	}
}

// A decision under a policy with a thousand grants that was compiled before, beside one that compiles it.
func BenchmarkCompiled(b *testing.B) {
	p := Guarded(linux)
	for i := range 1000 {
		p = p.AllowWrite(at(fmt.Sprintf("/home/anna/Handrail/%d", i)))
	}
	const path = "/home/anna/Handrail/999/package/lib/index.js"
	b.Run("before", func(b *testing.B) {
		for b.Loop() {
			if !p.Decide(Write, path).Allowed {
				b.Fatal("refused")
			}
		}
	})
	b.Run("each-time", func(b *testing.B) {
		for b.Loop() {
			if !p.index().decide(Write, path).Allowed {
				b.Fatal("refused")
			}
		}
	})
}
