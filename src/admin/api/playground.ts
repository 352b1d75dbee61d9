import { request as sendPlain } from 'node:http'
import { request as sendTls } from 'node:https'
import * as z from 'zod'
import type { Model } from '../../model/model.ts'
import { Reach } from '../../reach/reach.ts'
import { type ApiReply, type Endpoint, ok, problem } from './define.ts'

const MAX_BODY = 1 << 20
const TIMEOUT = 60_000
/** Headers that the connection itself sets. */
const OWN = ['connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect', 'te']

const request = z.strictObject({
  listener: z.string().optional().describe('gateway/listener; the first HTTP listener by default.'),
  method: z
    .string()
    .regex(/^[A-Z]{1,32}$/)
    .default('GET')
    .describe('The method.'),
  path: z
    .string()
    .max(8_192)
    .regex(/^\/[!-~]*$/)
    .describe('The path and query.'),
  headers: z.record(z.string(), z.string()).default({}).describe('Headers by name.'),
  body: z.string().max(MAX_BODY).optional().describe('The body.'),
})

const response = z
  .object({
    status: z.int(),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
    isCut: z.boolean().describe('True if the body was truncated.'),
    milliseconds: z.number(),
  })
  .meta({ id: 'PlaygroundResponse' })

export const PLAYGROUND_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/api/playground',
    summary: 'Sends a request to a listener of this gateway, through all of its policies.',
    role: 'editor',
    body: request,
    responses: { 200: { description: 'The response.', schema: response } },
    run: ({ body }, { status }) => {
      const given = body as z.output<typeof request>
      const found = listenerOf(status().model, given.listener)
      return typeof found === 'string' ? problem(404, found) : play(found, given)
    },
  },
]

interface Listening {
  readonly port: number
  readonly isTls: boolean
  readonly hostname: string
}

/** Only listeners of this gateway: nothing else can be reached this way. */
function listenerOf(model: Model | undefined, wanted: string | undefined): Listening | string {
  const listeners = model === undefined ? [] : [...new Reach(model).listeners()]
  const all = listeners.flatMap(({ gateway, listener: one }) =>
    one.protocol === 'HTTP' || one.protocol === 'HTTPS'
      ? [{ ...one, called: `${gateway.name}/${one.name}` }]
      : [],
  )
  const found = all.find(({ called }) => wanted === undefined || called === wanted)
  if (found === undefined) {
    const names = all.map(({ called }) => called).join(', ')
    return `unknown listener \`${wanted ?? ''}\`; available: ${names === '' ? 'none' : names}`
  }
  const { port, protocol, hostname = 'localhost' } = found
  return { port, isTls: protocol === 'HTTPS', hostname: hostname.replace('*', 'playground') }
}

function play(
  { port, isTls, hostname }: Listening,
  given: z.output<typeof request>,
): Promise<ApiReply> {
  const { method, path, body } = given
  const headers = Object.fromEntries(
    Object.entries(given.headers).filter(([name]) => !OWN.includes(name.toLowerCase())),
  )
  const started = performance.now()
  return new Promise((resolve) => {
    const failed = (error: Error) =>
      resolve(problem(503, `the listener on port ${port} does not respond: ${error.message}`))
    const settings = {
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: { host: hostname, ...headers },
      timeout: TIMEOUT,
      agent: false as const,
      // It is our own listener, reached by its address: there is nothing to verify.
      ...(isTls ? { servername: hostname, rejectUnauthorized: false } : {}),
    }
    let sent: ReturnType<typeof sendPlain>
    try {
      sent = (isTls ? sendTls : sendPlain)(settings, (reply) => {
        const parts: Buffer[] = []
        let size = 0
        const end = (isCut: boolean) => {
          clearTimeout(timer)
          const whole = Buffer.concat(parts).subarray(0, MAX_BODY)
          const { statusCode = 0, headers: own } = reply
          resolve(
            ok({
              status: statusCode,
              headers: Object.fromEntries(
                Object.entries(own).map(([name, value]) => [name, [value].flat().join(', ')]),
              ),
              body: whole.toString('utf8'),
              isCut,
              milliseconds: Math.round(performance.now() - started),
            }),
          )
          sent.destroy()
        }
        const timer = setTimeout(() => end(true), TIMEOUT)
        reply.on('data', (bytes: Buffer) => {
          parts.push(bytes)
          size += bytes.length
          if (size > MAX_BODY) end(true)
        })
        reply.on('end', () => end(false))
        reply.on('error', failed)
      })
    } catch (error) {
      // The header cannot be written.
      resolve(problem(400, (error as Error).message))
      return
    }
    sent.on('timeout', () => sent.destroy(new Error('timed out')))
    sent.on('error', failed)
    sent.end(body)
  })
}
