package gateway

import (
	"fmt"
	"strings"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/extauthz"
	"github.com/interlock-run/interlock/services/internal/metrics"
)

// AuthzFlags are the settings for questions of other gateways.
type AuthzFlags struct {
	AuthZENInput      string   `name:"authzen-input" help:"Member of an AuthZEN context that is the tool's input; empty: the whole context is." env:"INTERLOCK_AUTHZEN_INPUT" placeholder:"NAME"`
	AuthZENResource   string   `name:"authzen-resource" help:"Member of the tool's input that gets the properties of an AuthZEN resource, for conditions to look at; empty: they are not judged." env:"INTERLOCK_AUTHZEN_RESOURCE" placeholder:"NAME"`
	AuthZENSession    string   `name:"authzen-session-property" help:"Property of an AuthZEN subject that names its session." default:"session" env:"INTERLOCK_AUTHZEN_SESSION_PROPERTY" placeholder:"NAME"`
	AuthZENRun        string   `name:"authzen-run-property" help:"Property of an AuthZEN subject that names its run." default:"run" env:"INTERLOCK_AUTHZEN_RUN_PROPERTY" placeholder:"NAME"`
	AuthZENHuman      string   `name:"authzen-human-type" help:"Type of AuthZEN subjects that are people on whose behalf calls are made, such as user; empty: none. They are claims unless the token may speak for people (interlock token add --speaks-for)." env:"INTERLOCK_AUTHZEN_HUMAN_TYPE" placeholder:"TYPE"`
	AuthZENIssuer     string   `name:"authzen-human-issuer" help:"OpenID Connect issuer whose names the ids of these subjects are; empty: they are people of this deployment." env:"INTERLOCK_AUTHZEN_HUMAN_ISSUER" placeholder:"URL"`
	AuthZENGroups     string   `name:"authzen-groups-property" help:"Property of these subjects with all groups of the person, a list; empty: their groups are not known." env:"INTERLOCK_AUTHZEN_GROUPS_PROPERTY" placeholder:"NAME"`
	AuthZENAttributes []string `name:"authzen-attributes" help:"Properties of these subjects that are attributes of the person." env:"INTERLOCK_AUTHZEN_ATTRIBUTES" placeholder:"NAME"`
	ExtAuthz          bool     `name:"ext-authz" help:"Serve Envoy's ext_authz (envoy.service.auth.v3) on the gRPC address." env:"INTERLOCK_EXT_AUTHZ"`
	ExtAuthzServers   []string `name:"ext-authz-server" help:"MCP server behind a proxy that asks by ext_authz, NAME=/PATH; may be repeated, or a line each in the variable. A proxy may name it itself." sep:"\n" env:"INTERLOCK_EXT_AUTHZ_SERVER" placeholder:"NAME=/PATH"`
	ExtAuthzPass      []string `name:"ext-authz-pass" help:"MCP methods, and HTTP methods without a body, that pass without a decision; NAME/* is all that begin so, response what clients answer to servers." default:"GET,DELETE,initialize,ping,notifications/*,response,server/discover,subscriptions/listen,logging/setLevel,completion/complete,tools/list,prompts/list,resources/list,resources/templates/list,tasks/get,tasks/list,tasks/result,tasks/cancel" env:"INTERLOCK_EXT_AUTHZ_PASS" placeholder:"METHOD"`
	ExtAuthzOther     string   `name:"ext-authz-other" help:"The decision on requests that are for no MCP server: deny or allow." enum:"deny,allow" default:"deny" env:"INTERLOCK_EXT_AUTHZ_OTHER"`
	ExtAuthzSession   string   `name:"ext-authz-session-header" help:"Header with the session of a request, which the proxy must set itself; empty: only the proxy's metadata counts." env:"INTERLOCK_EXT_AUTHZ_SESSION_HEADER" placeholder:"HEADER"`
	ExtAuthzRun       string   `name:"ext-authz-run-header" help:"Header with the run of a request, like that of the session." env:"INTERLOCK_EXT_AUTHZ_RUN_HEADER" placeholder:"HEADER"`
	ExtAuthzToken     string   `name:"ext-authz-token-header" help:"Header with the agent's own token, by which its calls are then judged; empty: the proxy's token counts." env:"INTERLOCK_EXT_AUTHZ_TOKEN_HEADER" placeholder:"HEADER"`
	ExtAuthzFor       string   `name:"ext-authz-for-header" help:"Header with the token of the person on whose behalf a request is made, like X-Interlock-For elsewhere; empty: none." env:"INTERLOCK_EXT_AUTHZ_FOR_HEADER" placeholder:"HEADER"`
	ExtAuthzDenied    int      `name:"ext-authz-denied-status" help:"HTTP status of calls that ext_authz denies: 200, so that MCP clients read the error, or 403." enum:"200,403" default:"200" env:"INTERLOCK_EXT_AUTHZ_DENIED_STATUS"`
}

// servers returns MCP servers by the paths that they are behind.
func (f AuthzFlags) servers() ([]extauthz.Server, error) {
	var servers []extauthz.Server
	for _, spec := range f.ExtAuthzServers {
		name, path, ok := strings.Cut(spec, "=")
		if !ok {
			return nil, fmt.Errorf("--ext-authz-server %s: write NAME=/PATH", spec)
		}
		servers = append(servers, extauthz.Server{Name: name, Path: path})
	}
	return servers, nil
}

// ExtAuthz serves Envoy's ext_authz on the gateway's own gRPC server, where the settings say
// so. It needs Policy, and the settings that concern it.
func ExtAuthz(r grpc.ServiceRegistrar, cfg Config) error {
	f := cfg.Authz
	if !f.ExtAuthz {
		return nil
	}
	servers, err := f.servers()
	if err != nil {
		return err
	}
	service, err := extauthz.New(extauthz.Config{
		Policy: policyv1.NewPolicyEnforcerServiceClient(cfg.through(rpc.ViaExtAuthz).Policy), Servers: servers, Pass: f.ExtAuthzPass,
		AllowOther: f.ExtAuthzOther == "allow", AllowUnbound: cfg.AllowUnbound,
		SessionHeader: f.ExtAuthzSession, RunHeader: f.ExtAuthzRun, TokenHeader: f.ExtAuthzToken, ForHeader: f.ExtAuthzFor,
		DeniedStatus: f.ExtAuthzDenied,
		PublicURL:    cfg.PublicURL, Undecided: undecidedAt(cfg.Metrics.FailClosed(metrics.AtGateway)), Logger: cfg.Logger,
	})
	if err != nil {
		return err
	}
	service.Register(r)
	return nil
}
