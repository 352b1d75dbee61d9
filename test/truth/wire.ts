import { connect, isIP, isIPv4, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls'
import type { CertificateName, Credentials, CustomCertificate } from './credentials.ts'
import { askHttp2 } from './http2-link.ts'
import { readMessage } from './mcp-server.ts'

/** The connection of a client: port, load balancer and TLS. */
export interface Transport {
  readonly port: number
  /** An address of this machine; by default the usual one. */
  readonly from?: string
  readonly proxy?: { readonly version: 1 | 2; readonly address: string }
  readonly tls?: {
    readonly sni: string | undefined
    readonly certificate?: CertificateName | CustomCertificate
  }
  /** Uses HTTP/2; by default HTTP/1. */
  readonly isHttp2?: true
}

/** A request, from which the bytes are made. */
export interface Request {
  readonly method: string
  readonly target: string
  readonly version: '1.1' | '1.0'
  readonly host: string | undefined
  readonly headers: readonly (readonly [string, string])[]
  /** JSON text of the claims of a token. */
  readonly claims?: string
  readonly token?: 'valid' | 'forged' | 'expired'
  readonly apiKey?: string
  readonly body?: string
}

export interface Probe {
  readonly transport: Transport
  readonly request: Request
  /**
   * The backend that gets it, as `host:port`, if one is chosen by chance and this one has a share.
   */
  readonly share?: string
}

/**
 * The outcome. `by` is the port of the backend that it reached, 0 for a response of the gateway
 * itself.
 */
export interface Outcome {
  readonly status: number
  readonly by: number | undefined
  /** The names in a list of tools, prompts or resources that it returned. */
  readonly listed?: readonly string[]
}

export const CLOSED: Outcome = { status: 0, by: undefined }

/** Whether it reached a backend or a direct response. */
export function isAdmitted({ by }: Outcome): boolean {
  return by !== undefined
}

export function bytesOf(request: Request, credentials: Credentials): string {
  const { method, target, version, host, body } = request
  const lines = [`${method} ${target} HTTP/${version}`]
  if (host !== undefined) lines.push(`Host: ${host}`)
  for (const [name, value] of fieldsOf(request, credentials)) lines.push(`${name}: ${value}`)
  if (body !== undefined) lines.push(`Content-Length: ${body.length}`)
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

/** Headers except the host, with credentials. */
function fieldsOf(
  { headers, claims, token = 'valid', apiKey }: Request,
  credentials: Credentials,
): readonly (readonly [string, string])[] {
  const fields = [...headers]
  if (claims !== undefined) {
    fields.push(['Authorization', `Bearer ${credentials.token(claims, token)}`])
  }
  if (apiKey !== undefined) fields.push(['x-api-key', apiKey])
  return fields
}

const TIMEOUT_MS = 8_000

/** One connection, which only reads responses. */
export class Link {
  readonly #socket: Socket
  #text = ''
  #isOver = false
  #wake: (() => void) | undefined

  private constructor(socket: Socket, isHttp2 = false) {
    this.#socket = socket
    // An HTTP/2 client reads on its own.
    if (!isHttp2) {
      socket.on('data', (bytes) => {
        this.#text += bytes.toString('latin1')
        this.#wake?.()
      })
    }
    const over = () => {
      this.#isOver = true
      this.#wake?.()
    }
    socket.on('error', over)
    socket.on('close', over)
    socket.on('end', over)
  }

  /** Undefined if the connection is not accepted. */
  static open(transport: Transport, credentials: Credentials): Promise<Link | undefined> {
    const { port, from, proxy, tls, isHttp2 } = transport
    return new Promise((resolve, reject) => {
      const socket = connect({
        port,
        host: '127.0.0.1',
        ...(from === undefined ? {} : { localAddress: from }),
      })
      const late = setTimeout(() => {
        socket.destroy()
        reject(
          new Error(`a connection was neither taken nor refused: ${JSON.stringify(transport)}`),
        )
      }, TIMEOUT_MS)
      const done = (link: Link | undefined) => {
        clearTimeout(late)
        resolve(link)
      }
      const rejected = () => done(undefined)
      socket.once('error', rejected)
      socket.once('close', rejected)
      socket.once('connect', () => {
        socket.setNoDelay(true)
        if (proxy !== undefined) socket.write(proxyHeader(proxy, port))
        if (tls === undefined) return done(new Link(socket, isHttp2))
        const { sni, certificate } = tls
        const secured = connectTls({
          socket,
          // An address is never sent as a server name.
          servername: sentName(sni) ?? '',
          rejectUnauthorized: false,
          ALPNProtocols: [isHttp2 ? 'h2' : 'http/1.1'],
          secureContext: contextOf(certificate, credentials),
        })
        secured.once('error', rejected)
        secured.once('close', rejected)
        secured.once('secureConnect', () => done(new Link(secured, isHttp2)))
      })
    })
  }

  get isOpen(): boolean {
    return !this.#isOver && !this.#socket.destroyed
  }

  close(): void {
    this.#socket.destroy()
  }

  async askHttp2(request: Request, credentials: Credentials): Promise<Outcome> {
    const response = await askHttp2(this.#socket, request, fieldsOf(request, credentials))
    this.close()
    if (response === undefined) return CLOSED
    const { status, backend } = response
    if (backend !== undefined) return { status, by: Number(backend) }
    return { status, by: OWN_STATUSES.has(status) ? 0 : undefined }
  }

  async ask(bytes: string, isHead: boolean): Promise<Outcome> {
    this.#text = ''
    this.#socket.write(bytes, 'latin1')
    const until = performance.now() + TIMEOUT_MS
    for (;;) {
      const response = readResponse(this.#text, isHead, this.#isOver)
      if (response === 'more') {
        if (this.#isOver) return CLOSED
        if (performance.now() > until) throw new Error('no response came in time')
        await this.#more()
        continue
      }
      if (response.closes) this.close()
      return response.outcome
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, TIMEOUT_MS)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }
}

const CONTEXTS = new Map<string, SecureContext>()

function contextOf(
  certificate: NonNullable<Transport['tls']>['certificate'],
  credentials: Credentials,
): SecureContext {
  const own = certificate === undefined ? undefined : credentials.certificate(certificate)
  const key = own?.cert ?? ''
  const known = CONTEXTS.get(key)
  if (known !== undefined) return known
  const made = createSecureContext(own === undefined ? {} : { cert: own.cert, key: own.key })
  CONTEXTS.set(key, made)
  return made
}

/** Of direct responses and redirects. */
const OWN_STATUSES: ReadonlySet<number> = new Set([200, 202, 302, 307])

/** A rejected call, as agents report it. */
const CALL_ERROR = /^\{"jsonrpc":"2\.0".*"error":\{"code":-\d+/

/** A CORS preflight, to which the gateway responds before clients authenticate. */
export function isPreflight({ status, by }: Outcome): boolean {
  return status === 204 && by === undefined
}

interface ParsedResponse {
  readonly outcome: Outcome
  readonly closes: boolean
}

/** Responses here have a length, are streams, or end with the connection. */
function readResponse(text: string, isHead: boolean, isOver: boolean): ParsedResponse | 'more' {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return 'more'
  const head = text.slice(0, end).toLowerCase()
  const status = Number(head.slice(9, 12))
  const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? (isOver ? 0 : -1))
  const hasBody = !isHead && status !== 204 && status !== 304
  const body = text.slice(end + 4)
  // Of streams, only the end matters here.
  const isChunked = /\r\ntransfer-encoding: chunked/.test(head)
  const isComplete = isChunked && /(?:^|\r\n)0\r\n\r\n$/.test(body)
  if (hasBody && length < 0 && !isOver && !isComplete) return 'more'
  if (hasBody && body.length < length) return isOver ? { outcome: CLOSED, closes: true } : 'more'
  const reached = /\r\nx-backend: (\d+)/.exec(head)?.[1]
  // The gateway itself uses these statuses for nothing but errors of calls, which clients read in
  // the body; a response to HEAD has no body to identify it by.
  const message = reached === undefined ? readMessage(body) : undefined
  const isDirect = OWN_STATUSES.has(status) && !CALL_ERROR.test(body) && message?.isError !== true
  const own = message?.by ?? 0
  const by = reached === undefined ? (isDirect ? own : undefined) : Number(reached)
  const listed = message === undefined || by === undefined ? {} : { listed: message.listed }
  return { outcome: { status, by, ...listed }, closes: /\r\nconnection: close/.test(head) }
}

/** A PROXY protocol header of either version, written from its specification. */
function proxyHeader(proxy: NonNullable<Transport['proxy']>, port: number): Buffer {
  const { version, address } = proxy
  const isV4 = isIPv4(address)
  if (version === 1) {
    const to = isV4 ? 'TCP4' : 'TCP6'
    const local = isV4 ? '127.0.0.1' : '::1'
    return Buffer.from(`PROXY ${to} ${address} ${local} 40000 ${port}\r\n`)
  }
  const from = addressBytes(address)
  const local = addressBytes(isV4 ? '127.0.0.1' : '::1')
  const ports = Buffer.alloc(4)
  ports.writeUInt16BE(40_000, 0)
  ports.writeUInt16BE(port, 2)
  const rest = Buffer.concat([from, local, ports])
  const head = Buffer.from('\r\n\r\n\0\r\nQUIT\n\x21\0\0\0', 'latin1')
  head[13] = isV4 ? 0x11 : 0x21
  head.writeUInt16BE(rest.length, 14)
  return Buffer.concat([head, rest])
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const words = (text: string) =>
    text === '' ? [] : text.split(':').map((one) => parseInt(one, 16))
  const [before, after] = [words(head), words(tail ?? '')]
  const zeros = Array.from(
    { length: tail === undefined ? 0 : 8 - before.length - after.length },
    () => 0,
  )
  const bytes = Buffer.alloc(16)
  for (const [index, word] of [...before, ...zeros, ...after].entries()) {
    bytes.writeUInt16BE(word, index * 2)
  }
  return bytes
}

/** Addresses are not server names: clients send none instead. */
export function sentName(sni: string | undefined): string | undefined {
  return sni === undefined || isIP(sni) > 0 ? undefined : sni
}
