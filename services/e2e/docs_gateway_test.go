package e2e

import (
	"bytes"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	authzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/interlock-run/interlock/pkg/rpc"
)

// envoy reads a configuration as Envoy does: by its published messages, those within Any too, and
// with their rules. Its request to Interlock must fail closed.
func (d *guide) envoy(t *testing.T, _, body string) {
	text, err := yaml.YAMLToJSON([]byte(body))
	if err != nil {
		t.Errorf("%s: %v", d.name, err)
		return
	}
	config := &bootstrapv3.Bootstrap{}
	if err := protojson.Unmarshal(text, config); err != nil {
		t.Errorf("%s: Envoy does not take it: %v", d.name, err)
		return
	}
	filters, routes := 0, 0
	for _, m := range messagesOf(t, config) {
		if rules, ok := m.(interface{ ValidateAll() error }); !ok {
			t.Errorf("%s: %s has no rules", d.name, m.ProtoReflect().Descriptor().FullName())
		} else if err := rules.ValidateAll(); err != nil {
			t.Errorf("%s: Envoy does not take it: %v", d.name, err)
		}
		switch m := m.(type) {
		case *authzv3.ExtAuthz:
			filters++
			sent := m.GetWithRequestBody()
			if m.GetFailureModeAllow() || sent.GetAllowPartialMessage() || !sent.GetPackAsBytes() || sent.GetMaxRequestBytes() != rpc.MaxDocument ||
				m.GetGrpcService().GetTimeout().AsDuration() == 0 || len(m.GetGrpcService().GetInitialMetadata()) != 1 {
				t.Errorf("%s: the filter lets pass what Interlock has not seen: %v", d.name, m)
			}
		case *authzv3.ExtAuthzPerRoute:
			routes++
			if m.GetCheckSettings().GetContextExtensions()["interlock.server"] == "" {
				t.Errorf("%s: a route names no server: %v", d.name, m)
			}
		}
	}
	if filters != 1 || routes == 0 {
		t.Errorf("%s: %d filters and %d routes ask Interlock", d.name, filters, routes)
	}
}

// messagesOf is a message and all that it has in Any.
func messagesOf(t *testing.T, root proto.Message) []proto.Message {
	t.Helper()
	all := []proto.Message{root}
	var down func(protoreflect.Message)
	value := func(fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		if fd.Message() != nil {
			down(v.Message())
		}
	}
	down = func(m protoreflect.Message) {
		if packed, ok := m.Interface().(*anypb.Any); ok {
			inner, err := packed.UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, messagesOf(t, inner)...)
			return
		}
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fd.IsMap():
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					value(fd.MapValue(), v)
					return true
				})
			case fd.IsList():
				for i := range v.List().Len() {
					value(fd, v.List().Get(i))
				}
			default:
				value(fd, v)
			}
			return true
		})
	}
	down(root.ProtoReflect())
	return all
}

// agentgateway publishes no messages. The settings that decide whether calls pass unseen must be as they are
// here, and no other names may occur.
func (d *guide) agentgateway(t *testing.T, _, body string) {
	type route struct {
		Matches  []any          `yaml:"matches"`
		Backends []any          `yaml:"backends"`
		Policies map[string]any `yaml:"policies"`
	}
	var config struct {
		Binds []struct {
			Port      int `yaml:"port"`
			Listeners []struct {
				Routes []route `yaml:"routes"`
			} `yaml:"listeners"`
		} `yaml:"binds"`
	}
	if err := yaml.NewDecoder(bytes.NewReader([]byte(body)), yaml.DisallowUnknownField()).Decode(&config); err != nil {
		t.Errorf("%s: %v", d.name, err)
		return
	}
	routes := 0
	for _, bind := range config.Binds {
		for _, listener := range bind.Listeners {
			for _, r := range listener.Routes {
				routes++
				d.asked(t, r.Policies["extAuthz"])
			}
		}
	}
	if routes == 0 {
		t.Errorf("%s: there is no route", d.name)
	}
}

// asked is a policy extAuthz of agentgateway.
func (d *guide) asked(t *testing.T, policy any) {
	text, err := yaml.Marshal(policy)
	if err != nil {
		t.Fatal(err)
	}
	var ext struct {
		Host     string `yaml:"host"`
		Policies struct {
			BackendAuth struct {
				Key map[string]string `yaml:"key"`
			} `yaml:"backendAuth"`
		} `yaml:"policies"`
		FailureMode        string `yaml:"failureMode"`
		IncludeRequestBody struct {
			MaxRequestBytes     int  `yaml:"maxRequestBytes"`
			AllowPartialMessage bool `yaml:"allowPartialMessage"`
			PackAsBytes         bool `yaml:"packAsBytes"`
		} `yaml:"includeRequestBody"`
		Protocol struct {
			GRPC struct {
				Context  map[string]string `yaml:"context"`
				Metadata map[string]string `yaml:"metadata"`
			} `yaml:"grpc"`
		} `yaml:"protocol"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.DisallowUnknownField()).Decode(&ext); err != nil {
		t.Errorf("%s: %v", d.name, err)
	}
	sent := ext.IncludeRequestBody
	if ext.FailureMode != "deny" || sent.AllowPartialMessage || !sent.PackAsBytes || sent.MaxRequestBytes != rpc.MaxDocument || ext.Protocol.GRPC.Context["interlock.server"] == "" ||
		ext.Policies.BackendAuth.Key["file"] == "" {
		t.Errorf("%s: it lets pass what Interlock has not seen, or does not say who asks: %s", d.name, text)
	}
}
