import { type ClientRequestArgs, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, isIPv4, isIPv6, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Authority } from './certificate.ts'
import type { Case } from './format.ts'

/** The result of a request as seen by a client. */
export type Seen =
  | {
      readonly kind: 'responded'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  /** No byte of a response arrived. */
  | { readonly kind: 'closed'; readonly error: string }
  /** The request cannot be sent. */
  | { readonly kind: 'unsent'; readonly error: string }

export interface Door {
  readonly port: number
  readonly isEncrypted: boolean
}

const MAX_WAIT = 10_000

/** Sends one request on a separate connection. */
export async function ask(
  one: Case,
  token: string | undefined,
  door: Door,
  authority: Authority,
): Promise<Seen> {
  try {
    return await send(one, token, await open(one, door, authority))
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    return {
      kind: code.startsWith('ERR_INVALID') || UNSENT.has(code) ? 'unsent' : 'closed',
      error: message,
    }
  }
}

/** Node's error codes for what it does not write to a socket. */
const UNSENT: ReadonlySet<string> = new Set([
  'ERR_UNESCAPED_CHARACTERS',
  'ERR_HTTP_INVALID_HEADER_VALUE',
])

/**
 * Whether the client address is sent in a PROXY header instead of being bound. A method named PROXY
 * would be parsed as that header, so it must be preceded by one.
 */
export function needsProxyHeader({ from, method }: Pick<Case, 'from' | 'method'>): boolean {
  return method === 'PROXY' || (from !== undefined && !isLoopback(from))
}

function isLoopback(address: string): boolean {
  return isIPv4(address) && address.startsWith('127.')
}

async function open(one: Case, { port, isEncrypted }: Door, authority: Authority): Promise<Socket> {
  const { from, certificate } = one
  const localAddress = from !== undefined && isLoopback(from) ? { localAddress: from } : {}
  const socket = connect({ port, host: '127.0.0.1', ...localAddress })
  await opened(socket, 'connect')
  if (needsProxyHeader(one)) socket.write(proxyHeader(from, port))
  if (!isEncrypted) return socket
  const servername = one.sni === false ? '' : (one.sni ?? one.host.replace(/:\d+$/, ''))
  const own = certificate && authority.issue(certificate.subject, certificate.names)
  const secured = connectTls({
    socket,
    servername,
    rejectUnauthorized: false,
    ...(own === undefined ? {} : { cert: own.cert, key: own.key }),
  })
  await opened(secured, 'secureConnect')
  return secured
}

function opened(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error?: Error) => reject(error ?? new Error('closed'))
    socket.once('error', fail)
    socket.once('close', () => fail())
    socket.once(event, () => {
      socket.off('error', fail)
      resolve()
    })
  })
}

function proxyHeader(from: string | undefined, port: number): string {
  if (from === undefined || isLoopback(from)) return 'PROXY UNKNOWN\r\n'
  const [family, to] = isIPv6(from) ? ['TCP6', '::1'] : ['TCP4', '127.0.0.1']
  return `PROXY ${family} ${from} ${to} 40000 ${port}\r\n`
}

function send(one: Case, token: string | undefined, socket: Socket): Promise<Seen> {
  const { method, path, host, headers, body } = one
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  // Node does not frame the body of a GET, which would then start another request.
  const isFramed = Object.keys(headers).some((name) =>
    /^(?:content-length|transfer-encoding)$/i.test(name),
  )
  const length = body === undefined || isFramed ? {} : { 'content-length': Buffer.byteLength(body) }
  const options: ClientRequestArgs = {
    method,
    path,
    createConnection: () => socket,
    setHost: false,
    headers: { host, ...authorization, ...length, ...headers, connection: 'close' },
    timeout: MAX_WAIT,
  }
  return new Promise((resolve) => {
    const request = httpRequest(options, (response) => {
      read(response).then(resolve, (error: Error) => {
        resolve({ kind: 'closed', error: error.message })
      })
    })
    // Node emits CONNECT responses separately, whatever their status, with the socket as the body.
    request.on('connect', (response, tunnel) => {
      tunnel.destroy()
      resolve(responded(response, ''))
    })
    request.on('timeout', () => request.destroy(new Error('no response within the time limit')))
    request.on('error', (error) => resolve({ kind: 'closed', error: error.message }))
    request.end(body)
  })
}

async function read(response: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return responded(response, Buffer.concat(chunks).toString())
}

function responded(response: IncomingMessage, body: string): Seen {
  const headers = Object.fromEntries(
    Object.entries(response.headersDistinct).map(([name, values]) => [
      name,
      values?.join(', ') ?? '',
    ]),
  )
  return { kind: 'responded', status: response.statusCode ?? 0, headers, body }
}
