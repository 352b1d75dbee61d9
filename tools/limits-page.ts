import { DEFAULT_TIMEOUT } from '../src/proxy/delivery.ts'
import { fileJsonSchema, type JsonSchema } from '../src/sources/file/json-schema.ts'
import { FIXED_LIMITS } from './fixed-limits.ts'
import { renderFloodCosts } from './flood-costs.ts'
import type { Generator } from './generated.ts'

/** docs/reference/limits.md: every limit, what it is by default, and what happens at it. */
export const limitsPage: Generator = {
  name: 'limits page',
  folders: [],
  generate: () => new Map([['docs/reference/limits.md', renderPage(fileJsonSchema())]]),
}

/** A limit that can be set: its default is that of the schema. */
interface Setting {
  /** Kind of policy, or `config`, and the key in it. */
  readonly of: string
  readonly key: string
  readonly what: string
  readonly happens: string
  /** What holds where the schema has no default. */
  readonly otherwise?: string
}

const REFUSED = 'The client gets'

const CLIENTS: readonly Setting[] = [
  setting('config', 'limits.connections', 'connections of clients, of all workers together', {
    happens: `${REFUSED} 503 with \`Retry-After\` on plain HTTP listeners as far as there is room, and else closed. In each worker, never more than half of the file descriptors that the process may have.`,
  }),
  setting(
    'config',
    'limits.connectionsPerAddress',
    'the same from one address, or one /64 of IPv6',
    {
      happens: 'The connection is closed.',
    },
  ),
  setting('frontendTls', 'handshakeTimeout', 'time for a TLS handshake or a PROXY header', {
    happens: 'The connection is closed.',
  }),
  setting('frontendHttp', 'headTimeout', 'time for the head of a request', {
    happens: `${REFUSED} 408, the connection closes.`,
  }),
  setting(
    'frontendHttp',
    'bodyTimeout',
    'time in which nothing comes of a body, or nothing of a response is read',
    {
      happens: `${REFUSED} 408 if no response was begun; the connection or the stream closes.`,
    },
  ),
  setting('frontendHttp', 'http1IdleTimeout', 'time between two requests', {
    happens: 'The connection is closed.',
  }),
  setting('frontendHttp', 'maxConnectionDuration', 'age of a connection', {
    happens: 'The next response says that it is the last one.',
    otherwise: 'none',
  }),
]

const REQUESTS: readonly Setting[] = [
  setting(
    'config',
    'limits.requests',
    'requests under way, open streams included; counted per worker',
    {
      happens: `${REFUSED} 503 with \`Retry-After\`; the connection is kept.`,
    },
  ),
  setting(
    'config',
    'limits.delay',
    'how late a process may be in all of its last four looks at the clock',
    {
      happens: `${REFUSED} 503 with \`Retry-After\`: as many as make up for the delay, half of them at twice the limit. \`0s\`: never.`,
    },
  ),
  setting('frontendHttp', 'maxHeadSize', 'bytes of the head of a request', {
    happens: `${REFUSED} 431, the connection closes.`,
  }),
  setting('frontendHttp', 'http1MaxHeaders', 'headers of a request', {
    happens: `${REFUSED} 431, the connection closes.`,
  }),
  setting('frontendHttp', 'maxBodySize', 'bytes of the body of a request', {
    happens: `${REFUSED} 413 as soon as it is known; what is left of the body is not read, and the backend never gets a whole one.`,
    otherwise: 'none: bodies are passed on as they come, and not kept',
  }),
  setting(
    'frontendHttp',
    'maxBufferSize',
    'bytes of a body that are kept for a rule that reads it',
    {
      happens: `${REFUSED} 413: a rule that cannot read the body could not guard against it. For the access log alone, \`request.body\` is not set.`,
    },
  ),
  setting('frontendHttp', 'maxJsonSize', 'bytes of JSON that an expression reads', {
    happens:
      'A Deny rule that reads it denies, and no other rule matches; see [Expressions](expressions.md#limits).',
  }),
  setting('timeout', 'request', 'time for the whole exchange', {
    happens: `${REFUSED} 504, or is cut off if a response was begun.`,
    otherwise: 'none',
  }),
]

const HTTP2: readonly Setting[] = [
  setting('frontendHttp', 'http2MaxConcurrentStreams', 'requests at once on a connection', {
    happens: 'The client knows the limit beforehand; one too many is rejected (REFUSED_STREAM).',
  }),
  setting(
    'frontendHttp',
    'http2MaxResetsPerSecond',
    'streams given up in a second; twice as many at once',
    {
      happens: 'The connection closes with ENHANCE_YOUR_CALM.',
    },
  ),
  setting(
    'frontendHttp',
    'http2MaxControlFramesPerSecond',
    'PING frames in a second; twice as many at once. The same for SETTINGS, for PRIORITY and PRIORITY_UPDATE, and for empty DATA frames',
    {
      happens: 'The connection closes with ENHANCE_YOUR_CALM.',
    },
  ),
  setting(
    'frontendHttp',
    'http2WindowSize',
    'bytes of one body that a client may send ahead; as long as the body is taken as quickly as it comes, this grows to the window of the connection',
    {
      happens: 'The client waits.',
    },
  ),
  setting('frontendHttp', 'http2ConnectionWindowSize', 'the same for all bodies of a connection', {
    happens: 'The client waits.',
  }),
  setting('frontendHttp', 'http2FrameSize', 'bytes of a frame', {
    happens: 'The connection closes with FRAME_SIZE_ERROR.',
  }),
  setting('frontendHttp', 'http2MaxHeaderSize', 'bytes of the head of a request', {
    happens: `${REFUSED} 431, or the stream is reset.`,
    otherwise: 'as `maxHeadSize`',
  }),
  setting(
    'frontendHttp',
    'http2KeepaliveInterval',
    'time without a sign of life while a request is under way',
    {
      happens: 'The gateway sends a PING.',
    },
  ),
  setting('frontendHttp', 'http2KeepaliveTimeout', 'time to give it', {
    happens: 'The connection closes.',
  }),
]

const BACKENDS: readonly Setting[] = [
  setting('config', 'backend.connectTimeout', 'time to open a connection, TLS included', {
    happens: `${REFUSED} 504, after the retries of the route. \`tcp.connectTimeout\` of a backend goes before.`,
  }),
  setting('config', 'backend.poolIdleTimeout', 'time that an unused connection is kept', {
    happens: 'It is closed. `connectionLimits.idleTimeout` of a backend goes before.',
  }),
  setting(
    'config',
    'backend.poolMaxSize',
    'connections to each endpoint, divided among the workers',
    {
      happens: 'Requests wait for one. `connectionLimits.maxConnections` of a backend goes before.',
      otherwise: 'none; 8 where HTTP/2 is spoken',
    },
  ),
  setting(
    'connectionLimits',
    'maxPendingRequests',
    'requests that wait for a connection to an endpoint, divided among the workers',
    {
      happens: `${REFUSED} 503 with \`Retry-After\` at once.`,
    },
  ),
  setting('connectionLimits', 'maxRequestsPerConnection', 'requests on one connection', {
    happens: 'It is closed behind the last one.',
    otherwise: 'none',
  }),
  setting(
    'timeout',
    'backendRequest',
    'time from the end of a request to the head of its response, or in which nothing of its body is read; each attempt',
    {
      happens: `${REFUSED} 504. \`http.requestTimeout\` of a backend goes before. \`0s\`: never; so it is where \`timeout.request\` is set and this is not.`,
      otherwise: seconds(DEFAULT_TIMEOUT),
    },
  ),
  setting('http', 'maxResponseHeadSize', "bytes of the head of a backend's response", {
    happens: 'The client gets 502; `detail` is `head-too-large`.',
  }),
  setting('http', 'maxResponseHeaders', "headers of a backend's response", {
    happens: 'The client gets 502; `detail` is `too-many-headers`.',
  }),
  setting('retry', 'maxBodyBytes', 'bytes of a body that are kept so that it can be sent again', {
    happens: 'A request with a longer body is not tried again.',
  }),
  setting('localRateLimit', 'maxKeys', 'keys that a rate limit remembers', {
    happens: 'The one that was not seen for longest is forgotten.',
    otherwise: '100,000',
  }),
  setting(
    'config',
    'connectionTerminationDeadline',
    'time that connections have when the process ends',
    {
      happens: 'They are cut off.',
    },
  ),
]

/** Keys beside limits that are none. */
export const NO_LIMITS: readonly string[] = [
  'headersWithUnderscores',
  'http1HeaderCase',
  'mergeSlashes',
  'requestTrailers',
  'trustedHops',
]

const DECISIONS: readonly Setting[] = [
  setting('config', 'decisions.keep', 'records that one process keeps in memory', {
    happens: 'The oldest one is forgotten.',
  }),
  setting('config', 'decisions.file.maxSize', 'bytes of a file of records', {
    happens: 'It is closed, and another begun.',
  }),
  setting('config', 'decisions.file.maxFiles', 'full files of records', {
    happens: 'The oldest one is deleted.',
  }),
]

export const SETTINGS: readonly Setting[] = [
  ...CLIENTS,
  ...REQUESTS,
  ...HTTP2,
  ...BACKENDS,
  ...DECISIONS,
]

function renderPage(schema: JsonSchema): string {
  const table = (settings: readonly Setting[]) =>
    [
      '| limit | of | default | at the limit |',
      '|---|---|---|---|',
      ...settings.map((own) => {
        const found = defaultOf(schema, own) ?? own.otherwise
        if (found === undefined) throw new Error(`${own.of}.${own.key} has no default`)
        return `| ${nameOf(own)} | ${own.what} | ${found} | ${own.happens} |`
      }),
    ].join('\n')
  const fixed = FIXED_LIMITS.map(([what, value, happens]) => `| ${what} | ${value} | ${happens} |`)
  return `<!-- Generated by \`npm run golden\` from tools/limits-page.ts and the schemas: edit there. -->

# Limits

Everything that a client or a backend could use too much of has a limit, with a default that ordinary traffic does not reach. What happens at each is below; \`portcullis_limit_hits_total\` counts how often it did, and the access log has a \`reason\` and a \`detail\`. Keys of \`config\` are read at the start; all others take effect when the file changes, for connections that come then.

A limit that says *counted per worker* (\`limits.requests\`) holds in each worker by itself. Connections of clients and local rate limits are counted for all workers together. \`poolMaxSize\`, \`connectionLimits.maxConnections\` and \`connectionLimits.maxPendingRequests\` are divided: each worker gets an equal part, which a worker that replaces it takes over, so that all of them together do not exceed the limit. Each worker has one connection at least: with \`maxConnections: 2\` and four workers there may be four. Clients are not spread evenly over the workers, so a worker may reach its part while another one has room. Without the policy up to 1,024 requests wait in each worker.

Expressions have limits of their own: see [Expressions](expressions.md).

## Connections of clients

${table(CLIENTS)}

## Requests

${table(REQUESTS)}

## HTTP/2

${table(HTTP2)}

${renderFloodCosts()}

## Backends

${table(BACKENDS)}

## Records of decisions

${table(DECISIONS)}

## CPU time of a request

The CPU time of a request beyond reading its bytes is limited, whatever a client sends: expressions by their [budgets](expressions.md#limits), searches of guards by a budget for each request (what cannot be searched within it counts as found), JSON by what reading it may cost. What still grows with the length of a message is done in turns, between which other requests are served: guards on calls to models, on whole responses and on messages to and from MCP servers beyond 64 KiB, and lists of MCP servers beyond 32 KiB, of which each item is one step. A turn takes about 2 ms. What a client no longer waits for is given up. In all, a prompt of 2 MiB with guards costs less than 10 ms beyond reading it if it is text, and a few times that if it is made of what is nearly a card number or nearly matches a pattern; a filtered list of 10,000 tools costs more than 10 ms in all. Guards on streams search each piece as it arrives, in one turn. \`npm run bench stalls\` measures what single requests cost, and how long another client waits meanwhile.

## Not to be set

| of | limit | at the limit |
|---|---|---|
${fixed.join('\n')}
`
}

const PLACES: Readonly<Record<string, string>> = {
  config: 'config',
  frontendHttp: 'frontendPolicies.http',
  frontendTls: 'frontendPolicies.tls',
}

function nameOf({ of, key }: Setting): string {
  return `\`${PLACES[of] ?? of}.${key}\``
}

/** The schema and those that it is one of. */
function formsOf(schema: JsonSchema | undefined): readonly (JsonSchema | undefined)[] {
  const forms = (schema?.anyOf as JsonSchema[] | undefined) ?? []
  return [schema, ...forms.flatMap(formsOf)]
}

/** As it is written in the schema, or undefined where nothing is. */
export function defaultOf(schema: JsonSchema, { of, key }: Setting): string | undefined {
  let part = of === 'config' ? schema.properties?.['config'] : schema.$defs?.[of]
  for (const name of key.split('.')) {
    const own = part as JsonSchema | undefined
    part = formsOf(own)
      .map((holder) => holder?.properties?.[name])
      .find((it) => it !== undefined)
  }
  if (part === undefined) throw new Error(`the schema has no ${of}.${key}`)
  const value = (part as JsonSchema).default
  if (value === undefined) return undefined
  return typeof value === 'number' ? number(value) : String(value)
}

function setting(
  of: string,
  key: string,
  what: string,
  rest: Pick<Setting, 'happens' | 'otherwise'>,
): Setting {
  return { of, key, what, ...rest }
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}

function seconds(milliseconds: number): string {
  return `${milliseconds / 1000}s`
}
