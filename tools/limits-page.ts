import { DEFAULT_TIMEOUT } from '../src/proxy/delivery.ts'
import { fileJsonSchema, type JsonSchema } from '../src/sources/file/json-schema.ts'
import { RESPONSE_IDLE, TUNNEL_IDLE } from '../src/upstream/idle-timeouts.ts'
import { FIXED_LIMITS } from './fixed-limits.ts'
import { renderFloodCosts } from './flood-costs.ts'
import type { Generator } from './generated.ts'

/** Generates docs/reference/limits.md: every limit, its default, and what happens at it. */
export const limitsPage: Generator = {
  name: 'limits page',
  folders: [],
  generate: () => new Map([['docs/reference/limits.md', renderPage(fileJsonSchema())]]),
}

/** A configurable limit, whose default comes from the schema. */
interface Setting {
  /** Kind of policy, or `config`, and the key in it. */
  readonly of: string
  readonly key: string
  readonly what: string
  readonly happens: string
  /** The value if the schema has no default. */
  readonly otherwise?: string
}

const REJECTED = 'The client gets'

const CLIENTS: readonly Setting[] = [
  setting('config', 'limits.connections', 'client connections, across all workers', {
    happens: `${REJECTED} 503 with \`Retry-After\` on plain HTTP listeners if there is room; otherwise the connection is closed. A worker never uses more than half of its file descriptors for clients.`,
  }),
  setting(
    'config',
    'limits.connectionsPerAddress',
    'client connections from one address, or one IPv6 /64',
    {
      happens: 'The connection is closed.',
    },
  ),
  setting('frontendTls', 'handshakeTimeout', 'time for a TLS handshake or a PROXY header', {
    happens: 'The connection is closed.',
  }),
  setting('frontendHttp', 'headTimeout', 'time to receive the request headers', {
    happens: `${REJECTED} 408, and the connection is closed.`,
  }),
  setting(
    'frontendHttp',
    'bodyTimeout',
    'time without receiving body bytes, or without the client reading the response',
    {
      happens: `${REJECTED} 408 if the response has not started; the connection or stream is closed.`,
    },
  ),
  setting('frontendHttp', 'http1IdleTimeout', 'idle time between two requests', {
    happens: 'The connection is closed.',
  }),
  setting('frontendHttp', 'maxConnectionDuration', 'age of a connection', {
    happens: 'The next response announces the end of the connection.',
    otherwise: 'none',
  }),
]

const REQUESTS: readonly Setting[] = [
  setting(
    'config',
    'limits.requests',
    'requests in flight, including open streams; counted per worker',
    {
      happens: `${REJECTED} 503 with \`Retry-After\`; the connection stays open.`,
    },
  ),
  setting('config', 'limits.delay', 'event loop delay in each of the last four samples', {
    happens: `${REJECTED} 503 with \`Retry-After\`, for a share of requests that grows with the delay: half of them at twice the limit. \`0s\` turns this off.`,
  }),
  setting('frontendHttp', 'maxHeadSize', 'bytes of request headers', {
    happens: `${REJECTED} 431, and the connection is closed.`,
  }),
  setting('frontendHttp', 'http1MaxHeaders', 'number of request headers', {
    happens: `${REJECTED} 431, and the connection is closed.`,
  }),
  setting('frontendHttp', 'maxBodySize', 'bytes of a request body', {
    happens: `${REJECTED} 413 as soon as the size is known. The rest of the body is not read, and the backend never receives a complete one.`,
    otherwise: 'none: bodies are streamed, not buffered',
  }),
  setting(
    'frontendHttp',
    'maxBufferSize',
    'bytes of a body that are buffered for a rule that reads it',
    {
      happens: `${REJECTED} 413, because a rule that cannot read the body cannot guard against it. If only the access log reads it, \`request.body\` is not set.`,
    },
  ),
  setting(
    'frontendHttp',
    'maxModelBodySize',
    'bytes of the body of a call to a model, unless `maxBufferSize` is larger',
    {
      happens: `${REJECTED} 413. If a rule reads \`request.body\` of such a call, \`maxBufferSize\` applies.`,
    },
  ),
  setting('frontendHttp', 'maxJsonSize', 'bytes of JSON that an expression reads', {
    happens:
      'Deny rules that read it deny the request, and other rules do not match; see [Expressions](expressions.md#limits).',
  }),
  setting('timeout', 'request', 'time for the request and its response', {
    happens: `${REJECTED} 504, or the response is cut off if it has started.`,
    otherwise: 'none',
  }),
]

const HTTP2: readonly Setting[] = [
  setting('frontendHttp', 'http2MaxConcurrentStreams', 'concurrent streams per connection', {
    happens:
      'The limit is announced to the client; a stream beyond it is rejected with REFUSED_STREAM.',
  }),
  setting(
    'frontendHttp',
    'http2MaxResetsPerSecond',
    'stream resets per second, with bursts of twice as many',
    {
      happens: 'The connection is closed with ENHANCE_YOUR_CALM.',
    },
  ),
  setting(
    'frontendHttp',
    'http2MaxControlFramesPerSecond',
    'PING frames per second, with bursts of twice as many; separately for SETTINGS, for PRIORITY and PRIORITY_UPDATE, and for empty DATA frames',
    {
      happens: 'The connection is closed with ENHANCE_YOUR_CALM.',
    },
  ),
  setting(
    'frontendHttp',
    'http2WindowSize',
    'flow-control window of a stream, in bytes; grows to the window of the connection while the body is consumed as fast as it arrives',
    {
      happens: 'The client waits.',
    },
  ),
  setting(
    'frontendHttp',
    'http2ConnectionWindowSize',
    'flow-control window of a connection, in bytes',
    {
      happens: 'The client waits.',
    },
  ),
  setting('frontendHttp', 'http2FrameSize', 'bytes of a frame', {
    happens: 'The connection is closed with FRAME_SIZE_ERROR.',
  }),
  setting('frontendHttp', 'http2MaxHeaderSize', 'bytes of request headers', {
    happens: `${REJECTED} 431, or the stream is reset.`,
    otherwise: 'same as `maxHeadSize`',
  }),
  setting(
    'frontendHttp',
    'http2KeepaliveInterval',
    'time without receiving a frame while requests are in flight',
    {
      happens: 'The gateway sends a PING.',
    },
  ),
  setting('frontendHttp', 'http2KeepaliveTimeout', 'time to respond to the PING', {
    happens: 'The connection is closed.',
  }),
]

const BACKENDS: readonly Setting[] = [
  setting('config', 'backend.connectTimeout', 'time to open a connection, including TLS', {
    happens: `${REJECTED} 504, after the retries of the route. \`tcp.connectTimeout\` of a backend takes precedence.`,
  }),
  setting('config', 'backend.poolIdleTimeout', 'time that an idle connection is kept', {
    happens:
      'The connection is closed. `connectionLimits.idleTimeout` of a backend takes precedence.',
  }),
  setting(
    'config',
    'backend.poolMaxSize',
    'connections to each endpoint, divided among the workers',
    {
      happens:
        'Requests wait for a connection. `connectionLimits.maxConnections` of a backend takes precedence.',
      otherwise: 'none; 8 with HTTP/2',
    },
  ),
  setting(
    'connectionLimits',
    'maxPendingRequests',
    'requests that wait for a connection to an endpoint, divided among the workers',
    {
      happens: `${REJECTED} 503 with \`Retry-After\` immediately.`,
    },
  ),
  setting('connectionLimits', 'maxRequestsPerConnection', 'requests per connection', {
    happens: 'The connection is closed after the last one.',
    otherwise: 'none',
  }),
  setting(
    'timeout',
    'backendRequest',
    'time from the end of the request to the response headers, or without the backend reading the body; for each attempt',
    {
      happens: `${REJECTED} 504. \`http.requestTimeout\` of a backend takes precedence. \`0s\` turns it off, which is also the default if \`timeout.request\` is set.`,
      otherwise: seconds(DEFAULT_TIMEOUT),
    },
  ),
  setting(
    'timeout',
    'responseIdle',
    'time without bytes of a response that has begun, while the client accepts more; of a WebSocket or other upgraded connection, without bytes in either direction',
    {
      happens:
        'The response is cut off, or is 504 if policies still hold it. `http.responseIdleTimeout` of a backend takes precedence. `0s` turns it off, which is also the default if `timeout.request` is set.',
      otherwise: `${seconds(RESPONSE_IDLE)}; ${seconds(TUNNEL_IDLE)} for upgraded connections`,
    },
  ),
  setting('http', 'maxResponseHeadSize', 'bytes of response headers from a backend', {
    happens: 'The client gets 502; `detail` is `head-too-large`.',
  }),
  setting('http', 'maxResponseHeaders', 'number of response headers from a backend', {
    happens: 'The client gets 502; `detail` is `too-many-headers`.',
  }),
  setting('retry', 'maxBodyBytes', 'bytes of a request body that are buffered for retries', {
    happens: 'Requests with a longer body are not retried.',
  }),
  setting('localRateLimit', 'maxKeys', 'keys that a rate limit tracks', {
    happens: 'The least recently used key is dropped.',
    otherwise: '100,000',
  }),
  setting(
    'config',
    'connectionTerminationDeadline',
    'time for connections to finish when the process stops',
    {
      happens: 'They are closed.',
    },
  ),
]

/** Keys next to limits that are not limits. */
export const NO_LIMITS: readonly string[] = [
  'forwarded',
  'headersWithUnderscores',
  'http1HeaderCase',
  'mergeSlashes',
  'requestTrailers',
  'trustedHops',
  'upgrades',
]

const DECISIONS: readonly Setting[] = [
  setting('config', 'decisions.keep', 'records kept in memory by each process', {
    happens: 'The oldest record is dropped.',
  }),
  setting('config', 'decisions.file.maxSize', 'bytes of a decision file', {
    happens: 'A new file is started.',
  }),
  setting('config', 'decisions.file.maxFiles', 'number of full decision files', {
    happens: 'The oldest file is deleted.',
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
      '| setting | limits | default | when the limit is reached |',
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

Every resource that a client or a backend could exhaust is limited, with defaults that ordinary traffic does not reach. \`portcullis_limit_hits_total\` counts how often each limit was reached, and the access log has a \`reason\` and a \`detail\`. Settings under \`config\` are read at start-up; all others take effect for new connections when the file changes.

\`limits.requests\` is counted separately in each worker. Client connections and local rate limits are counted across all workers. \`poolMaxSize\`, \`connectionLimits.maxConnections\` and \`connectionLimits.maxPendingRequests\` are divided: each worker gets an equal share, and a worker that replaces it takes the share over, so that together they do not exceed the limit. Each worker has at least one connection: with \`maxConnections: 2\` and four workers there can be four. Clients are not spread evenly across workers, so one worker can reach its share while another has room. Without the policy, up to 1,024 requests wait in each worker.

Expressions have separate limits: see [Expressions](expressions.md).

## Client connections

${table(CLIENTS)}

## Requests

${table(REQUESTS)}

## HTTP/2

${table(HTTP2)}

${renderFloodCosts()}

## Backends

${table(BACKENDS)}

## Decision records

${table(DECISIONS)}

## CPU time of a request

The CPU time of a request beyond reading its bytes is limited, whatever a client sends: expressions have [budgets](expressions.md#limits), guards have a search budget per request (text that was not searched counts as a match), and parsing JSON has a budget, too. Work that grows with the length of a message is done in slices of about 2 ms, between which other requests are served: guards on model calls beyond 16 KiB, on whole responses and on MCP messages beyond 64 KiB, and MCP lists beyond 32 KiB. Work is abandoned when the client disconnects. In total, a guarded prompt of 2 MiB costs less than 10 ms beyond reading it if it is ordinary ASCII text, and a few times that if it has other letters or escapes, or consists of near matches, such as almost valid card numbers; a filtered list of 10,000 tools costs more than 10 ms. Guards on streams search each piece as it arrives, in one slice. \`npm run bench stalls\` measures what single requests cost, and how long other clients wait meanwhile.

## Fixed limits

| limits | value | when the limit is reached |
|---|---|---|
${fixed.join('\n')}

## Waits without a limit

| what may be silent | why | what ends it |
|---|---|---|
| a stream that an MCP client opens to listen (GET, or \`subscriptions/listen\`), and the stream of an \`sse\` server | a server may have nothing to say | the client, the server, or the end of the session |
| a stream of messages to a service of \`extProc\` | the service responds when a body is complete, and \`timeout\` limits each response that is due | the end of the request |
| a client over HTTP/2 whose request and response are both streams | either may be silent | \`responseIdle\`; a client that is gone does not respond to PING |
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

/** The schema and all alternatives of its unions. */
function formsOf(schema: JsonSchema | undefined): readonly (JsonSchema | undefined)[] {
  const forms = (schema?.anyOf as JsonSchema[] | undefined) ?? []
  return [schema, ...forms.flatMap(formsOf)]
}

/** The default in the schema, if any. */
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
