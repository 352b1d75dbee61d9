import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../test/fuzz/runs.ts'
import { compileRedaction } from './redaction.ts'

const SHOW = ['jwt.sub', 'jwt.realm', "request.headers['x-team']", 'request.headers.team', 'apiKey']
const isShown = compileRedaction(SHOW, ['x-secret'])

describe('attributes in a record', () => {
  for (const [name, expected] of [
    ['request.method', true],
    ['request.path', true],
    ['source.address', true],
    ['destination.hostname', true],
    ['proxy.route', true],
    ['backend', true],
    ['jwt.sub', true],
    ['jwt.realm.roles', true],
    ["jwt.realm['a b']", true],
    ['apiKey.owner', true],
    ["request.headers['X-Team']", true],
    ['request.headers.Team', true],
    ['jwt', false],
    ['jwt.subject', false],
    ['jwt.group', false],
    ['basicAuth.username', false],
    ['source.identity', false],
    ['source', false],
    ["request.headers['x-other']", false],
    ['request', false],
    ['request.headers', false],
  ] as const) {
    it(`${expected ? 'shows' : 'redacts'} ${name}`, () => assert.equal(isShown(name), expected))
  }

  it('never include credentials, whatever is configured', () => {
    const all = compileRedaction(
      ['request', 'request.headers', 'jwt', 'source'],
      ['X-Secret'.toLowerCase()],
    )
    for (const name of [
      'request',
      'request.headers',
      'request.headers.authorization',
      'request.headers.Authorization',
      "request.headers['Proxy-Authorization']",
      'request.headers.cookie',
      "request.headers['x-api-key']",
      "request.headers['X-SECRET']",
      'request.query',
      'request.pathAndQuery',
      'request.uri',
      'request.body',
    ]) {
      assert.equal(all(name), false, name)
    }
    assert.equal(all("request.headers['x-team']"), true)
  })

  it('never include credential headers in any spelling', () => {
    const all = compileRedaction(['request.headers'], [])
    const mixed = fc.mixedCase(fc.constantFrom('authorization', 'cookie', 'x-api-key', 'api-key'))
    const property = fc.property(mixed, fc.boolean(), (header, isDotted) => {
      const dotted = isDotted && /^\w+$/.test(header)
      const name = dotted ? `request.headers.${header}` : `request.headers['${header}']`
      assert.equal(all(name), false)
    })
    fc.assert(property, fuzz(0.2))
  })
})
