import { defineCodes } from './define.ts'

const GATEWAY = 'gateways:\n  default: { port: 8080 }\n'

export const REFERENCE_CODES = defineCodes('PC03', 'References and conflicts', [
  {
    code: 'PC0301',
    severity: 'error',
    title: 'an unknown gateway or listener',
    explanation:
      'A route names a gateway that is not defined, or a listener that its gateway does not have. ' +
      'A route that names none belongs to the gateway `default`, so this also happens when no ' +
      'gateway has that name. One listener of a gateway is named with a slash between: ' +
      '`public/https`. Until it is fixed nothing reaches the route.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- gateways: defualt\n  backends:\n  - host: api:8080`,
      right: `${GATEWAY}routes:\n- gateways: default\n  backends:\n  - host: api:8080`,
    },
  },
  {
    code: 'PC0302',
    severity: 'error',
    title: 'an unknown backend',
    explanation:
      'A route or a policy refers to a backend by a name that no entry of `backends` has. Names ' +
      'are compared letter by letter. A backend that is used once can also be written in place, ' +
      'with `host:` instead of `backend:`. Until it is fixed its share of the requests gets 500.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}backends:\n- name: orders\n  host: orders:8080\nroutes:\n- backends:\n  - backend: order`,
      right: `${GATEWAY}backends:\n- name: orders\n  host: orders:8080\nroutes:\n- backends:\n  - backend: orders`,
    },
  },
  {
    code: 'PC0303',
    severity: 'error',
    title: 'a name that is taken',
    explanation:
      'Two routes, two backends or two listeners of one gateway have the same name. Names are how ' +
      'policies, metrics, logs and decision records speak of them, and how a reload knows what ' +
      'stayed the same, so each needs one of its own. The first one keeps it; the other responds with 500 until it is fixed.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- name: api\n  backends: [{ host: "a:80" }]\n- name: api\n  backends: [{ host: "b:80" }]`,
      right: `${GATEWAY}routes:\n- name: api\n  backends: [{ host: "a:80" }]\n- name: api-2\n  matches: [{ path: { pathPrefix: /2 } }]\n  backends: [{ host: "b:80" }]`,
    },
  },
  {
    code: 'PC0304',
    severity: 'error',
    title: 'a port that is taken',
    explanation:
      'Two gateways listen on the same port, or a gateway listens on a port that the process ' +
      'itself uses for its admin API, metrics or readiness. Several listeners can share a port ' +
      'within one gateway, told apart by `hostname`. The first gateway keeps the port.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  public: { port: 8080 }\n  internal: { port: 8080 }',
      right: 'gateways:\n  public: { port: 8080 }\n  internal: { port: 8081 }',
    },
  },
  {
    code: 'PC0305',
    severity: 'error',
    title: 'one port with TLS and plain text',
    explanation:
      'Some listeners of the port speak TLS and some do not. A client decides by the address that ' +
      'it connects to, so a port is one or the other. Give each a port of its own; a redirect ' +
      'from the plain one to the other is a route with `requestRedirect`.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  public:\n    port: 8443\n    listeners:\n    - { name: plain, hostname: a.example.com }\n    - { name: tls, hostname: b.example.com, protocol: TLS }',
      right:
        'gateways:\n  plain: { port: 8080, hostname: a.example.com }\n  tls: { port: 8443, hostname: b.example.com, protocol: TLS }',
    },
  },
  {
    code: 'PC0306',
    severity: 'error',
    title: 'one port with HTTP and TCP',
    explanation:
      'One listener of the port takes HTTP requests and another one takes any bytes. Without TLS ' +
      'there is no server name that would tell their connections apart before the first byte is ' +
      'read. Give each a port of its own, or use TLS for both, where the server name decides.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  public:\n    port: 8080\n    listeners:\n    - { name: web, protocol: HTTP }\n    - { name: raw, protocol: TCP }',
      right:
        'gateways:\n  web: { port: 8080, protocol: HTTP }\n  raw: { port: 8081, protocol: TCP }',
    },
  },
  {
    code: 'PC0307',
    severity: 'error',
    title: 'two listeners for the same names',
    explanation:
      'Two listeners of one port serve the same hostname, or both serve all. Which of them a ' +
      'connection belongs to would be a matter of luck, and with it which certificate and which ' +
      'policies apply. Give them different hostnames, or join them.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  public:\n    port: 8080\n    listeners:\n    - { name: one, hostname: api.example.com }\n    - { name: two, hostname: api.example.com }',
      right:
        'gateways:\n  public:\n    port: 8080\n    listeners:\n    - { name: one, hostname: api.example.com }\n    - { name: two, hostname: app.example.com }',
    },
  },
  {
    code: 'PC0308',
    severity: 'error',
    title: 'protocol and TLS do not fit',
    explanation:
      'HTTPS needs a certificate, HTTP and TCP have no use for one. `protocol: TLS` takes either: ' +
      'with a certificate TLS ends at the gateway and the bytes inside go to a TCP route; without ' +
      'one the encrypted bytes are passed through by server name. Without `protocol`, a listener ' +
      'is HTTPS where it has `tls` and HTTP where not.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8443, protocol: HTTPS }',
      right: 'gateways:\n  default: { port: 8443, protocol: TLS }',
    },
  },
  {
    code: 'PC0309',
    severity: 'error',
    title: 'a policy that cannot be set here',
    explanation:
      'The policy exists, but not at this level. What happens to a connection is decided before ' +
      'any route is known, so `networkAuthorization` is set under `frontendPolicies`; what concerns a chosen backend is set on a backend or above it; redirects, retries and ' +
      'authentication concern requests and are set on routes, listeners and gateways.',
    example: {
      language: 'yaml',
      wrong: `backends:\n- name: api\n  host: api:8080\n  policies:\n    cors: { allowOrigins: ["*"] }`,
      right: `${GATEWAY}routes:\n- policies:\n    cors: { allowOrigins: ["*"] }\n  backends:\n  - host: api:8080`,
    },
  },
  {
    code: 'PC0310',
    severity: 'error',
    title: 'a file that is named cannot be read',
    explanation:
      'A certificate, a key, a key set or another file that the configuration names is not there, ' +
      'may not be read, or is not text. Relative paths start at the folder of the configuration ' +
      'file, not at the folder that the gateway was started in. Files that are named are watched: ' +
      'when one changes the gateway reloads.',
    example: {
      language: 'yaml',
      wrong:
        'backends:\n- name: api\n  host: api:8443\n  policies:\n    backendTLS: { root: no-such-file.pem }',
      right:
        'backends:\n- name: api\n  host: api:8443\n  policies:\n    backendTLS: { root: { inline: "-----BEGIN CERTIFICATE-----" } }',
    },
  },
  {
    code: 'PC0311',
    severity: 'warning',
    title: 'a policy without effect, since another one comes first',
    explanation:
      'Two policies set the same field at the same level, and only one of them can hold: the one that is written first, with what is written at the thing itself before what is attached to it. ' +
      'Authentication and authorization are not concerned: those of all policies hold together. ' +
      'Remove one of the two, or attach them at different levels.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- name: api\n  policies:\n    timeout: { request: 10s }\n  backends: [{ host: "api:80" }]\npolicies:\n- name: slow\n  target: { route: api }\n  traffic:\n    timeout: { request: 60s }`,
      right: `${GATEWAY}routes:\n- name: api\n  backends: [{ host: "api:80" }]\npolicies:\n- name: slow\n  target: { route: api }\n  traffic:\n    timeout: { request: 60s }`,
    },
  },
  {
    code: 'PC0312',
    severity: 'error',
    title: 'a route of the wrong kind for its gateway',
    explanation:
      '`routes` are for HTTP and HTTPS listeners, `tcpRoutes` for TCP and TLS ones. A listener ' +
      'with `protocol: TLS` forwards what comes out of TLS as it is, without looking for HTTP in ' +
      'it, so it takes `tcpRoutes` even if clients speak HTTP. Use `protocol: HTTPS` for requests.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  default: { port: 5432, protocol: TCP }\nroutes:\n- backends:\n  - host: db:5432',
      right:
        'gateways:\n  default: { port: 5432, protocol: TCP }\ntcpRoutes:\n- backends:\n  - host: db:5432',
    },
  },
  {
    code: 'PC0313',
    severity: 'warning',
    title: 'a route that no request can reach',
    explanation:
      'None of the names of the route is served by a listener that it is attached to: the ' +
      'listener takes other hostnames only, and sends the rest away before routes are looked at. ' +
      'Add the name to a listener, or attach the route to another one. A wildcard has at least ' +
      'one label in front: `*.example.com` is not `example.com`.',
    example: {
      language: 'yaml',
      wrong:
        'gateways:\n  default: { port: 8080, hostname: "*.example.com" }\nroutes:\n- hostnames: [example.org]\n  backends:\n  - host: api:8080',
      right:
        'gateways:\n  default: { port: 8080, hostname: "*.example.com" }\nroutes:\n- hostnames: [api.example.com]\n  backends:\n  - host: api:8080',
    },
  },
  {
    code: 'PC0314',
    severity: 'error',
    title: 'the target of a policy does not exist',
    explanation:
      'An entry of `policies` is attached to a gateway, listener, route or backend that is not ' +
      'there. A policy that is attached to nothing protects nothing, and looks as if it did. ' +
      'Routes and backends can be named only if they have a `name`; a listener is ' +
      '`{gatewayName, listenerName}`.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}policies:\n- name: fast\n  target: { gateway: public }\n  traffic:\n    timeout: { request: 1s }`,
      right: `${GATEWAY}policies:\n- name: fast\n  target: { gateway: default }\n  traffic:\n    timeout: { request: 1s }`,
    },
  },
  {
    code: 'PC0315',
    severity: 'warning',
    title: 'a route that leads nowhere',
    explanation:
      'The route has no backend, or only backends with the weight 0, and no policy that responds by itself. Every request that it matches gets 500. Add a backend, or a ' +
      '`requestRedirect` or `directResponse`; to reject requests on purpose, use ' +
      '`directResponse` with the status that clients should see.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- name: closed\n  matches: [{ path: { pathPrefix: /old } }]`,
      right: `${GATEWAY}routes:\n- name: closed\n  matches: [{ path: { pathPrefix: /old } }]\n  policies:\n    directResponse: { status: 410 }`,
    },
  },
  {
    code: 'PC0316',
    severity: 'error',
    title: 'a provider whose address is not known',
    explanation:
      'Requests to a provider go to its public host, where that follows from what is said of it: ' +
      '`openAI` is at api.openai.com, `bedrock` at a host of its region. Of a `custom` provider ' +
      'nothing follows, of `vertex` nothing without a region, of `azure` nothing unless ' +
      '`resourceType` is `openAI` or `foundry`. The gateway does not guess where to send requests ' +
      'that carry keys and prompts. Until it is fixed the backend responds with 500.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}backends:\n- name: models\n  ai:\n    name: gpt\n    provider: { azure: { resourceName: shop } }`,
      right: `${GATEWAY}backends:\n- name: models\n  ai:\n    name: gpt\n    provider: { azure: { resourceName: shop, resourceType: openAI } }`,
    },
  },
  {
    code: 'PC0317',
    severity: 'error',
    title: 'a backend that only routes of HTTP can lead to',
    explanation:
      'A TCP route leads to a backend of the kind `ai` or `mcp`, or a policy names one as the service to call, or as the one that gets copies of requests. Which provider may be used is decided for each request of a route, by rules that a copy or a call of the gateway itself would bypass. Name a ' +
      'backend with addresses of its own, or the address itself with `host`.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}backends:\n- name: models\n  ai:\n    name: claude\n    provider: { anthropic: {} }\nroutes:\n- policies:\n    requestMirror: { backend: { backend: models } }\n  backends: [{ host: "api:80" }]`,
      right: `${GATEWAY}backends:\n- name: copies\n  host: copies:8080\nroutes:\n- policies:\n    requestMirror: { backend: { backend: copies } }\n  backends: [{ host: "api:80" }]`,
    },
  },
  {
    code: 'PC0318',
    severity: 'error',
    title: 'the admin API would be open to other machines',
    explanation:
      'The admin API shows the configuration that runs and the records of decisions, and in ' +
      'database mode it changes the configuration. What is sent is not encrypted. So it listens on ' +
      'this machine alone, unless `config.adminAllowRemote: true` says that it is meant. Metrics and readiness have addresses ' +
      'of their own, `statsAddr` and `readinessAddr`, which other machines may reach.',
    example: {
      language: 'yaml',
      wrong: `config:\n  adminAddr: 0.0.0.0:15000\n${GATEWAY}routes:\n- backends: [{ host: "api:80" }]`,
      right: `config:\n  adminAddr: localhost:15000\n${GATEWAY}routes:\n- backends: [{ host: "api:80" }]`,
    },
  },
  {
    code: 'PC0319',
    severity: 'warning',
    title: 'the admin API is open to other machines',
    explanation:
      '`config.adminAllowRemote` lets the admin API listen where other machines can reach it. ' +
      'Callers need a token: that of the variable `PORTCULLIS_ADMIN_TOKEN`, or one that the ' +
      'gateway prints at its start. What they send and get is not encrypted; let a firewall or a ' +
      'network policy decide who can connect. Requests must name an IP address, localhost or the ' +
      'name of the machine as their host, so that no page in a browser reads it under a name of ' +
      'its own.',
    example: {
      language: 'yaml',
      wrong: `config:\n  adminAddr: 0.0.0.0:15000\n  adminAllowRemote: true\n${GATEWAY}routes:\n- backends: [{ host: "api:80" }]`,
      right: `config:\n  adminAddr: localhost:15000\n${GATEWAY}routes:\n- backends: [{ host: "api:80" }]`,
    },
  },
  {
    code: 'PC0320',
    severity: 'error',
    title: 'a route group that is unknown, or leads back to itself',
    explanation:
      'A route delegates to a group that no entry of `routeGroups` is called, or a group delegates ' +
      'to one that leads back to it. Names are compared letter by letter. Until it is fixed, what ' +
      'would be delegated gets 500.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- backends: [{ routeGroup: orders }]`,
      right: `${GATEWAY}routes:\n- backends: [{ routeGroup: orders }]\nrouteGroups:\n- name: orders\n  routes:\n  - backends: [{ host: orders:8080 }]`,
    },
  },
  {
    code: 'PC0321',
    severity: 'error',
    title: 'a delegated route that nothing reaches',
    explanation:
      'A request must match the route that delegates and the route of the group. The one that ' +
      'delegates says which paths it hands over, with `pathPrefix`; the paths of the group must be ' +
      'below it, and its methods the same. A regular expression matches whole paths, so it can be ' +
      'used where the other route matches `/`.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- matches: [{ path: { pathPrefix: /team } }]\n  backends: [{ routeGroup: orders }]\nrouteGroups:\n- name: orders\n  routes:\n  - matches: [{ path: { pathPrefix: /orders } }]\n    backends: [{ host: orders:8080 }]`,
      right: `${GATEWAY}routes:\n- matches: [{ path: { pathPrefix: /team } }]\n  backends: [{ routeGroup: orders }]\nrouteGroups:\n- name: orders\n  routes:\n  - matches: [{ path: { pathPrefix: /team/orders } }]\n    backends: [{ host: orders:8080 }]`,
    },
  },
  {
    code: 'PC0322',
    severity: 'warning',
    title: 'a route group that no route delegates to',
    explanation:
      'Routes of a group serve requests that another route delegates to it. No route names this ' +
      'one, so its routes serve nothing, and what they say is not checked.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- backends: [{ host: orders:8080 }]\nrouteGroups:\n- name: orders\n  routes:\n  - backends: [{ host: orders:8080 }]`,
      right: `${GATEWAY}routes:\n- backends: [{ routeGroup: orders }]\nrouteGroups:\n- name: orders\n  routes:\n  - backends: [{ host: orders:8080 }]`,
    },
  },
])
