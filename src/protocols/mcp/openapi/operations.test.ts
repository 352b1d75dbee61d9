import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readMessage } from '../message.ts'
import { type Operation, operationsOf } from './operations.ts'
import { type Arguments, requestFor } from './request.ts'

const document = (paths: object) => ({
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths,
})

/** As in a call: integers that a double cannot represent are exact. */
function argumentsOf(text: string): Arguments {
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${text}}`
  const message = readMessage(Buffer.from(call))
  assert.ok(typeof message !== 'string')
  return message.params as Arguments
}

describe('operations of an API', () => {
  it('exclude those with references that cannot be decoded', () => {
    const good = { get: { operationId: 'good' } }
    const broken = '#/components/schemas/a%zz'
    const parameter = { get: { operationId: 'bad', parameters: [{ $ref: broken }] } }
    const schema = {
      get: {
        operationId: 'bad',
        parameters: [{ name: 'q', in: 'query', schema: { $ref: broken } }],
      },
    }
    for (const bad of [parameter, schema]) {
      const names = operationsOf(document({ '/bad': bad, '/good': good }), undefined)
      assert.deepEqual(
        names.map(({ tool }) => tool.name),
        ['good'],
      )
    }
  })

  it('have no arguments that identify the caller', () => {
    const of = (names: readonly string[], place: string) =>
      names.map((name) => ({ name, in: place, required: true, schema: { type: 'string' } }))
    const withheld = [
      ...['X-Api-Key', 'api-key', 'ApiKey', 'X-Auth-Token', 'Access-Token', 'X-Vault-Token'],
      ...['X-Amz-Security-Token', 'Ocp-Apim-Subscription-Key', 'X-Client-Secret', 'Own-Key'],
      ...['X-Forwarded-For', 'x-forwarded-user', 'Forwarded', 'X-Real-IP', 'Via', 'X-User-Id'],
      ...['X-Envoy-External-Address', 'Cf-Access-Jwt-Assertion', 'X-Remote-User', 'Remote-User'],
    ]
    const kept = ['Idempotency-Key', 'X-Page-Token', 'X-Request-Id', 'If-Match', 'X-User-Agent']
    const parameters = [
      ...of([...withheld, ...kept], 'header'),
      ...of(['q', 'own_key', 'page_token'], 'query'),
      ...of(['api-key'], 'path'),
    ]
    const securitySchemes = {
      header: { type: 'apiKey', in: 'header', name: 'own-key' },
      query: { type: 'apiKey', in: 'query', name: 'own_key' },
    }
    const paths = { '/find/{api-key}': { get: { operationId: 'find', parameters } } }
    const [find] = operationsOf({ ...document(paths), components: { securitySchemes } }, undefined)
    const properties = (find?.tool.inputSchema as { properties: object } | undefined)?.properties
    assert.deepEqual(Object.keys(properties ?? {}), [...kept, 'q', 'page_token', 'api-key'])
  })

  it('receive integers beyond 2^53 verbatim, in JSON parameters', () => {
    const json = { content: { 'application/json': { schema: {} } } }
    const parameters = [
      { name: 'filter', in: 'query', ...json },
      { name: 'X-Filter', in: 'header', ...json },
    ]
    const paths = { '/find': { get: { operationId: 'find', parameters } } }
    const [find] = operationsOf(document(paths), undefined)
    const given = argumentsOf('{"filter":{"id":9007199254740993},"X-Filter":[9007199254740993]}')
    const request = requestFor(find as Operation, given)
    assert.ok(typeof request !== 'string')
    assert.equal(decodeURIComponent(request.path), '/find?filter={"id":9007199254740993}')
    assert.deepEqual(request.headers, [['x-filter', '[9007199254740993]']])
  })
})
