import { createHash } from 'node:crypto'
import type { HeaderList } from './headers.ts'

/** RFC 6455 §1.3 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** A WebSocket's handshake as HTTP/2 has it, and what its response in HTTP/1.1 has besides. */
export interface ExtendedConnect {
  readonly headers: HeaderList
  /** Lines of the 101 that nobody says in HTTP/2. */
  readonly switching: string
}

/**
 * RFC 8441 §5: the method is CONNECT, the protocol says what for, and the key and its response, which
 * prove nothing here that HTTP/2 does not, are left out. The client of HTTP/1.1 wants them still.
 */
export function extendedConnect(headers: HeaderList): ExtendedConnect {
  const own: HeaderList = [':protocol', 'websocket']
  let key = ''
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i] as string, headers[i + 1] as string]
    if (name === 'sec-websocket-key') key = value
    else own.push(name, name === ':method' ? 'CONNECT' : value)
  }
  const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64')
  const lines = ['connection: upgrade', 'upgrade: websocket', `sec-websocket-accept: ${accept}`]
  return { headers: own, switching: lines.map((line) => `${line}\r\n`).join('') }
}
