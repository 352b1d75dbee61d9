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

/** The kinds of policy as written in Kubernetes, derived from the schemas of the file. */

/** The block of the specification: one action and its expressions. Only files have `rules`. */
function authorizationOf(kind: string): Structural {
  return { ...of(kind, { rules: undefined }), required: ['action', 'policy'] }
}

const authorization = authorizationOf('authorization')
const networkAuthorization = authorizationOf('networkAuthorization')
const mcpAuthorization = authorizationOf('mcpAuthorization')

/** Replaces `host`, `service` and `backend` of a file by one reference. */
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
      'What to do if the service is unavailable or sends an invalid message.',
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
      'What to do if the service is unavailable or sends an invalid response.',
      ['Deny', 'Allow'],
      'Deny',
    ),
  }),
)
const guardrails = of('guardrails', {
  'request[].webhook': calledGuard,
  'response[].webhook': calledGuard,
  // Their keys are Secrets, for which guards have no field; users can call them from a webhook.
  'request[].openAIModeration': undefined,
  'response[].openAIModeration': undefined,
  'request[].azureContentSafety': undefined,
  'response[].azureContentSafety': undefined,
  'request[].bedrockGuardrails': undefined,
  'response[].bedrockGuardrails': undefined,
})

const limits = of('localRateLimit', {
  // The token bucket form exists only for files written for other gateways.
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
      'name!': headerName('The name of the header.'),
      'value!': { description: 'The value of the header.', type: 'string', maxLength: 8192 },
    }),
    0,
    16,
  ),
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
})
const headerChanges = (what: string, further: Readonly<Record<string, Structural>> = {}) =>
  object(`Modifies ${what} headers: first \`remove\`, then \`set\`, then \`add\`.`, {
    ...further,
    set: headerFields('Headers to set, replacing existing values.'),
    add: headerFields('Headers to add, keeping existing values.'),
    remove: list('Headers to remove.', headerName('The name of the header.'), 0, 16),
  })
const computedHeaders: Structural = {
  description:
    'Headers to set, as CEL expressions, which can read `response`. A header is removed if its expression ' +
    'has no value. Applied after all other header changes.',
  type: 'object',
  maxProperties: 16,
  additionalProperties: { type: 'string', minLength: 1, maxLength: 16_384 },
}
const headerModifiers = object(
  'Modifies headers. In configuration files: `requestHeaders` and `responseHeaders`.',
  {
    request: headerChanges('request'),
    response: headerChanges('response', { compute: computedHeaders }),
  },
  atLeastOne('request', 'response'),
)

const version = (what: string) => words(what, ['1.2', '1.3'])
const sampling = (what: string) =>
  text(`${what} A number such as \`0.1\`, or a CEL expression.`, { maxLength: 16_384 })

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
      'CA certificates to trust, in the key `ca.crt`.',
      certificateRef('A CA certificate.'),
      1,
      8,
    ),
    mtlsCertificateRef: secretRef('The client certificate to present to the backend.'),
    ...fromFile.properties,
  },
}

const expressionText = (what: string) => text(what, { maxLength: 16_384 })
const computedFields = (what: string, pseudo: string): Structural => ({
  ...list(
    what,
    object('A header.', {
      'name!': text(`The name of the header${pseudo}.`, {
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
  object(`Changes to the ${what}.`, {
    set: computedFields('Headers to set, replacing existing values.', pseudo),
    add: computedFields('Headers to add, keeping existing values.', ''),
    remove: list('Headers to remove.', headerName('The name of the header.'), 0, 16),
    body: expressionText('A CEL expression that returns the new body.'),
    metadata: {
      description:
        'Values that are available to later policies, backend rules and logs as `metadata`.',
      type: 'object',
      maxProperties: 16,
      additionalProperties: { type: 'string', minLength: 1, maxLength: 16_384 },
    },
  })
const transformation = object(
  'Changes headers, bodies and metadata with CEL expressions. In configuration files: `transformations`.',
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
  // A namespace could send the identity of the proxy's pod to its own backend.
  azure: undefined,
  jwtSign: undefined,
  credentials: undefined,
  // Its pages take precedence over the routes of all namespaces.
  oauthUserToken: undefined,
  'oauthTokenExchange.clientSecret': undefined,
})
const aws = authFromFile.properties?.['aws'] as Structural
const tokenExchange = authFromFile.properties?.['oauthTokenExchange'] as Structural
const backendAuth: Structural = {
  ...authFromFile,
  properties: {
    secretRef: secretKeyRef('A Secret that contains the key.', 'Authorization'),
    ...authFromFile.properties,
    aws: {
      ...aws,
      required: ['secretRef'],
      properties: {
        secretRef: secretRef(
          'A Secret that contains `accessKeyId` and `secretAccessKey`, and `sessionToken` for temporary credentials.',
        ),
        ...aws.properties,
      },
    },
    oauthTokenExchange: {
      ...tokenExchange,
      properties: {
        ...tokenExchange.properties,
        clientSecretRef: secretKeyRef('A Secret that contains the client secret.', 'clientSecret'),
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
        secretRef: secretKeyRef('A Secret that contains the PEM private key.', 'tls.key'),
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
    otlp: withBackendRef('The OTLP collector.', logFromFile.properties?.['otlp'] as Structural),
  },
}

/** Policies that run for a connection. */
export const FRONTEND: Readonly<Record<string, Structural>> = {
  networkAuthorization,
  proxyProtocol: of('proxyProtocol'),
  tcp: of('frontendTcp'),
  tls: of('frontendTls', {
    minVersion: version('The minimum TLS version.'),
    maxVersion: version('The maximum TLS version.'),
  }),
  http: of('frontendHttp'),
  // Only `Deny`: the API server rejects modes of other gateways that this one does not support.
  connect: of('connect', { mode: words('Deny: CONNECT requests get 405.', ['Deny'], 'Deny') }),
  accessLog,
  tracing: withBackendRef(
    'The OTLP collector.',
    of('tracing', {
      ...NO_TARGET,
      headers: undefined,
      randomSampling: sampling('The share of requests that start a trace.'),
      clientSampling: sampling('Whether to continue traces that clients started.'),
    }),
  ),
  ...plain('frontend'),
}

/** Policies that run for a request. Redirects, rewrites and mirrors are filters of routes. */
export const TRAFFIC: Readonly<Record<string, Structural>> = {
  compression: of('compression'),
  delay: of('delay', {
    duration: expressionText(
      'A duration, or a CEL expression that returns a duration or a number of milliseconds.',
    ),
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

/** Policies that run after a backend is selected. */
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
        message: 'hashKey must be set if and only if algorithm is ConsistentHash',
      },
    ]),
  },
  healthCheck: of('healthCheck'),
  health: of('outlierDetection'),
  connectionLimits: of('connectionLimits'),
  tcp: of('tcp'),
  tls: backendTls,
  http: of('http', { version: words('The HTTP version.', ['HTTP1', 'HTTP2']) }),
  guardrails,
  a2a: agent,
  ...plain('backend'),
}

/** The remaining kinds of a section, with the same form as in a file. */
function plain(section: Section): Readonly<Record<string, Structural>> {
  const own = POLICY_SCHEMAS.filter(({ kind, sections }) => sections[section] && !shaped.has(kind))
  return Object.fromEntries(own.map(({ kind }) => [kind, toStructural(plainSchema(kind))]))
}

export const MCP = object('Policies for MCP servers and tools.', {
  'authorization!': mcpAuthorization,
})
