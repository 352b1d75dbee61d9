import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callIdOf } from './message.ts'

const idOf = (text: string) => callIdOf(Buffer.from(text))

test('the id of a call is that of the client, verbatim', () => {
  assert.equal(idOf('{"jsonrpc":"2.0","id":"a\\u0062","method":"x"}'), '"a\\u0062"')
  assert.equal(idOf('{"id": 1.50}'), '1.50')
  assert.equal(idOf('{"id": 12345678901234567890123}'), '12345678901234567890123')
  assert.equal(idOf('{"id": -7}'), '-7')
})

test('an invalid id becomes null', () => {
  for (const text of ['', '{', '[]', '{}', '{"id":null}', '{"id":{}}', '{"id":[1]}', '{"id":true}'])
    assert.equal(idOf(text), 'null', text)
  assert.equal(callIdOf(undefined), 'null')
  assert.equal(idOf('{"id":1,"id":2}'), 'null')
})

test('a body that is too costly to parse is not parsed for its id', () => {
  const members = Array.from({ length: 200_000 }, (_, at) => `"m${at}":1`).join(',')
  assert.equal(idOf(`{"id":1,"params":{${members}}}`), 'null')
  assert.equal(idOf(`{"id":1,"params":{"text":"${'x'.repeat(2_000_000)}"}}`), '1')
})
