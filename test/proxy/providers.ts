import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request that a provider received. */
export interface Arrived {
  readonly method: string
  readonly url: string
  readonly host: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/**
 * A provider of models, as far as a gateway sees one: a real server with configurable responses.
 */
export interface Provider {
  readonly port: number
  readonly arrived: Arrived[]
  /** The status of its responses from now on; a function responds itself. */
  respondWith: number | ((request: IncomingMessage, response: ServerResponse) => void)
  close(): Promise<void>
}

export async function startProvider(name: string): Promise<Provider> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const body = Buffer.concat(chunks).toString('latin1')
      provider.arrived.push({ method, url, host: headers.host ?? '', headers, body })
      if (typeof provider.respondWith === 'function') provider.respondWith(request, response)
      else response.writeHead(provider.respondWith, { 'x-served-by': name }).end(name)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const provider: Provider = {
    port: (server.address() as AddressInfo).port,
    arrived: [],
    respondWith: 200,
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
  return provider
}

/** Resets them to their initial state. */
export function renew(providers: readonly Provider[]): void {
  for (const provider of providers) {
    provider.arrived.length = 0
    provider.respondWith = 200
  }
}

/** A port without a listener: only root could bind it, and it is not in use. */
export const NOBODY = { port: 1 }

/** One entry of `providers`, as YAML. */
export interface WrittenProvider {
  readonly name: string
  readonly port: number
  /** JSON, which is also YAML. */
  readonly policies?: object
}

/** A configuration with one route, which leads to one AI backend. */
export function aiConfig(
  port: number,
  groups: readonly (readonly WrittenProvider[])[],
  { backend = {}, route = {} }: { readonly backend?: object; readonly route?: object } = {},
): string {
  const written = groups.map((providers) => ({
    providers: providers.map((one) => ({
      name: one.name,
      provider: { openAI: {} },
      hostOverride: `127.0.0.1:${one.port}`,
      policies: one.policies ?? {},
    })),
  }))
  return JSON.stringify({
    gateways: { default: { port } },
    backends: [{ name: 'models', ai: { groups: written }, policies: backend }],
    routes: [{ name: 'chat', policies: route, backends: [{ backend: 'models' }] }],
  })
}

export const allow = (expression: string) => block('Allow', expression)
export const deny = (expression: string) => block('Deny', expression)
export const require = (expression: string) => block('Require', expression)

function block(action: string, expression: string) {
  return { authorization: { action, policy: { matchExpressions: [expression] } } }
}
