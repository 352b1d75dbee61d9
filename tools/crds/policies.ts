import type { Section } from '../../src/model/policy.ts'
import { webhook } from '../../src/policies/guardrails/schema.ts'
import { POLICY_SCHEMAS, plainSchema } from '../../src/policies/schema.ts'
import { conditionalList, LAST_MAY_BE_OPEN, orConditional } from './conditional.ts'
import { of, shaped } from './policy-shapes.ts'
import { backendRef, objectName, secretKeyRef, secretRef } from './references.ts'
import { authentication, keySet, oidc, ways } from './sign-in.ts'
import {
  atLeastOne,
  atMostOne,
  exactlyOne,
  list,
  object,
  type Structural,
  text,
  toStructural,
  validated,
  words,
} from './structural.ts'

/** The kinds of policy as they stand in Kubernetes, from the schemas of the file. */

/** The block of the specification: one action and its expressions. The short form is for files. */
function authorizationOf(kind: string): Structural {
  return { ...of(kind, { rules: undefined }), required: ['action', 'policy'] }
}

const authorization = authorizationOf('authorization')
const networkAuthorization = authorizationOf('networkAuthorization')
const mcpAuthorization = authorizationOf('mcpAuthorization')

/** `host`, `service` and `backend` of a file are one reference here. */
function withBackendRef(what: string, { properties, ...rest }: Structural): Structural {
  return {
    ...rest,
    required: ['backendRef'],
    properties: { backendRef: backendRef(what), ...properties },
  }
}

const NO_TARGET = { host: undefined, service: undefined, backend: undefined }

const extAuth = withBackendRef(
  'The service to call.',
  of('extAuthz', {
    ...NO_TARGET,
    failureMode: words('What to do if the service is unavailable.', ['Deny', 'Allow'], 'Deny'),
  }),
)

const extProc = withBackendRef(
  'The service to call.',
  of('extProc', {
    ...NO_TARGET,
    failureMode: words(
      'What happens if the service cannot be reached or understood.',
      ['FailClosed', 'FailOpen'],
      'FailClosed',
    ),
  }),
)

const calledGuard: Structural = withBackendRef(
  'The address of the service.',
  toStructural(webhook, {
    target: undefined,
    failureMode: words(
      'What happens when the service does not respond as it should.',
      ['Deny', 'Allow'],
      'Deny',
    ),
  }),
)
const guardrails = of('guardrails', {
  'request[].webhook': calledGuard,
  'response[].webhook': calledGuard,
  // Their keys are Secrets, which a guard has no field for: a webhook of one's own calls them.
  'request[].openAIModeration': undefined,
  'response[].openAIModeration': undefined,
  'request[].azureContentSafety': undefined,
  'response[].azureContentSafety': undefined,
  'request[].bedrockGuardrails': undefined,
  'response[].bedrockGuardrails': undefined,
})

const limits = of('localRateLimit', {
  // The form of buckets is for files that were written for others.
  '[].maxTokens': undefined,
  '[].tokensPerFill': undefined,
  '[].fillInterval': undefined,
  '[].type': undefined,
})
const limit: Structural = {
  ...limits.items,
  required: ['unit'],
  ...validated([exactlyOne(['requests', 'tokens'])]),
}
const remoteLimits = withBackendRef(
  'The rate limit service.',
  of('remoteRateLimit', {
    ...NO_TARGET,
    failureMode: words('What to do if the service is unavailable.', ['Deny', 'Allow'], 'Deny'),
  }),
)
const rateLimit = object(
  'Rejects requests over the limit with 429. In files these are `localRateLimit` and ' +
    '`remoteRateLimit`.',
  {
    local: { ...limits, items: limit },
    conditional: conditionalList(limit),
    global: { ...remoteLimits, required: ['backendRef', 'domain', 'descriptors'] },
  },
  atMostOne('local', 'conditional'),
  atLeastOne('local', 'conditional', 'global'),
  LAST_MAY_BE_OPEN,
)

const headerName = (what: string) =>
  text(what, { maxLength: 256, pattern: "^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$" })
const headerFields = (what: string): Structural => ({
  ...list(
    what,
    object('A header.', {
      'name!': headerName('Its name.'),
      'value!': { description: 'Its value.', type: 'string', maxLength: 8192 },
    }),
    0,
    16,
  ),
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
})
const headerChanges = (what: string, further: Readonly<Record<string, Structural>> = {}) =>
  object(`Changes headers of the ${what}: first \`remove\`, then \`set\`, then \`add\`.`, {
    ...further,
    set: headerFields('Headers that get this one value.'),
    add: headerFields('Headers that get a further value.'),
    remove: list('Headers to remove.', headerName('Its name.'), 0, 16),
  })
const computedHeaders: Structural = {
  description:
    'Headers that get the value of a CEL expression, which may read `response`; removed if it ' +
    'has no value. Applied after all others.',
  type: 'object',
  maxProperties: 16,
  additionalProperties: { type: 'string', minLength: 1, maxLength: 16_384 },
}
const headerModifiers = object(
  'Changes headers. In files these are `requestHeaders` and `responseHeaders`.',
  {
    request: headerChanges('request'),
    response: headerChanges('response', { compute: computedHeaders }),
  },
  atLeastOne('request', 'response'),
)

const version = (what: string) => words(what, ['1.2', '1.3'])
const sampling = (what: string) =>
  text(`${what} A share such as \`0.1\`, or a CEL expression.`, { maxLength: 16_384 })

const certificateRef = (what: string) =>
  object(what, {
    kind: { ...words('The kind.', ['ConfigMap', 'Secret']), default: 'ConfigMap' },
    'name!': objectName('The name.'),
  })

const fromFile = of('backendTLS', { root: undefined, cert: undefined, key: undefined })
const backendTls: Structural = {
  ...fromFile,
  properties: {
    caCertificateRefs: list(
      'Certificates of the authorities to trust, in the entry `ca.crt`.',
      certificateRef('An authority.'),
      1,
      8,
    ),
    mtlsCertificateRef: secretRef('The certificate to show to the backend.'),
    ...fromFile.properties,
  },
}

const expressionText = (what: string) => text(what, { maxLength: 16_384 })
const computedFields = (what: string, pseudo: string): Structural => ({
  ...list(
    what,
    object('A header.', {
      'name!': text(`Its name${pseudo}.`, {
        maxLength: 256,
        pattern: "^:?[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$",
      }),
      'value!': expressionText('A CEL expression.'),
    }),
    0,
    16,
  ),
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
})
const computedChanges = (what: string, pseudo: string) =>
  object(`Changes of the ${what}.`, {
    set: computedFields('Headers that get this one value.', pseudo),
    add: computedFields('Headers that get a further value.', ''),
    remove: list('Headers to remove.', headerName('Its name.'), 0, 16),
    body: expressionText('A CEL expression for what takes the place of the body.'),
    metadata: {
      description: 'What later policies, backend rules and logs read as `metadata`.',
      type: 'object',
      maxProperties: 16,
      additionalProperties: { type: 'string', minLength: 1, maxLength: 16_384 },
    },
  })
const transformation = object(
  'Changes headers, body and metadata by expressions. In files it is `transformations`.',
  {
    request: computedChanges('request', ', `:path` or `:authority`'),
    response: computedChanges('response', ' or `:status`'),
  },
  atLeastOne('request', 'response'),
)

const authFromFile = of('backendAuth', {
  key: undefined,
  'aws.accessKeyId': undefined,
  'aws.secretAccessKey': undefined,
  'aws.sessionToken': undefined,
  // A namespace could send what the pod of the proxy is known by to a backend of its own.
  azure: undefined,
  jwtSign: undefined,
  credentials: undefined,
  // Its pages are served before the routes of all namespaces.
  oauthUserToken: undefined,
  'oauthTokenExchange.clientSecret': undefined,
})
const aws = authFromFile.properties?.['aws'] as Structural
const tokenExchange = authFromFile.properties?.['oauthTokenExchange'] as Structural
const backendAuth: Structural = {
  ...authFromFile,
  properties: {
    secretRef: secretKeyRef('A Secret with the key.', 'Authorization'),
    ...authFromFile.properties,
    aws: {
      ...aws,
      required: ['secretRef'],
      properties: {
        secretRef: secretRef(
          'A Secret with `accessKeyId` and `secretAccessKey`, and `sessionToken` if they are temporary.',
        ),
        ...aws.properties,
      },
    },
    oauthTokenExchange: {
      ...tokenExchange,
      properties: {
        ...tokenExchange.properties,
        clientSecretRef: secretKeyRef('A Secret with the secret of the client.', 'clientSecret'),
      },
      ...validated([atLeastOne('audiences', 'resources')]),
    },
  },
  ...validated([exactlyOne(['secretRef', 'passthrough', 'aws', 'oauthTokenExchange'])]),
}

const agentFromFile = of('a2a', { 'verify.jwks': keySet, 'sign.key': undefined })
const signing = agentFromFile.properties?.['sign'] as Structural
const agent: Structural = {
  ...agentFromFile,
  properties: {
    ...agentFromFile.properties,
    sign: {
      ...signing,
      properties: {
        secretRef: secretKeyRef('A Secret with the private key in PEM.', 'tls.key'),
        ...signing.properties,
      },
      required: ['secretRef', 'keyId'],
    },
  },
}

const logFromFile = of('accessLog', {
  'otlp.host': undefined,
  'otlp.service': undefined,
  'otlp.backend': undefined,
  'otlp.headers': undefined,
})
const accessLog: Structural = {
  ...logFromFile,
  properties: {
    ...logFromFile.properties,
    otlp: withBackendRef('The collector.', logFromFile.properties?.['otlp'] as Structural),
  },
}

/** What runs for a connection. */
export const FRONTEND: Readonly<Record<string, Structural>> = {
  networkAuthorization,
  proxyProtocol: of('proxyProtocol'),
  tcp: of('frontendTcp'),
  tls: of('frontendTls', {
    minVersion: version('The minimum TLS version.'),
    maxVersion: version('The maximum TLS version.'),
  }),
  http: of('frontendHttp'),
  // The word of others that nothing here does is refused by the API server already.
  connect: of('connect', { mode: words('Deny: CONNECT gets 405.', ['Deny'], 'Deny') }),
  accessLog,
  tracing: withBackendRef(
    'The collector.',
    of('tracing', {
      ...NO_TARGET,
      headers: undefined,
      randomSampling: sampling('The share of requests that start a trace.'),
      clientSampling: sampling('Whether to continue traces that clients started.'),
    }),
  ),
  ...plain('frontend'),
}

/** What runs for a request. Filters of routes do redirects, rewrites and mirrors. */
export const TRAFFIC: Readonly<Record<string, Structural>> = {
  compression: of('compression'),
  delay: of('delay', {
    duration: expressionText('A duration, or a CEL expression for one or for milliseconds.'),
  }),
  timeouts: of('timeout'),
  cors: of('cors'),
  csrf: of('csrf'),
  ...ways,
  authentication,
  oidc,
  extAuth: orConditional(extAuth),
  extProc: orConditional(extProc),
  authorization,
  rateLimit,
  transformation: orConditional(transformation),
  buffer: { ...of('buffer'), ...validated([atLeastOne('request', 'response')]) },
  headerModifiers,
  directResponse: orConditional({
    ...of('directResponse'),
    ...validated([atMostOne('body', 'bodyExpression')]),
  }),
  retry: of('retry'),
  ...plain('traffic'),
}

/** What runs once a backend is chosen. */
export const BACKEND: Readonly<Record<string, Structural>> = {
  authorization,
  extAuth: orConditional(extAuth),
  auth: backendAuth,
  transformation: orConditional(transformation),
  headerModifiers,
  loadBalancer: {
    ...of('loadBalancer'),
    ...validated([
      {
        rule: "has(self.hashKey) == (has(self.algorithm) && self.algorithm == 'ConsistentHash')",
        message: 'hashKey goes with the algorithm ConsistentHash, and only with it',
      },
    ]),
  },
  healthCheck: of('healthCheck'),
  health: of('outlierDetection'),
  connectionLimits: of('connectionLimits'),
  tcp: of('tcp'),
  tls: backendTls,
  http: of('http', { version: words('The version of HTTP.', ['HTTP1', 'HTTP2']) }),
  guardrails,
  a2a: agent,
  ...plain('backend'),
}

/** The others of a section, as they stand in a file. */
function plain(section: Section): Readonly<Record<string, Structural>> {
  const own = POLICY_SCHEMAS.filter(({ kind, sections }) => sections[section] && !shaped.has(kind))
  return Object.fromEntries(own.map(({ kind }) => [kind, toStructural(plainSchema(kind))]))
}

export const MCP = object('MCP servers and tools.', { 'authorization!': mcpAuthorization })
