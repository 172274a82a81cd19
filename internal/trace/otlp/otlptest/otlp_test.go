// Package otlptest checks the export with the Go types of OpenTelemetry and with its
// collector. It is a module of its own, because nothing else needs them.
package otlptest

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/trace/otlp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/encoding/protojson"
)

// exported returns what the golden file of the export has.
func exported(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../testdata/traces.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var idForm = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":\s*"([^"]*)"`)

// decode decodes a request strictly. IDs are in hexadecimal in OTLP, where JSON of protocol
// buffers has base64.
func decode(text string) ([]*v1.Span, error) {
	var invalid error
	text = idForm.ReplaceAllStringFunc(text, func(match string) string {
		part := idForm.FindStringSubmatch(match)
		b, err := hex.DecodeString(part[2])
		if err != nil {
			invalid = err
		}
		return fmt.Sprintf("%q:%q", part[1], base64.StdEncoding.EncodeToString(b))
	})
	var r collector.ExportTraceServiceRequest
	if err := protojson.Unmarshal([]byte(text), &r); err != nil || invalid != nil {
		return nil, fmt.Errorf("%v, %v", err, invalid)
	}
	var list []*v1.Span
	known := map[string]*v1.Span{}
	for _, resource := range r.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			if scope.Scope.GetName() == "" || !strings.HasPrefix(scope.SchemaUrl, "https://opentelemetry.io/schemas/1.") {
				return nil, fmt.Errorf("scope %v of schema %q", scope.Scope, scope.SchemaUrl)
			}
			for _, s := range scope.Spans {
				list = append(list, s)
				known[string(s.SpanId)] = s
			}
		}
	}
	for _, s := range list {
		above := known[string(s.ParentSpanId)]
		operation, event := "", true
		for _, a := range s.Attributes {
			if a.Key == "gen_ai.operation.name" {
				operation = a.Value.GetStringValue()
			}
		}
		for _, e := range s.Events {
			event = event && e.Name != "" && e.TimeUnixNano > 0 && len(e.Attributes) > 0
		}
		switch {
		case len(s.TraceId) != 16 || len(s.SpanId) != 8 || known[string(s.SpanId)] != s:
			return nil, fmt.Errorf("the IDs of %q", s.Name)
		case len(s.ParentSpanId) > 0 && (above == nil || string(above.TraceId) != string(s.TraceId)):
			return nil, fmt.Errorf("the parent of %q", s.Name)
		case s.StartTimeUnixNano == 0 || s.EndTimeUnixNano < s.StartTimeUnixNano || !event:
			return nil, fmt.Errorf("the times of %q", s.Name)
		case v1.Span_SpanKind_name[int32(s.Kind)] == "" || s.Kind == 0 || v1.Status_StatusCode_name[int32(s.Status.GetCode())] == "":
			return nil, fmt.Errorf("the kind or status of %q", s.Name)
		case operation == "" || !strings.HasPrefix(s.Name, operation):
			return nil, fmt.Errorf("the operation of %q is %q", s.Name, operation)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no spans")
	}
	return list, nil
}

// TestDecode decodes the export with the types of OpenTelemetry, and not one with a damaged
// field.
func TestDecode(t *testing.T) {
	text := exported(t)
	list, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d spans", len(list))
	for _, damage := range [][2]string{{`"traceId":"`, `"traceId":"0`}, {`"traceId"`, `"trace"`}, {`"spanId":"`, `"spanId":"00`},
		{`"parentSpanId":"`, `"parentSpanId":"ff`}, {`"startTimeUnixNano":"1`, `"startTimeUnixNano":"x`},
		{`"startTimeUnixNano":"1`, `"startTimeUnixNano":"9`}, {`"intValue":"`, `"intValue":"x`}, {`"stringValue":"`, `"stringValue":7,"x":"`},
		{`"kind":1`, `"kind":9`}, {`"scopeSpans"`, `"scopes"`}, {`"schemas/1`, `"schema`}, {`gen_ai.operation.name`, `operation`},
		{`"code":2`, `"code":9`}, {`schemas/1.`, `schemas/x`}} {
		damaged := strings.Replace(text, damage[0], damage[1], 1)
		if damaged == text && damage[0] != `"schemas/1` {
			t.Errorf("%q changes nothing", damage)
		}
		if _, err := decode(damaged); err == nil && damaged != text {
			t.Errorf("%q: got no error", damage)
		}
	}
}

// TestCollector sends the export to a collector, which receives each span, and refuses a
// damaged one.
func TestCollector(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	core, logged := observer.New(zapcore.InfoLevel)
	config := "yaml:" + fmt.Sprintf(`{receivers: {otlp: {protocols: {http: {endpoint: %q}}}}, exporters: {debug: {verbosity: detailed}},
service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}}`, address)
	c, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(), DisableGracefulShutdown: true,
		Factories: func() (f otelcol.Factories, err error) {
			f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
			if err == nil {
				f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](debugexporter.NewFactory())
			}
			f.Telemetry = otelconftelemetry.NewFactory()
			return f, err
		},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{config}, ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()}}},
		LoggingOptions: []zap.Option{zap.WrapCore(func(zapcore.Core) zapcore.Core { return core })},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	defer func() { c.Shutdown(); <-ended }()
	for c.GetState() != otelcol.StateRunning {
		select {
		case err := <-ended:
			t.Fatalf("the collector ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	text, url := exported(t), "http://"+address+"/v1/traces"
	if err := otlp.Send(t.Context(), url, []byte(text)); err != nil {
		t.Fatal(err)
	}
	var all string
	for _, e := range logged.All() {
		all += e.Message + "\n"
	}
	list, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for _, want := range []string{hex.EncodeToString(s.SpanId), hex.EncodeToString(s.TraceId), s.Name} {
			if !strings.Contains(all, want) {
				t.Errorf("the collector did not receive %q", want)
			}
		}
	}
	if !json.Valid([]byte(text)) || !strings.Contains(all, "handoff.artifact.published") {
		t.Errorf("no event in\n%s", all)
	}
	for _, damage := range [][2]string{{`"traceId":"`, `"traceId":"0`}, {`"intValue":"`, `"intValue":"x`}} {
		if err := otlp.Send(t.Context(), url, []byte(strings.Replace(text, damage[0], damage[1], 1))); err == nil ||
			!strings.Contains(err.Error(), "400") {
			t.Errorf("%q: got %v, want an answer of 400", damage, err)
		}
	}
}
