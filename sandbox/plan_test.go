package sandbox

import (
	"bytes"
	"io"
	"reflect"
	"testing"
	"unsafe"
)

// fill sets every field of a value to something that is not its zero.
func fill(v reflect.Value) {
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem() // fields without a capital letter too
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.String:
		v.SetString("a \"b\"\n\x00ü")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(-3)
	case reflect.Uint8: // the profile; a byte
		v.SetUint(uint64(readOnly))
	default:
		v.SetUint(1<<v.Type().Bits() - 1)
	}
}

// The launcher does what the host planned: no field is forgotten on the way, and text that was cut or made longer is no plan.
func TestPlanArrives(t *testing.T) {
	var full plan
	fill(reflect.ValueOf(&full).Elem())
	for _, p := range []plan{{}, full, {Policy: Guarded(linux).AllowWrite(at("/b")), Argv: []string{"/bin/true", ""}}} {
		w := &wire{}
		p.carry(w)
		var got plan
		if err := take(w.text, got.carry); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v\nbecame %+v: %v", p, got, err)
		}
		for n := range w.text {
			if take(w.text[:n], new(plan).carry) == nil {
				t.Fatalf("%d of %d bytes are a plan", n, len(w.text))
			}
		}
		if string(p.written()) != string(w.text) {
			t.Errorf("%+v is written otherwise", p)
		}
		if take(append(w.text, 0), new(plan).carry) == nil {
			t.Error("a plan with one more byte is one")
		}
	}
	var none plan
	if none.Policy.profile != nothing || take([]byte{byte(len(profiles))}, none.carry) == nil {
		t.Error("an unknown profile is one")
	}
}

// What the launcher writes is what the host reads, one report after another.
func TestReportsArrive(t *testing.T) {
	var full report
	fill(reflect.ValueOf(&full).Elem())
	reports := []report{{Started: true}, {Exit: &Exit{}}, {Exit: &Exit{Code: 137, Signal: "SIGKILL", LeftRunning: 2}}, {Failure: &failure{Kind: "place", What: "/a \"b\"", Errno: 2}}, {}, full}
	var b bytes.Buffer
	for _, r := range reports {
		r.send(&b)
	}
	for _, want := range reports {
		if got, err := readReport(&b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := readReport(&b); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	for _, text := range []string{"\xff\xff\xff\xff", "\x00\x00\x00\x05\x01", "\x00\x00\x00\x01\x01"} {
		if _, err := readReport(bytes.NewReader([]byte(text))); err == nil {
			t.Errorf("%q is a report", text)
		}
	}
}

// FuzzPlan: no text makes the launcher fall over, and what is taken for a plan is one.
func FuzzPlan(f *testing.F) {
	w := &wire{}
	p := plan{Policy: Guarded(linux).AllowWrite(at("/b")), Argv: []string{"/bin/true"}, Filter: []byte{1, 2}, Processes: 3}
	p.carry(w)
	f.Add(w.text)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		var p, again plan
		if take(text, p.carry) != nil {
			return
		}
		w := &wire{}
		p.carry(w)
		if err := take(w.text, again.carry); err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("%+v became %+v: %v", p, again, err)
		}
	})
}
