package handoff

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// decodePlain is what decodeOrdered must agree with.
func decodePlain(b []byte) (Record, error) {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return Record{}, err
	}
	f := newFact[e.Type]()
	err := json.Unmarshal(b, f)
	return Record{Version: e.Version, Type: e.Type, ID: e.ID, CreatedAt: e.CreatedAt, Producer: e.Producer, Fact: f,
		raw: b}, err
}

// fullRecord returns a record of the given type with every field set.
func fullRecord(t testing.TB, factType string) []byte {
	t.Helper()
	r := Record{Version: Version, Type: factType, ID: "art_01K00000000000000000000000",
		CreatedAt: time.Date(2026, 11, 21, 3, 0, 0, 123e6, time.UTC), Fact: newFact[factType]()}
	set(t, reflect.ValueOf(&r.Producer).Elem())
	set(t, reflect.ValueOf(r.Fact).Elem())
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// set gives v, and everything in it, a value that is not zero.
func set(t testing.TB, v reflect.Value) {
	t.Helper()
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Date(2026, 11, 21, 4, 0, 0, 5, time.UTC)
		return
	case *json.RawMessage:
		*p = json.RawMessage(`{"a":[1,{"b":"\u0041"}]}`)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("Prüfung \"<1>\"\n")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(18342)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			set(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		set(t, v.Index(0))
		set(t, v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		set(t, element)
		v.SetMapIndex(reflect.ValueOf("key"), element)
	default:
		t.Fatalf("no value for a field of type %v", v.Type())
	}
}

// TestDecodeOrderedTakesOwnRecords fails when a field is added that only
// encoding/json can decode.
func TestDecodeOrderedTakesOwnRecords(t *testing.T) {
	for factType := range newFact {
		b := fullRecord(t, factType)
		got, ok := decodeOrdered(b)
		if !ok {
			t.Errorf("decodeOrdered refuses %s", b)
			continue
		}
		want, err := decodePlain(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("decodeOrdered(%s) = %+v\nwant %+v, %v", b, got, want, err)
		}
	}
}

func FuzzDecodeOrdered(f *testing.F) {
	for factType := range newFact {
		f.Add(string(fullRecord(f, factType)))
	}
	full := string(fullRecord(f, "artifact.published"))
	for _, change := range [][2]string{
		{`"kept":true`, `"kept":false`}, {`"kept":true`, `"kept":tru`}, {`18342`, `018342`}, {`18342`, `-1`},
		{`18342`, `1e3`}, {`18342`, `null`},
		{`"version":1`, `"version":01`}, {`"version":1`, `"version":2`}, {`"tags":[`, `"tags":[1,`},
		{`"tags":[`, `"tags":[],"x":[`},
		{`"ids":{`, `"ids":{"turn":"7","turn":"8",`}, {`"title":"`, `"title":"\ud800`}, {`"title":"`, "\"title\":\"\xff"},
		{`"title":`, `"title":null,"x":`},
		{`"channel":`, `"CHANNEL":`}, {`"key":`, `"key":"k","key":`}, {`{"version"`, `{ "version"`},
		{`"metadata":`, `"metadata": `},
		{`.123Z`, `.123+01:00`}, {`"model":{`, `"model":{},"model":{`}, {`"model":{`, `"model":{"more":1,`},
		{`"producer":`, `"Producer":{},"producer":`},
	} {
		f.Add(strings.Replace(full, change[0], change[1], 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := decodeOrdered([]byte(text))
		if !ok {
			return
		}
		want, err := decodePlain([]byte(text))
		if err != nil {
			t.Fatalf("decodeOrdered takes %q, encoding/json reports %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("decodeOrdered(%q) = %+v %+v\nwant %+v %+v", text, got, got.Fact, want, want.Fact)
		}
	})
}

func BenchmarkParseRecord(b *testing.B) {
	record := fullRecord(b, "artifact.published")
	for name, parse := range map[string]func([]byte) (Record, error){"Ordered": ParseRecord, "EncodingJSON": decodePlain} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(record)))
			for b.Loop() {
				if _, err := parse(record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
