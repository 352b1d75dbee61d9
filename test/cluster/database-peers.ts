import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'

/** An address of this machine that pods of the node can reach: see network.sh. */
export const HOST = `10.99.${process.env['CLUSTER_NUMBER'] ?? 0}.1`

export interface Peer {
  readonly port: number
  readonly close: () => void
}

/** A port for pods that leads to the socket of a server of this machine. */
export async function openPort(socketPath: string): Promise<Peer> {
  const server = createServer((socket) => {
    const other = connect(socketPath)
    for (const one of [socket, other]) one.on('error', () => {})
    socket.on('close', () => other.destroy())
    other.on('close', () => socket.destroy())
    socket.pipe(other).pipe(socket)
  })
  server.listen(0, HOST)
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}

/** A model provider at `/v1`, and an MCP server at `/mcp`. */
export async function startServices(): Promise<Peer> {
  const server = createHttpServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece) => (text += piece))
    request.on('end', () => {
      const isMcp = request.url === '/mcp'
      const reply = isMcp ? mcpReply(text) : MODEL_REPLY
      if (isMcp) response.setHeader('mcp-session-id', 'of-the-server')
      response.writeHead(reply === undefined ? 202 : 200, { 'content-type': 'application/json' })
      response.end(reply === undefined ? undefined : JSON.stringify(reply))
    })
  })
  server.listen(0, HOST)
  await once(server, 'listening')
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { port: (server.address() as AddressInfo).port, close }
}

const MODEL_REPLY = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'small',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 1_000, total_tokens: 2_000 },
}

/** Undefined for a notification. */
function mcpReply(text: string): object | undefined {
  const {
    id,
    method,
    params = {},
  } = JSON.parse(text) as {
    readonly id?: number
    readonly method: string
    readonly params?: { readonly protocolVersion?: string }
  }
  if (id === undefined) return undefined
  const result =
    method === 'initialize'
      ? {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'tools', version: '1' },
        }
      : { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }
  return { jsonrpc: '2.0', id, result }
}

/** The address of the sidecar in each pod. */
export const ISSUER = 'http://localhost:9000'

/**
 * An OpenID Connect provider for a container beside the gateway. Every user is alice, and the code
 * is the nonce of the sign-in.
 */
export const ISSUER_SCRIPT = `
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
const tokenOf = (nonce) => {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: '${ISSUER}', aud: 'portcullis', sub: 'alice', iat: now, exp: now + 600, nonce }
  const text = part({ alg: 'RS256', kid: '1' }) + '.' + part(claims)
  return text + '.' + sign('sha256', Buffer.from(text), privateKey).toString('base64url')
}
const pages = {
  '/.well-known/openid-configuration': () => ({
    issuer: '${ISSUER}',
    authorization_endpoint: '${ISSUER}/authorize',
    token_endpoint: '${ISSUER}/token',
    jwks_uri: '${ISSUER}/jwks',
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  }),
  '/jwks': () => ({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', use: 'sig', alg: 'RS256' }] }),
  '/token': (form) => ({
    access_token: 'a',
    token_type: 'Bearer',
    expires_in: 600,
    id_token: tokenOf(form.get('code')),
  }),
}
createServer((request, response) => {
  let text = ''
  request.setEncoding('utf8').on('data', (piece) => (text += piece))
  request.on('end', () => {
    const page = pages[request.url.split('?')[0]]
    response.writeHead(page ? 200 : 404, { 'content-type': 'application/json' })
    response.end(page ? JSON.stringify(page(new URLSearchParams(text))) : '{}')
  })
}).listen(9000, '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))
`
