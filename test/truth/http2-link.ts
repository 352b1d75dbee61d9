import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import type { Socket } from 'node:net'
import type { Request } from './wire.ts'

const TIMEOUT_MS = 8_000
const MALFORMED = constants.NGHTTP2_PROTOCOL_ERROR

/**
 * Sends one request over HTTP/2 on a new connection; undefined if it is closed without a response.
 */
export async function askHttp2(
  socket: Socket,
  request: Request,
  fields: readonly (readonly [string, string])[],
): Promise<{ readonly status: number; readonly backend: string | undefined } | undefined> {
  const scheme = 'encrypted' in socket ? 'https' : 'http'
  const session = connectHttp2(`${scheme}://oracle.test`, { createConnection: () => socket })
  session.on('error', () => session.destroy())
  try {
    return await responseOf(session, scheme, request, fields)
  } finally {
    session.destroy()
    socket.destroy()
  }
}

function responseOf(
  session: ClientHttp2Session,
  scheme: string,
  { method, target, host, body }: Request,
  fields: readonly (readonly [string, string])[],
): Promise<{ readonly status: number; readonly backend: string | undefined } | undefined> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('no response came in time')), TIMEOUT_MS)
    const done = (response: Parameters<typeof resolve>[0]) => {
      clearTimeout(late)
      resolve(response)
    }
    session.once('close', () => done(undefined))
    const headers: Record<string, string | string[]> = {
      ':method': method,
      ':scheme': scheme,
      ':path': target,
      ':authority': host ?? '',
    }
    for (const [name, value] of fields) {
      const own = headers[name.toLowerCase()]
      headers[name.toLowerCase()] = own === undefined ? value : [own, value].flat()
    }
    const stream = session.request(headers, { endStream: body === undefined })
    // A malformed request is a stream error in HTTP/2, and 400 in HTTP/1: the connection stays
    // open.
    const over = () =>
      done(stream.rstCode === MALFORMED ? { status: 400, backend: undefined } : undefined)
    stream.on('error', over)
    stream.on('close', over)
    stream.once('response', (response) => {
      const backend = response['x-backend']
      done({ status: Number(response[':status']), backend: backend && String(backend) })
    })
    if (body !== undefined) stream.end(body)
  })
}
