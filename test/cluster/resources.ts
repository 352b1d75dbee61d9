/** ProxyPolicy and ProxyBackend objects that the API server must accept or reject. */

type Spec = Readonly<Record<string, unknown>>

const GATEWAY = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }
const ROUTE = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'orders' }
const SERVICE = { group: '', kind: 'Service', name: 'orders' }
const BACKEND = { group: 'portcullis.dev', kind: 'ProxyBackend', name: 'llm' }
const KEYS = '{"keys":[{"use":"sig","kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"}]}'

export function block(action: string, ...matchExpressions: readonly string[]) {
  return { action, policy: { matchExpressions } }
}

const jwt = {
  mode: 'Strict',
  providers: [{ issuer: 'https://issuer.example.com', jwks: { inline: KEYS } }],
}
const allow = block('Allow', "jwt.sub == 'alice'")
const traffic = (section: Spec, ...targetRefs: readonly Spec[]) => ({
  targetRefs: targetRefs.length === 0 ? [GATEWAY] : targetRefs,
  traffic: section,
})
const provider = (rest: Spec = {}) => ({
  name: 'first',
  provider: { openAI: { model: 'gpt' } },
  ...rest,
})

// biome-ignore format: tables, one object to a line
export const VALID_POLICIES: Readonly<Record<string, Spec>> = {
  'traffic.authorization with one Allow': traffic({ authorization: allow }),
  'traffic.authorization and jwtAuthentication together': traffic({ authorization: allow, jwtAuthentication: jwt }),
  Require: traffic({ authorization: block('Require', "request.headers['x-internal'] == 'true'", "has(jwt.group) && jwt.group == 'eng'") }),
  Deny: traffic({ authorization: block('Deny', "request.path.startsWith('/admin')") }),
  'audit mode': traffic({ authorization: { ...allow, mode: 'Audit' } }),
  'a route as the target': traffic({ authorization: allow }, ROUTE),
  'a rule of a route as the target': traffic({ authorization: allow }, { ...ROUTE, sectionName: 'first' }),
  'frontend.networkAuthorization by address': { targetRefs: [GATEWAY], frontend: { networkAuthorization: block('Require', "cidr('10.0.0.0/8').containsIP(source.address)") } },
  'frontend.networkAuthorization by server name': { targetRefs: [GATEWAY], frontend: { networkAuthorization: block('Require', "destination.hostname == 'a.example.com'") } },
  'frontend on one port': { targetRefs: [{ ...GATEWAY, port: 8443 }], frontend: { networkAuthorization: allow } },
  'backend.authorization on a Service': { targetRefs: [SERVICE], backend: { authorization: block('Allow', "request.method == 'GET'") } },
  'backend.mcp.authorization on a ProxyBackend': { targetRefs: [BACKEND], backend: { mcp: { authorization: block('Allow', "mcp.tool.name == 'echo'") } } },
  'backend.authorization on a Gateway': { targetRefs: [GATEWAY], backend: { authorization: allow } },
  'policies that depend on a condition': traffic({
    extAuth: { conditional: [{ condition: "request.path.startsWith('/a')", backendRef: { name: 'authz', port: 9000 } }, { backendRef: { name: 'authz', port: 9000 } }] },
    rateLimit: { conditional: [{ condition: "request.method == 'POST'", requests: 1, unit: 'Minutes' }, { requests: 9, unit: 'Minutes' }] },
    transformation: { conditional: [{ condition: 'true', request: { remove: ['x-a'] } }] },
    directResponse: { conditional: [{ condition: "request.path == '/'", status: 204 }] },
  }),
  'policies of a backend that depend on a condition': { targetRefs: [SERVICE], backend: {
    extAuth: { conditional: [{ condition: "backend.name == 'a'", backendRef: { name: 'authz', port: 9000 } }, { backendRef: { name: 'authz', port: 9000 } }] },
    transformation: { conditional: [{ condition: 'true', request: { remove: ['x-a'] } }] },
  } },
  'targets by labels': { targetSelectors: [{ group: GATEWAY.group, kind: 'Gateway', matchLabels: { team: 'a' } }], traffic: { authorization: allow } },
  'remote keys': traffic({ jwtAuthentication: { providers: [{ issuer: 'i', audiences: ['a'], jwks: { remote: { url: 'https://issuer.example.com/keys', cacheDuration: '5m' } } }] } }),
  'remote keys at a Service': traffic({ jwtAuthentication: { providers: [{ issuer: 'i', jwks: { remote: { backendRef: { name: 'keys', port: 80 }, jwksPath: '/keys' } } }] } }),
  'all sections': { targetRefs: [GATEWAY], frontend: { http: { maxHeadSize: '64Ki' } }, traffic: { cors: { allowOrigins: ['*'] } }, backend: { http: { version: 'HTTP2' } } },
  'a size as a number': { targetRefs: [GATEWAY], frontend: { http: { maxHeadSize: 65_536 } } },
  'other traffic policies': traffic({
    timeouts: { request: '10s' },
    retry: { attempts: 2, codes: [503] },
    rateLimit: {
      local: [{ requests: 100, unit: 'Minutes', key: 'jwt.sub' }],
      global: { backendRef: { name: 'limits', port: 8081 }, domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'jwt.sub' }], type: 'tokens' }] },
    },
    headerModifiers: { request: { set: [{ name: 'x-a', value: 'b' }], remove: ['x-c'] } },
    basicAuthentication: { secretRef: { name: 'users' } },
    extAuth: { backendRef: { name: 'authz', port: 9000 }, protocol: { http: { path: "'/check'" } } },
  }),
  'any of several ways to sign in': traffic({ authentication: { mode: 'Optional', anyOf: [{ jwtAuthentication: jwt }, { apiKeyAuthentication: { secretRef: { name: 'keys' } } }] } }),
  'API keys by labels': traffic({ apiKeyAuthentication: { secretSelector: { matchLabels: { keys: 'edge' } } } }),
  '256 expressions': traffic({ authorization: block('Allow', ...Array.from({ length: 256 }, (_, index) => `jwt.sub == 'u${index}'`)) }),
}

/** Description → the spec, and the expected message. */
// biome-ignore format: a table
export const INVALID_POLICIES: Readonly<Record<string, readonly [Spec, RegExp]>> = {
  'no action': [traffic({ authorization: { policy: { matchExpressions: ['true'] } } }), /traffic\.authorization\.action: Required value/],
  'an action that there is not': [traffic({ authorization: block('Permit', 'true') }), /Unsupported value: "Permit": supported values: "Allow", "Require", "Deny"/],
  'an action in lower case': [traffic({ authorization: block('allow', 'true') }), /Unsupported value: "allow"/],
  'no policy': [traffic({ authorization: { action: 'Allow' } }), /traffic\.authorization\.policy: Required value/],
  'no expression': [traffic({ authorization: { action: 'Allow', policy: { matchExpressions: [] } } }), /matchExpressions: Invalid value.*should have at least 1 items/],
  'no matchExpressions': [traffic({ authorization: { action: 'Allow', policy: {} } }), /matchExpressions: Required value/],
  'an empty expression': [traffic({ authorization: block('Allow', '') }), /should be at least 1 chars long/],
  'an expression that is no text': [traffic({ authorization: { action: 'Allow', policy: { matchExpressions: [true] } } }), /must be of type string/],
  'too many expressions': [traffic({ authorization: block('Allow', ...Array.from({ length: 257 }, () => 'true')) }), /must have at most 256 items/],
  'the short form of files': [traffic({ authorization: { rules: [{ allow: 'true' }] } }), /action: Required value|unknown field/],
  'no target': [{ traffic: { authorization: allow } }, /exactly one of targetRefs, targetSelectors must be set/],
  'an empty list of targets': [{ targetRefs: [], traffic: { authorization: allow } }, /should have at least 1 items/],
  'both kinds of targets': [{ targetRefs: [GATEWAY], targetSelectors: [{ group: GATEWAY.group, kind: 'Gateway', matchLabels: { a: 'b' } }], traffic: { authorization: allow } }, /exactly one of targetRefs, targetSelectors/],
  'no section': [{ targetRefs: [GATEWAY] }, /at least one of traffic, frontend, backend must be set/],
  'an empty section': [traffic({}), /at least one of .*timeouts, .*authorization/],
  'traffic on a Service': [traffic({ authorization: allow }, SERVICE), /target of traffic must be a Gateway.*use backend\.authorization/],
  'traffic on a ProxyBackend': [traffic({ authorization: allow }, BACKEND), /target of traffic must be a Gateway/],
  'traffic on a Gateway and a Service': [traffic({ authorization: allow }, GATEWAY, SERVICE), /target of traffic must be a Gateway/],
  'traffic by labels of Services': [{ targetSelectors: [{ group: '', kind: 'Service', matchLabels: { a: 'b' } }], traffic: { authorization: allow } }, /target of traffic must be a Gateway/],
  'frontend on a route': [{ targetRefs: [ROUTE], frontend: { networkAuthorization: allow } }, /frontend applies to connections: its target must be a Gateway/],
  'frontend on a Service': [{ targetRefs: [SERVICE], frontend: { networkAuthorization: allow } }, /its target must be a Gateway/],
  'a target in another namespace': [traffic({ authorization: allow }, { ...GATEWAY, namespace: 'other' }), /unknown field "spec\.targetRefs\[0\]\.namespace"/],
  'a target of a kind that there is not': [traffic({ authorization: allow }, { group: '', kind: 'Pod', name: 'a' }), /a policy can target a Service/],
  'a Service of another group': [{ targetRefs: [{ ...SERVICE, group: 'apps' }], backend: { authorization: allow } }, /a policy can target a Service/],
  'a target without a name': [traffic({ authorization: allow }, { group: '', kind: 'Service' }), /targetRefs\[0\]\.name: Required value/],
  'a target without a group': [traffic({ authorization: allow }, { kind: 'Gateway', name: 'a' }), /targetRefs\[0\]\.group: Required value/],
  'a port without frontend': [traffic({ authorization: allow }, { ...GATEWAY, port: 80 }), /port of a target can only be set together with frontend/],
  'a port and a section': [{ targetRefs: [{ ...GATEWAY, port: 80, sectionName: 'a' }], frontend: { networkAuthorization: allow } }, /at most one of sectionName, port/],
  'a mode that there is not': [traffic({ jwtAuthentication: { ...jwt, mode: 'Lax' } }), /Unsupported value: "Lax": supported values: "Strict", "Optional", "Permissive"/],
  'no providers': [traffic({ jwtAuthentication: { mode: 'Strict' } }), /providers: Required value/],
  'a provider without an issuer': [traffic({ jwtAuthentication: { providers: [{ jwks: { inline: KEYS } }] } }), /providers\[0\]\.issuer: Required value/],
  'a provider without keys': [traffic({ jwtAuthentication: { providers: [{ issuer: 'i' }] } }), /providers\[0\]\.jwks: Required value/],
  'a way to sign in that is two': [traffic({ authentication: { anyOf: [{ jwtAuthentication: jwt, basicAuthentication: { users: ['a:b'] } }] } }), /exactly one of jwtAuthentication, basicAuthentication, apiKeyAuthentication/],
  'keys inline and remote': [traffic({ jwtAuthentication: { providers: [{ issuer: 'i', jwks: { inline: KEYS, remote: { url: 'https://a' } } }] } }), /exactly one of inline, remote/],
  'a path of keys without a backend': [traffic({ jwtAuthentication: { providers: [{ issuer: 'i', jwks: { remote: { url: 'https://a', jwksPath: '/k' } } }] } }), /jwksPath and backendRef must be set together/],
  'a Service without a port': [traffic({ extAuth: { backendRef: { name: 'a' } } }), /port is required for a Service/],
  'a condition beside what it is not for': [traffic({ directResponse: { status: 204, conditional: [{ status: 204 }] } }), /conditional cannot be combined/],
  'an entry without a condition that is not the last': [traffic({ directResponse: { conditional: [{ status: 204 }, { condition: 'true', status: 204 }] } }), /only the last entry of conditional/],
  'an entry without what the policy needs': [traffic({ extAuth: { conditional: [{ condition: 'true' }] } }), /backendRef: Required value/],
  'a condition beside what it is not for, at a backend': [{ targetRefs: [SERVICE], backend: { transformation: { request: { remove: ['x-a'] }, conditional: [{ request: { remove: ['x-a'] } }] } } }, /conditional cannot be combined/],
  'neither a service nor conditions': [traffic({ extAuth: { timeout: '1s' } }), /backendRef or conditional must be set/],
  'limits with and without conditions': [traffic({ rateLimit: { local: [{ requests: 1, unit: 'Seconds' }], conditional: [{ requests: 1, unit: 'Seconds' }] } }), /at most one of local, conditional/],
  'a limit without a way to count': [traffic({ rateLimit: {} }), /rateLimit/],
  'a service without its domain': [traffic({ rateLimit: { global: { backendRef: { name: 'limits', port: 8081 }, descriptors: [{ entries: [{ key: 'a', value: "'b'" }] }] } } }), /domain: Required value/],
  'a limit of nothing in an entry': [traffic({ rateLimit: { conditional: [{ unit: 'Seconds' }] } }), /exactly one of requests, tokens/],
  'a limit without a unit': [traffic({ rateLimit: { local: [{ requests: 1 }] } }), /unit: Required value/],
  'a limit of nothing': [traffic({ rateLimit: { local: [{ unit: 'Seconds' }] } }), /exactly one of requests, tokens/],
  'a duration in words': [traffic({ timeouts: { request: 'soon' } }), /timeouts\.request.*should match/],
  'a key that there is not': [traffic({ authorisation: allow }), /unknown field "spec\.traffic\.authorisation"/],
  'a response with two bodies': [traffic({ directResponse: { status: 200, body: 'a', bodyExpression: "'b'" } }), /at most one of body, bodyExpression/],
}

// biome-ignore format: a table
export const VALID_BACKENDS: Readonly<Record<string, Spec>> = {
  'policies.authorization for the whole backend': { ai: { groups: [{ providers: [provider()] }] }, policies: { authorization: allow } },
  'policies.authorization of one provider': { ai: { groups: [{ providers: [provider({ policies: { authorization: block('Require', "request.method == 'POST'") } })] }] } },
  'one provider': { ai: { provider: provider() } },
  'two groups': { ai: { groups: [{ providers: [provider()] }, { providers: [provider()] }] } },
  'an MCP server': { mcp: { targets: [{ name: 'time', static: { host: 'time.example.com', port: 443, protocol: 'StreamableHTTP' } }] } },
  'an MCP server with pins': { mcp: { targets: [{ name: 'time', static: { host: 'a', port: 1 }, pins: { configMapRef: { name: 'pins' } } }] } },
  'an API as an MCP server': { mcp: { targets: [{ name: 'api', openapi: { host: 'a', port: 1, schema: { configMapRef: { name: 'api' } } } }] } },
  'a forward proxy with a target of its own': { dynamicForwardProxy: { target: "request.headers['x-target']" } },
  'credentials of AWS': { ai: { provider: { name: 'p', provider: { bedrock: { region: 'eu-west-1' } }, policies: { auth: { aws: { secretRef: { name: 'aws' } } } } }, allowEndpoints: ['/v1/files'] } },
  'MCP servers by labels': { mcp: { targets: [{ name: 'all', selector: { services: { matchLabels: { mcp: 'yes' } } } }] }, policies: { mcp: { authorization: allow } } },
  'a host': { static: { host: 'api.example.com', port: 443 } },
  'any host': { dynamicForwardProxy: {} },
  'an agent': { a2a: { host: 'agent', port: 9000 } },
}

// biome-ignore format: a table
export const INVALID_BACKENDS: Readonly<Record<string, readonly [Spec, RegExp]>> = {
  nothing: [{}, /exactly one of ai, mcp, static, dynamicForwardProxy, a2a must be set/],
  'two things': [{ static: { host: 'a', port: 1 }, a2a: { host: 'a', port: 1 } }, /exactly one of ai/],
  'policies.authorization without action': [{ static: { host: 'a', port: 1 }, policies: { authorization: { policy: { matchExpressions: ['true'] } } } }, /policies\.authorization\.action: Required value/],
  'a provider whose authorization has no expression': [{ ai: { groups: [{ providers: [provider({ policies: { authorization: { action: 'Allow', policy: { matchExpressions: [] } } } })] }] } }, /should have at least 1 items/],
  'a provider that is two': [{ ai: { provider: { name: 'a', provider: { openAI: {}, anthropic: {} } } } }, /exactly one of openAI, anthropic/],
  'a host without a port': [{ static: { host: 'a' } }, /host and port must be set together/],
  'a port out of range': [{ a2a: { host: 'a', port: 70_000 } }, /should be less than or equal to 65535/],
  'an MCP server whose name ends early': [{ mcp: { targets: [{ name: 'a_b', static: { host: 'a', port: 1 } }] } }, /name.*should match/],
  'an API without its document': [{ mcp: { targets: [{ name: 'a', openapi: { host: 'a', port: 1, schema: {} } }] } }, /exactly one of configMapRef, url must be set/],
  'two kinds of an MCP server': [{ mcp: { targets: [{ name: 'a', static: { host: 'a', port: 1 }, openapi: { host: 'a', port: 1, schema: { url: 'https://a' } } }] } }, /exactly one of static, openapi, selector must be set/],
  'a key and credentials of AWS': [{ static: { host: 'a', port: 1 }, policies: { auth: { secretRef: { name: 'k' }, aws: { secretRef: { name: 'k' } } } } }, /exactly one of secretRef, passthrough, aws, oauthTokenExchange must be set/],
  'two MCP servers of one name': [{ mcp: { targets: [{ name: 'a', static: { host: 'a', port: 1 } }, { name: 'a', static: { host: 'b', port: 1 } }] } }, /Duplicate value/],
  'policies.mcp for something else': [{ static: { host: 'a', port: 1 }, policies: { mcp: { authorization: allow } } }, /policies\.mcp can only be set together with mcp/],
}

// biome-ignore format: a table
export const VALID_PARAMETERS: Readonly<Record<string, Spec>> = {
  'spec.istio.enabled': { istio: { enabled: false } },
  overlays: { deployment: { spec: { replicas: 2 } }, podDisruptionBudget: {}, service: { metadata: { annotations: { a: 'b' } } } },
  'a daemon set': { workload: { kind: 'DaemonSet' }, daemonSet: { spec: {} } },
  resources: { resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { cpu: 1 } }, logging: { level: 'debug' } },
}

// biome-ignore format: a table
export const INVALID_PARAMETERS: Readonly<Record<string, readonly [Spec, RegExp]>> = {
  'a daemon set that is none': [{ daemonSet: {} }, /daemonSet can only be set if workload\.kind is DaemonSet/],
  'an autoscaler for a daemon set': [{ workload: { kind: 'DaemonSet' }, horizontalPodAutoscaler: {} }, /can only be set if workload\.kind is Deployment/],
  'times in the wrong order': [{ shutdown: { min: 9, max: 1 } }, /min must not be greater than max/],
  'a log level that there is not': [{ logging: { level: 'loud' } }, /Unsupported value: "loud"/],
}

const PARENTS = { parentRefs: [{ name: 'edge' }] }

// biome-ignore format: a table
export const VALID_MODELS: Readonly<Record<string, Spec>> = {
  'a model of a provider': { ...PARENTS, provider: 'OpenAI', match: { model: 'gpt-*' }, policies: { authorization: allow } },
  'a virtual model': { ...PARENTS, virtualModel: { failover: { targets: [{ model: 'a', priority: 0 }, { model: 'b', priority: 1 }] } } },
  'Vertex AI': { ...PARENTS, provider: 'VertexAI', vertexai: { projectId: 'p' } },
}

// biome-ignore format: a table
export const INVALID_MODELS: Readonly<Record<string, readonly [Spec, RegExp]>> = {
  'no parent': [{ provider: 'OpenAI' }, /parentRefs: Required value/],
  'neither provider nor virtual': [PARENTS, /exactly one of provider, virtualModel/],
  'options of another provider': [{ ...PARENTS, provider: 'OpenAI', bedrock: {} }, /bedrock can only be set with provider Bedrock/],
  'Ollama without an address': [{ ...PARENTS, provider: 'Ollama' }, /baseURL is required for provider Ollama/],
  'a star in the middle': [{ ...PARENTS, provider: 'OpenAI', match: { model: 'a*b' } }, /should match/],
}
