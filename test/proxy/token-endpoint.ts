import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as jose from 'jose'

export interface TokenEndpoint {
  readonly port: number
  /** Accepted forms. */
  readonly accepted: URLSearchParams[]
  /** The problems of the rejected forms. */
  readonly rejected: string[]
  /** Lifetime of tokens in seconds; undefined: not reported. */
  life: number | undefined
  /** Replaces the response. */
  fault: { readonly status: number; readonly body: string } | 'same-token' | 'silent' | undefined
  close(): void
}

export interface EndpointPlan {
  readonly client: string
  readonly secret: string
  readonly audience: string
  readonly publicKey: jose.CryptoKey
}

/** An authorization server that exchanges tokens (RFC 8693), and is strict about every member. */
export async function startTokenEndpoint(plan: EndpointPlan): Promise<TokenEndpoint> {
  const key = new TextEncoder().encode('the key of the authorization server')
  let count = 0
  const http = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const form = new URLSearchParams(Buffer.concat(pieces).toString())
    const say = (status: number, body: object) => {
      response.writeHead(status, {
        'content-type': 'application/json',
        'cache-control': 'no-store',
      })
      response.end(JSON.stringify(body))
    }
    const reject = (status: number, error: string, why: string) => {
      endpoint.rejected.push(why)
      say(status, { error, error_description: why })
    }
    const { fault } = endpoint
    if (fault === 'silent') return
    if (typeof fault === 'object') {
      response.writeHead(fault.status, { 'content-type': 'application/json' }).end(fault.body)
      return
    }
    if (request.method !== 'POST' || request.url !== '/token') {
      reject(404, 'not_found', `${request.method} ${request.url}`)
      return
    }
    const type = request.headers['content-type']
    if (type !== 'application/x-www-form-urlencoded') {
      reject(400, 'invalid_request', `content type ${type}`)
      return
    }
    const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
    const [, basic = ''] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? []
    const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':').map(decode)
    if (id !== plan.client || secret !== plan.secret) {
      reject(401, 'invalid_client', 'who are you?')
      return
    }
    const wanted = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    }
    for (const [name, value] of Object.entries(wanted)) {
      if (form.getAll(name).length === 1 && form.get(name) === value) continue
      reject(400, 'invalid_request', `${name}: ${form.getAll(name).join()}`)
      return
    }
    if (form.get('audience') !== plan.audience) {
      reject(400, 'invalid_target', `audience: ${form.get('audience')}`)
      return
    }
    const subject = form.get('subject_token') ?? ''
    const verified = await jose.jwtVerify(subject, plan.publicKey).catch(() => undefined)
    if (verified === undefined || verified.payload.sub === 'barred') {
      reject(400, 'invalid_grant', 'the subject token')
      return
    }
    endpoint.accepted.push(form)
    const issued = await new jose.SignJWT({ scope: form.get('scope') ?? '', n: ++count })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(verified.payload.sub ?? '')
      .setAudience(plan.audience)
      .sign(key)
    say(200, {
      access_token: fault === 'same-token' ? subject : issued,
      issued_token_type: wanted.requested_token_type,
      token_type: 'Bearer',
      ...(endpoint.life === undefined ? {} : { expires_in: endpoint.life }),
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const endpoint: TokenEndpoint = {
    port: (http.address() as AddressInfo).port,
    accepted: [],
    rejected: [],
    life: 3_600,
    fault: undefined,
    close: () => {
      http.closeAllConnections()
      http.close()
    },
  }
  return endpoint
}
