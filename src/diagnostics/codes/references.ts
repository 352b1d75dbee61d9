import { ADMIN_UI_CODES } from './admin-ui.ts'
import { defineCodes } from './define.ts'

const GATEWAY = 'gateways:\n  default: { port: 8080 }\n'

export const REFERENCE_CODES = defineCodes('PC03', 'References and conflicts', [
  {
    code: 'PC0301',
    severity: 'error',
    title: 'unknown gateway or listener',
    explanation:
      'A route refers to a gateway that is not defined, or to a listener that its gateway does ' +
      'not have. A route without `gateways` belongs to the gateway `default`, so this also ' +
      'happens if no gateway has that name. To refer to a listener of a gateway, use a slash: ' +
      '`public/https`. Until this is fixed, the route gets no requests.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- gateways: defualt\n  backends:\n  - host: api:8080`,
      right: `${GATEWAY}routes:\n- gateways: default\n  backends:\n  - host: api:8080`,
    },
  },
  {
    code: 'PC0302',
    severity: 'error',
    title: 'unknown backend',
    explanation:
      'A route or policy refers to a backend by a name that is not defined in `backends`. Names ' +
      'must match exactly. A backend that is used only once can also be defined inline, with ' +
      '`host:` instead of `backend:`. Until this is fixed, its share of the requests gets 500.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}backends:\n- name: orders\n  host: orders:8080\nroutes:\n- backends:\n  - backend: order`,
      right: `${GATEWAY}backends:\n- name: orders\n  host: orders:8080\nroutes:\n- backends:\n  - backend: orders`,
    },
  },
  {
    code: 'PC0303',
    severity: 'error',
    title: 'duplicate name',
    explanation:
      'Two routes, two backends or two listeners of a gateway have the same name. Policies, ' +
      'metrics, logs and decision records refer to them by name, and a reload uses names to ' +
      'detect what has not changed, so each name must be unique. The first one keeps the name; ' +
      'the other responds with 500 until this is fixed.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- name: api\n  backends: [{ host: "a:80" }]\n- name: api\n  backends: [{ host: "b:80" }]`,
      right: `${GATEWAY}routes:\n- name: api\n  backends: [{ host: "a:80" }]\n- name: api-2\n  matches: [{ path: { pathPrefix: /2 } }]\n  backends: [{ host: "b:80" }]`,
    },
  },
  {
    code: 'PC0304',
    severity: 'error',
    title: 'port already in use',
    explanation:
      'Two gateways listen on the same port, or a gateway listens on a port that the process ' +
      'itself uses for its admin API, metrics or readiness. Within a gateway, several listeners ' +
      'can share a port if they have different values of `hostname`. The first gateway keeps ' +
      'the port.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  public: { port: 8080 }\n  internal: { port: 8080 }',
      right: 'gateways:\n  public: { port: 8080 }\n  internal: { port: 8081 }',
    },
  },
  {
    code: 'PC0305',
    severity: 'error',
    title: 'both TLS and plaintext on the same port',
    explanation:
      'Some listeners of the port use TLS and others do not. A port must be one or the other, ' +
      'because clients decide before they connect. Use a separate port for each; to redirect ' +
      'from the plaintext port to the other, use a route with `requestRedirect`.',
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
    title: 'both HTTP and TCP on the same port',
    explanation:
      'One listener of the port accepts HTTP requests and another accepts arbitrary bytes. ' +
      'Without TLS there is no server name to distinguish their connections before the first ' +
      'byte is read. Use a separate port for each, or use TLS for both, so that the server name ' +
      'decides.',
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
    title: 'two listeners with the same hostname',
    explanation:
      'Two listeners of the same port serve the same hostname, or both serve all hostnames. It ' +
      'would be undefined which of them a connection belongs to, and therefore which ' +
      'certificate and policies apply. Use different hostnames, or merge the listeners.',
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
    title: 'protocol and TLS settings do not match',
    explanation:
      'HTTPS requires a certificate; HTTP and TCP do not support one. `protocol: TLS` works ' +
      'with and without: with a certificate, the gateway terminates TLS and forwards the ' +
      'decrypted bytes to a TCP route; without one, the encrypted bytes are passed through by ' +
      'server name. If `protocol` is omitted, a listener with `tls` is HTTPS, and one without ' +
      'is HTTP.',
    example: {
      language: 'yaml',
      wrong: 'gateways:\n  default: { port: 8443, protocol: HTTPS }',
      right: 'gateways:\n  default: { port: 8443, protocol: TLS }',
    },
  },
  {
    code: 'PC0309',
    severity: 'error',
    title: 'a policy cannot be set here',
    explanation:
      'The policy exists, but not at this level. Decisions about connections are made before ' +
      'any route is known, so `networkAuthorization` is set under `frontendPolicies`; policies ' +
      'about the chosen backend are set on a backend or above it; redirects, retries and ' +
      'authentication apply to requests and are set on routes, listeners and gateways.',
    example: {
      language: 'yaml',
      wrong: `backends:\n- name: api\n  host: api:8080\n  policies:\n    cors: { allowOrigins: ["*"] }`,
      right: `${GATEWAY}routes:\n- policies:\n    cors: { allowOrigins: ["*"] }\n  backends:\n  - host: api:8080`,
    },
  },
  {
    code: 'PC0310',
    severity: 'error',
    title: 'a referenced file cannot be read',
    explanation:
      'A certificate, a key, a key set or another file that the configuration refers to does ' +
      'not exist, is not readable, or is not text. Relative paths are resolved against the ' +
      'folder of the configuration file, not against the working directory of the gateway. ' +
      'Referenced files are watched: when one changes, the gateway reloads.',
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
    title: 'a policy without effect because another one takes precedence',
    explanation:
      'Two policies set the same field at the same level, and only one of them can apply: the ' +
      'first one, with inline policies before attached ones. Authentication and authorization ' +
      'are different: those of all policies apply together. Remove one of the two, or attach ' +
      'them at different levels.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- name: api\n  policies:\n    timeout: { request: 10s }\n  backends: [{ host: "api:80" }]\npolicies:\n- name: slow\n  target: { route: api }\n  traffic:\n    timeout: { request: 60s }`,
      right: `${GATEWAY}routes:\n- name: api\n  backends: [{ host: "api:80" }]\npolicies:\n- name: slow\n  target: { route: api }\n  traffic:\n    timeout: { request: 60s }`,
    },
  },
  {
    code: 'PC0312',
    severity: 'error',
    title: 'wrong kind of route for the gateway',
    explanation:
      '`routes` are for HTTP and HTTPS listeners, `tcpRoutes` for TCP and TLS listeners. A ' +
      'listener with `protocol: TLS` forwards the decrypted bytes without parsing HTTP, so it ' +
      'uses `tcpRoutes` even if clients speak HTTP. To handle requests, use `protocol: HTTPS`.',
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
    title: 'unreachable route',
    explanation:
      'No listener that the route is attached to serves any of its hostnames: the listener ' +
      'accepts only other hostnames and rejects the rest before routes are evaluated. Add the ' +
      'hostname to a listener, or attach the route to another one. A wildcard requires at least ' +
      'one label: `*.example.com` does not match `example.com`.',
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
      'An entry of `policies` is attached to a gateway, listener, route or backend that does ' +
      'not exist. A policy without a target protects nothing although it appears to. Routes and ' +
      'backends can only be targeted if they have a `name`; a listener is targeted with ' +
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
    title: 'a route without a destination',
    explanation:
      'The route has no backend, or only backends with weight 0, and no policy that generates a ' +
      'response. Every request that it matches gets 500. Add a backend, a `requestRedirect` or ' +
      'a `directResponse`; to reject requests on purpose, use `directResponse` with the status ' +
      'that clients should see.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- name: closed\n  matches: [{ path: { pathPrefix: /old } }]`,
      right: `${GATEWAY}routes:\n- name: closed\n  matches: [{ path: { pathPrefix: /old } }]\n  policies:\n    directResponse: { status: 410 }`,
    },
  },
  {
    code: 'PC0316',
    severity: 'error',
    title: 'the address of a provider is unknown',
    explanation:
      'Requests to a provider are sent to its public host, if its settings determine one: ' +
      '`openAI` uses api.openai.com, `bedrock` a host of its region. There is no public host ' +
      'for a `custom` provider, for `vertex` without a region, and for `azure` unless ' +
      '`resourceType` is `openAI` or `foundry`. The gateway does not guess where to send ' +
      'requests that contain keys and prompts. Until this is fixed, the backend responds with ' +
      '500.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}backends:\n- name: models\n  ai:\n    name: gpt\n    provider: { azure: { resourceName: shop } }`,
      right: `${GATEWAY}backends:\n- name: models\n  ai:\n    name: gpt\n    provider: { azure: { resourceName: shop, resourceType: openAI } }`,
    },
  },
  {
    code: 'PC0317',
    severity: 'error',
    title: 'a backend that only HTTP routes can use',
    explanation:
      'A TCP route refers to an `ai` or `mcp` backend, or a policy refers to one as the service ' +
      'to call or as the target of mirrored requests. Rules decide for each request of a route ' +
      'which provider can be used, and a mirrored request or a call of the gateway itself would ' +
      'bypass them. Use a backend with addresses, or set the address directly with `host`.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}backends:\n- name: models\n  ai:\n    name: claude\n    provider: { anthropic: {} }\nroutes:\n- policies:\n    requestMirror: { backend: { backend: models } }\n  backends: [{ host: "api:80" }]`,
      right: `${GATEWAY}backends:\n- name: copies\n  host: copies:8080\nroutes:\n- policies:\n    requestMirror: { backend: { backend: copies } }\n  backends: [{ host: "api:80" }]`,
    },
  },
  {
    code: 'PC0318',
    severity: 'error',
    title: 'the admin API would be reachable from other machines',
    explanation:
      'The admin API shows the running configuration and decision records, and in database mode ' +
      'it changes the configuration. It is not encrypted. It therefore only listens on the ' +
      'local machine, unless `config.adminAllowRemote: true` is set. Metrics and readiness have ' +
      'separate addresses, `statsAddr` and `readinessAddr`, which other machines can reach.',
    example: {
      language: 'yaml',
      wrong: `config:\n  adminAddr: 0.0.0.0:15000\n${GATEWAY}routes:\n- backends: [{ host: "api:80" }]`,
      right: `config:\n  adminAddr: localhost:15000\n${GATEWAY}routes:\n- backends: [{ host: "api:80" }]`,
    },
  },
  {
    code: 'PC0319',
    severity: 'warning',
    title: 'the admin API is reachable from other machines',
    explanation:
      '`config.adminAllowRemote` allows the admin API to listen where other machines can reach ' +
      'it. Callers need a token: that of the environment variable `PORTCULLIS_ADMIN_TOKEN`, or ' +
      'one that the gateway prints at startup. The traffic is not encrypted; use a firewall or ' +
      'a network policy to control who can connect. Requests must use an IP address, localhost ' +
      'or the name of the machine as their host, to prevent DNS rebinding from browsers.',
    example: {
      language: 'yaml',
      wrong: `config:\n  adminAddr: 0.0.0.0:15000\n  adminAllowRemote: true\n${GATEWAY}routes:\n- backends: [{ host: "api:80" }]`,
      right: `config:\n  adminAddr: localhost:15000\n${GATEWAY}routes:\n- backends: [{ host: "api:80" }]`,
    },
  },
  {
    code: 'PC0320',
    severity: 'error',
    title: 'unknown or circular route group',
    explanation:
      'A route delegates to a group that is not defined in `routeGroups`, or a group delegates ' +
      'to itself through other groups. Names must match exactly. Until this is fixed, the ' +
      'delegated requests get 500.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- backends: [{ routeGroup: orders }]`,
      right: `${GATEWAY}routes:\n- backends: [{ routeGroup: orders }]\nrouteGroups:\n- name: orders\n  routes:\n  - backends: [{ host: orders:8080 }]`,
    },
  },
  {
    code: 'PC0321',
    severity: 'error',
    title: 'unreachable delegated route',
    explanation:
      'A request must match both the delegating route and the route of the group. The ' +
      'delegating route selects the paths to delegate with `pathPrefix`; the paths of the group ' +
      'must be below it, and its methods must be the same. A regular expression matches whole ' +
      'paths, so it can only be used if the other route matches `/`.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- matches: [{ path: { pathPrefix: /team } }]\n  backends: [{ routeGroup: orders }]\nrouteGroups:\n- name: orders\n  routes:\n  - matches: [{ path: { pathPrefix: /orders } }]\n    backends: [{ host: orders:8080 }]`,
      right: `${GATEWAY}routes:\n- matches: [{ path: { pathPrefix: /team } }]\n  backends: [{ routeGroup: orders }]\nrouteGroups:\n- name: orders\n  routes:\n  - matches: [{ path: { pathPrefix: /team/orders } }]\n    backends: [{ host: orders:8080 }]`,
    },
  },
  {
    code: 'PC0322',
    severity: 'warning',
    title: 'a route group without a delegating route',
    explanation:
      'The routes of a group serve requests that another route delegates to it. No route ' +
      'delegates to this group, so its routes serve nothing, and their contents are not ' +
      'checked.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- backends: [{ host: orders:8080 }]\nrouteGroups:\n- name: orders\n  routes:\n  - backends: [{ host: orders:8080 }]`,
      right: `${GATEWAY}routes:\n- backends: [{ routeGroup: orders }]\nrouteGroups:\n- name: orders\n  routes:\n  - backends: [{ host: orders:8080 }]`,
    },
  },
  {
    code: 'PC0323',
    severity: 'warning',
    title: 'the program of an MCP server does not exist',
    explanation:
      'An MCP server with `stdio` is a program that the gateway starts. `portcullis check` did ' +
      'not find it on this machine: the path does not exist, or no folder of `PATH` contains ' +
      'it. If the gateway runs elsewhere, check the file there.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}mcp:\n  targets:\n  - name: files\n    stdio: { cmd: mcp-server-fils }`,
      right: `${GATEWAY}mcp:\n  targets:\n  - name: files\n    stdio: { cmd: mcp-server-files }`,
      sketch: true,
    },
  },
  {
    code: 'PC0324',
    severity: 'warning',
    title: 'a budget in dollars without prices',
    explanation:
      'A budget in dollars counts calls by the prices in `config.modelCatalog`. A call to a ' +
      'model without a price is denied with 403, because its cost is unknown. Without a ' +
      'catalog, that is every call.',
    example: {
      language: 'yaml',
      wrong: `policies:\n  budgets:\n  - { usd: '5', per: Day }`,
      right: `config:\n  modelCatalog: [{ file: prices.json }]`,
      sketch: true,
    },
  },
  {
    code: 'PC0325',
    severity: 'warning',
    title: 'a placeholder instead of a key',
    explanation:
      'A key, password or token is read from an environment variable that is not set, and has ' +
      'a default. The gateway sends or accepts the default: a provider rejects it, and a client ' +
      'can know it.',
    example: {
      language: 'text',
      wrong: `params: { apiKey: '\${OPENAI_API_KEY:-unset}' }     # the variable is not set`,
      right: `params: { apiKey: '\${OPENAI_API_KEY}' }`,
      sketch: true,
    },
  },
  ...ADMIN_UI_CODES,
])
