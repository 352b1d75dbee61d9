import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as jose from 'jose'
import { FormBrowser } from './browser.ts'
import { CLIENT, startProvider, type TestProvider } from './provider.ts'

/** The provider for sign-in, and a tool server with its own authorization server. */
export interface ConsentDeps {
  readonly people: TestProvider
  readonly upstream: TestProvider
  readonly server: ToolServer
  /** `policies` of a route in front of the server, for a gateway at this address. */
  routes(base: string): string
  /** A token that authenticates a client of this person. */
  token(person: string): Promise<string>
  close(): Promise<void>
}

export interface ToolServer {
  readonly host: string
  /** Credentials that the server received. */
  readonly seen: string[]
  close(): void
}

const AUDIENCE = 'https://tools.example/mcp'

export async function startConsentDeps(bases: readonly string[]): Promise<ConsentDeps> {
  const folder = '/connect/tools'
  const people = await startProvider({ gateways: bases, folder, page: 'signed-in' })
  const upstream = await startProvider({ gateways: bases, folder })
  const server = await startToolServer(upstream)
  const { privateKey, publicKey } = await jose.generateKeyPair('ES256')
  const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'one', use: 'sig', alg: 'ES256' }
  const client = { clientId: CLIENT.id, clientSecret: CLIENT.secret }
  return {
    people,
    upstream,
    server,
    routes: (base) => {
      const authentication = {
        providers: [
          {
            issuer: people.issuer,
            audiences: [AUDIENCE],
            jwks: JSON.stringify({ keys: [jwk] }),
          },
        ],
      }
      const backendAuth = {
        oauthUserToken: {
          issuer: upstream.issuer,
          ...client,
          scopes: ['openid'],
          redirectUri: `${base}${folder}/callback`,
          signIn: { issuer: people.issuer, ...client },
        },
      }
      const targets = [{ name: 'tools', mcp: { host: server.host }, policies: { backendAuth } }]
      const of = (value: object) => JSON.stringify(value)
      return `- name: tools
  matches: [{ path: { pathPrefix: /mcp } }]
  policies: { jwtAuthentication: ${of(authentication)} }
  backends: [{ mcp: ${of({ targets })} }]
- name: plain
  matches: [{ path: { pathPrefix: /plain } }]
  policies: { jwtAuthentication: ${of(authentication)} }
  backends: [{ host: "${server.host}", policies: ${of({ backendAuth })} }]
- name: open
  matches: [{ path: { pathPrefix: /open } }]
  backends: [{ host: "${server.host}", policies: ${of({ backendAuth })} }]
`
    },
    token: (person) =>
      new jose.SignJWT({})
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(people.issuer)
        .setSubject(person)
        .setAudience(AUDIENCE)
        .setExpirationTime('1h')
        .sign(privateKey),
    close: async () => {
      server.close()
      await people.close()
      await upstream.close()
    },
  }
}

/** Serves MCP and plain requests to clients with a token of the authorization server. */
async function startToolServer(upstream: TestProvider): Promise<ToolServer> {
  const seen: string[] = []
  const http: Server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { authorization = '' } = request.headers
    seen.push(authorization)
    const asked = await fetch(`${upstream.issuer}/me`, { headers: { authorization } })
    const { sub } = asked.ok ? ((await asked.json()) as { sub: string }) : { sub: undefined }
    if (sub === undefined) {
      response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
      return
    }
    if (request.url !== '/mcp') {
      response.end(sub)
      return
    }
    if (request.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    const { id, method } = JSON.parse(Buffer.concat(pieces).toString())
    if (id === undefined) {
      response.writeHead(202).end()
      return
    }
    const result = RESULTS[method]?.(sub) ?? {}
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 'one' }
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`
  return {
    host,
    seen,
    close: () => {
      http.closeAllConnections()
      http.close()
    },
  }
}

const RESULTS: Readonly<Record<string, (sub: string) => object>> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'tools', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] }),
  'tools/call': (sub) => ({ content: [{ type: 'text', text: sub }] }),
}

/** Goes through a consent link in a browser: both sign-ins, and the page of the gateway. */
export async function consent(
  link: string,
  person: string,
  account: string,
  browser = new FormBrowser(),
): Promise<{ readonly status: number; readonly text: string }> {
  const begun = await browser.fetch(link)
  if (begun.status !== 303) return { status: begun.status, text: await begun.text() }
  const back = await browser.signIn(begun.headers.get('location') ?? '', person, '/signed-in')
  const known = await browser.fetch(back)
  if (known.status !== 303) return { status: known.status, text: await known.text() }
  const given = await browser.signIn(known.headers.get('location') ?? '', account)
  const done = await browser.fetch(given)
  return { status: done.status, text: await done.text() }
}

export interface Said {
  readonly status: number
  readonly session: string | null
  readonly challenge: string | null
  // biome-ignore lint/suspicious/noExplicitAny: a JSON-RPC message as received
  readonly body: any
}

/** Sends a message of an MCP client. */
export async function say(
  base: string,
  token: string,
  method: string,
  params: object = {},
  more: Readonly<Record<string, string>> = {},
): Promise<Said> {
  const response = await fetch(`${base}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      connection: 'close',
      ...more,
    },
  })
  const text = await response.text()
  // Matches whole words: the random text of a ticket may contain these letters, too.
  assert.doesNotMatch(text, /(?<![\w-])jwt(?![\w-])/)
  return {
    status: response.status,
    session: response.headers.get('mcp-session-id'),
    challenge: response.headers.get('www-authenticate'),
    body: text === '' ? undefined : JSON.parse(text),
  }
}

export const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}
export const OPENS_URLS = { ...INITIALIZE, capabilities: { elicitation: { url: {} } } }
export const WHOAMI = { name: 'whoami', arguments: {} }
