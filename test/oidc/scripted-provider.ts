import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

/** An identity provider on a socket, which responds as its test says. */
export interface ScriptedProvider {
  readonly issuer: string
  /** Members that replace those of the metadata; `undefined` removes one. */
  metadata: Readonly<Record<string, unknown>>
  /** The response of the token endpoint. */
  respondWith: (form: URLSearchParams) => Response | Promise<Response>
  /** In the order received. */
  readonly requests: ProviderRequest[]
  /** Requests for a path. */
  at(path: string): readonly ProviderRequest[]
  sign(claims: JWTPayload): Promise<string>
  /** The keys become unknown to all clients. */
  rotateKeys(): Promise<void>
  close(): void
}

export interface ProviderRequest {
  readonly path: string
  readonly form: URLSearchParams
  readonly authorization: string | undefined
}

interface Response {
  readonly status?: number
  readonly body: unknown
}

export const NOW = () => Math.floor(Date.now() / 1_000)

export async function startScriptedProvider(): Promise<ScriptedProvider> {
  let key = await newKey()
  const requests: ProviderRequest[] = []
  const server = createServer(async (request, response) => {
    const { url = '', headers } = request
    const [path = ''] = url.split('?')
    const form = new URLSearchParams(await textOf(request))
    requests.push({ path, form, authorization: headers.authorization })
    const { status = 200, body } = await respond(path, form)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: ScriptedProvider = {
    issuer,
    metadata: {},
    respondWith: () => ({ status: 400, body: { error: 'invalid_grant' } }),
    requests,
    at: (path) => requests.filter((one) => one.path === path),
    sign: (claims) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: key.kid })
        .sign(key.pair.privateKey),
    rotateKeys: async () => {
      key = await newKey()
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }

  async function respond(path: string, form: URLSearchParams): Promise<Response> {
    if (path === '/token') return provider.respondWith(form)
    if (path === '/revoke') return { body: {} }
    if (path === '/keys') {
      const own = { kid: key.kid, alg: 'ES256', use: 'sig' }
      return { body: { keys: [{ ...(await exportJWK(key.pair.publicKey)), ...own }] } }
    }
    if (path !== '/.well-known/openid-configuration') return { status: 404, body: {} }
    return {
      body: {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        revocation_endpoint: `${issuer}/revoke`,
        end_session_endpoint: `${issuer}/logout`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['ES256'],
        ...provider.metadata,
      },
    }
  }
  return provider
}

async function newKey() {
  const pair = await generateKeyPair('ES256', { extractable: true })
  return { pair, kid: `${Math.random()}` }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** What a browser sends back: its cookies after `Set-Cookie` headers, and the redirect's query. */
export class CookieJar {
  readonly #cookies = new Map<string, string>()

  set(lines: readonly string[]): this {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/; Max-Age=0(;|$)/.test(line)) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return this
  }

  get names(): readonly string[] {
    return [...this.#cookies.keys()]
  }

  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** The same cookies, in which one was modified. */
  with(name: string, change: (value: string) => string): string {
    const cookies = new Map(this.#cookies)
    cookies.set(name, change(cookies.get(name) ?? ''))
    return [...cookies].map(([one, value]) => `${one}=${value}`).join('; ')
  }
}
