import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  keySetText,
  signerOf,
  tokenOf,
} from '../../src/policies/jwt-authentication/fixtures/tokens.ts'
import { governBy, startServer } from './governed.ts'

const SIGNER = signerOf('ES256', 'example')
const LATER = 4_000_000_000
const bearer = (claims: object) => ({
  authorization: `Bearer ${tokenOf(SIGNER, { exp: LATER, aud: 'orders', ...claims })}`,
})
const KEY = { 'x-api-key': 'robot-key' }
const basic = (text: string) => ({ authorization: `Basic ${btoa(text)}` })

/** What each example does with requests: method and path, headers, status. */
const CASES: Readonly<
  Record<string, readonly (readonly [string, Record<string, string>, number])[]>
> = {
  'tokens.yaml': [
    ['GET /', {}, 401],
    ['POST /', bearer({ groups: ['eng'] }), 200],
    ['GET /', bearer({ sub: 'auditor' }), 200],
    ['POST /', bearer({ sub: 'auditor' }), 403],
    ['GET /', bearer({ aud: 'other', groups: ['eng'] }), 401],
    ['GET /', bearer({ exp: 1, groups: ['eng'] }), 401],
  ],
  'api-keys.yaml': [
    ['GET /', {}, 401],
    ['GET /', { 'x-api-key': 'guess' }, 401],
    ['GET /', KEY, 200],
    ['POST /', KEY, 403],
  ],
  'passwords.yaml': [
    ['GET /', {}, 401],
    ['GET /', basic('alice:open sesame'), 200],
    ['GET /', basic('alice:open'), 401],
    ['GET /admin', basic('alice:open sesame'), 403],
  ],
  'any-of.yaml': [
    ['GET /', {}, 401],
    ['GET /', KEY, 200],
    ['POST /', KEY, 403],
    ['POST /', bearer({}), 200],
    ['POST /', bearer({ sub: 'bob' }), 403],
    ['POST /', { ...KEY, ...bearer({}) }, 200],
    ['GET /', { ...KEY, authorization: 'Bearer garbage' }, 200],
  ],
  'behind-proxies.yaml': [
    ['GET /', {}, 403],
    ['GET /', { 'x-forwarded-for': '192.0.2.7, 127.0.0.1' }, 200],
    ['GET /', { 'x-forwarded-for': '192.0.2.7, 10.0.0.7, 127.0.0.1' }, 403],
    ['GET /', { 'x-forwarded-for': 'unknown, 127.0.0.1' }, 400],
  ],
  'external-authorization.yaml': [
    ['GET /', {}, 401],
    ['GET /', { authorization: 'Bearer alice' }, 200],
    ['GET /admin', { authorization: 'Bearer alice' }, 403],
    ['GET /admin', { authorization: 'Bearer root' }, 200],
    ['GET /broken', { authorization: 'Bearer alice' }, 503],
  ],
}

describe('examples do what they describe', () => {
  for (const [name, cases] of Object.entries(CASES)) {
    it(name, async () => {
      const judge = await startServer(({ url = '', headers }, response) => {
        const user = headers.authorization?.slice('Bearer '.length)
        const status = url.endsWith('/broken') ? 500 : user === undefined ? 401 : 200
        response.writeHead(status, user === undefined ? {} : { 'x-user': user }).end()
      })
      const text = readFileSync(join(import.meta.dirname, '../../examples', name), 'utf8')
      const write = (own: string, port: number, backend: number) =>
        own
          .replace('port: 4000', `port: ${port}`)
          .replaceAll('127.0.0.1:4001', `127.0.0.1:${backend}`)
          .replaceAll('127.0.0.1:4002', `127.0.0.1:${judge.port}`)
      const gateway = await governBy(text, write, { 'keys.json': keySetText(SIGNER) })
      for (const [asked, headers, status] of cases) {
        const [method = '', path = ''] = asked.split(' ')
        const response = await gateway.send(path, { method, headers })
        assert.equal(response.status, status, `${asked} ${JSON.stringify(headers).slice(0, 60)}`)
        const { authorization, ...seen } = response.got?.headers ?? {}
        if (name !== 'external-authorization.yaml') assert.equal(authorization, undefined)
        assert.equal(seen['x-api-key'], undefined, 'credentials stay here')
      }
      await gateway.close()
      judge.close()
    })
  }
})
