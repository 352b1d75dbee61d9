import type { Server } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { freePorts } from '../free-port.ts'
import { type ModelProvider, startModelProvider } from '../proxy/model-provider.ts'
import { type RawMcpServer, startRawMcpServer } from '../proxy/raw-mcp-server.ts'
import { startBackend, startDeciding } from './gateway.ts'

/** A gateway that rejects requests for every reason that it has. */
export interface Rejecting {
  readonly own: Awaited<ReturnType<typeof startDeciding>>
  readonly ports: { readonly default: number; readonly models: number; readonly empty: number }
  /** Its configuration without the routes that are invalid. */
  readonly valid: ValidFile
  close(): Promise<void>
}

/** What records show, so that a test can repeat it. */
const SHOWN = [
  ...['x-a', 'x-b', 'x-all'].map((name) => `request.headers['${name}']`),
  'mcp.tool.arguments',
]

interface Guarded {
  readonly policies?: object
  readonly [member: string]: unknown
}

export interface ValidFile {
  readonly routes: readonly {
    readonly name: string
    readonly policies: object
    readonly backends: readonly Guarded[]
  }[]
  readonly backends: readonly Guarded[]
  readonly llm: {
    readonly models: readonly {
      readonly authorization?: object
      readonly [member: string]: unknown
    }[]
    readonly [member: string]: unknown
  }
  readonly [section: string]: unknown
}

/** Routes with mistakes: a gateway starts with them only without `--strict`. */
const INVALID: ReadonlySet<string> = new Set(['missing', 'broken', 'invalid', 'credential'])

/** The conditions of Allow rules, none of which is true for a request without `x-all`. */
export const NEAREST: readonly (readonly string[])[] = [
  ["request.method == 'PUT'", "request.headers['x-all'] == '1'"],
  ["request.headers['x-a'] == '1'", "request.headers['x-all'] == '1'"],
  [
    "request.path.startsWith('/nearest/deep')",
    "request.headers['x-a'] == '1'",
    "request.headers['x-all'] == '1'",
  ],
  [
    "request.headers['x-b'] == '1'",
    "request.headers['x-a'] == '1'",
    "request.headers['x-all'] == '1'",
  ],
]

/** A backend that does the wrong thing with every connection. */
async function startFaulty(): Promise<{ readonly port: number; close(): void }> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('data', (bytes) => {
      const head = bytes.toString('latin1')
      if (head.startsWith('GET /reset')) socket.resetAndDestroy()
      else if (head.startsWith('GET /garbage')) socket.end('this is not HTTP\r\n\r\n')
      // Everything else waits for ever.
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const close = () => {
    server.close()
    for (const socket of open) socket.destroy()
  }
  return { port: (server.address() as AddressInfo).port, close }
}

const CATALOG = {
  providers: {
    openai: { models: { 'gpt-x': { rates: { input: '10', output: '10' } }, free: {} } },
  },
}

export async function startRejecting(): Promise<Rejecting> {
  const [backend, faulty, provider, tools] = await Promise.all([
    startBackend(),
    startFaulty(),
    startModelProvider('openai'),
    startRawMcpServer(['echo', 'read', 'hidden'].map((name) => JSON.stringify({ name }))),
  ])
  const [port = 0, models = 0, empty = 0, dead = 0] = await freePorts(4)
  const ports = { default: port, models, empty }
  const file = fileOf({ ports, dead, backend, faulty, provider, tools })
  const own = await startDeciding(JSON.stringify(file))
  return {
    own,
    ports,
    valid: { ...file, routes: file.routes.filter(({ name }) => !INVALID.has(name)) },
    async close() {
      await own.stop()
      backend.close()
      backend.closeAllConnections()
      faulty.close()
      await provider.close()
      tools.close()
    },
  }
}

interface Parts {
  readonly ports: Rejecting['ports']
  readonly dead: number
  readonly backend: Server & { readonly port: number }
  readonly faulty: { readonly port: number }
  readonly provider: ModelProvider
  readonly tools: RawMcpServer
}

function fileOf({ ports, dead, backend, faulty, provider, tools }: Parts): ValidFile {
  const route = (name: string, policies: object, to: Guarded[] = [here], more: object = {}) => ({
    name,
    gateways: ['default'],
    matches: [{ path: { pathPrefix: `/${name}` } }],
    policies,
    backends: to,
    ...more,
  })
  const here = { host: `127.0.0.1:${backend.port}` }
  const wrong = { host: `127.0.0.1:${faulty.port}` }
  const nowhere = `127.0.0.1:${dead}`
  const model = (name: string) => ({
    name,
    provider: 'openAI',
    params: { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${provider.port}` },
  })
  return {
    config: { modelCatalog: [{ inline: CATALOG }], decisions: { show: SHOWN } },
    gateways: {
      default: { port: ports.default },
      models: { port: ports.models },
      empty: { port: ports.empty },
    },
    frontendPolicies: { http: { maxBufferSize: 1000, maxBodySize: 100_000, bodyTimeout: '100ms' } },
    routes: [
      route('open', {}),
      route('rules', { authorization: { rules: [{ deny: 'true' }] } }),
      route('limited', {
        localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h' }],
      }),
      route('preflight', { cors: { allowOrigins: ['https://good.test'], allowMethods: ['GET'] } }),
      route('own', { directResponse: { status: 418, body: 'no' } }, []),
      route(
        'broken-own',
        { directResponse: { status: 200, bodyExpression: 'int(request.path)' } },
        [],
      ),
      route('read', { authorization: { rules: [{ deny: "string(request.body) == 'x'" }] } }),
      route('nearest', {
        authorization: { rules: NEAREST.map((atoms) => ({ allow: atoms.join(' && ') })) },
      }),
      route('token', { apiKey: { keys: [{ key: 'sk-a' }] } }),
      route('csrf', { csrf: {} }),
      route('service', { extAuthz: { host: nowhere } }),
      route('processor', { extProc: { host: nowhere } }),
      route('picked', {}, [{ backend: 'picked' }]),
      route('credential', {}, [{ ...here, policies: { backendAuth: { aws: {} } } }]),
      route('weightless', {}, [{ ...here, weight: 0 }]),
      route('dead', {}, [{ host: nowhere }]),
      route('reset', {}, [wrong]),
      route('garbage', {}, [wrong]),
      route('slow-backend', { timeout: { backendRequest: '20ms' } }, [wrong]),
      route('slow', { timeout: { request: '20ms' } }, [wrong]),
      route('missing', {}, [{ backend: 'no-such-backend' }]),
      route('broken', { authorization: { rules: [{ deny: 'request.path ==' }] } }),
      route('invalid', {}, [here], { nonsense: true }),
      route('unread', {}, [
        {
          ...{
            name: 'unread',
            ai: { name: 'one', provider: { openAI: {} }, hostOverride: nowhere },
          },
          policies: { authorization: { rules: [{ deny: "llm.requestModel == 'gpt-x'" }] } },
        },
      ]),
      route('mcp', {}, [{ backend: 'tools' }]),
    ],
    backends: [
      {
        name: 'picked',
        hosts: [`127.0.0.1:${backend.port}`],
        policies: { inferenceRouting: { endpointPicker: { host: nowhere } } },
      },
      {
        name: 'tools',
        mcp: { targets: [{ name: 'own', mcp: { host: `http://127.0.0.1:${tools.port}/mcp` } }] },
        policies: {
          mcpAuthorization: {
            rules: [
              { allow: "mcp.tool.name == 'echo'" },
              { allow: "mcp.tool.name == 'read' && mcp.tool.arguments.name.startsWith('team/')" },
            ],
          },
        },
      },
    ],
    llm: {
      gateways: ['models'],
      models: [
        {
          ...model('gpt-x'),
          authorization: { rules: [{ deny: "'x-nobody' in request.headers" }] },
        },
        model('free'),
      ],
      policies: {
        apiKey: {
          mode: 'Optional',
          keys: [{ key: 'sk-narrow', allowedModels: ['free'] }],
        },
        guardrails: {
          request: [{ regex: { action: 'reject', rules: [{ pattern: 'forbidden' }] } }],
        },
        budgets: [
          { requests: 1, per: 'Day', key: "request.headers['x-user']" },
          { usd: '0.000001', per: 'Day', key: "request.headers['x-dollars']" },
        ],
      },
    },
  }
}

function isWhole(response: string, isHead: boolean): boolean {
  const [head = '', ...body] = response.split('\r\n\r\n')
  const [, length] = /^content-length: (\d+)$/im.exec(head) ?? []
  if (body.length > 0 && isHead) return true
  if (/^transfer-encoding/im.test(head)) return response.endsWith('0\r\n\r\n')
  if (length === undefined) return body.length > 0
  return body.join('\r\n\r\n').length >= Number(length)
}

/** Sends bytes and returns the response as text, once it is complete. */
export function sendRaw(port: number, text: string, milliseconds = 3_000): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    const timer = setTimeout(() => socket.destroy(), milliseconds)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      if (isWhole(received, text.startsWith('HEAD'))) socket.destroy()
    })
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(received)
    })
    socket.write(text, 'latin1')
  })
}
