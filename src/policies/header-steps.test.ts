import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, hostBackend, policies, programOf } from '../../test/program/models.ts'
import type { HeaderEdit } from '../exchange/header-edit.ts'

/** Applies the edit to headers like the wire does. */
function applied(edit: HeaderEdit, headers: readonly (readonly [string, string])[]) {
  const kept = headers.filter(([name]) => !edit.removed.includes(name))
  return [...kept, ...edit.added].map(([name, value]) => `${name}: ${value}`)
}

describe('requestHeaders and responseHeaders', () => {
  for (const [what, changes, before, after] of [
    [
      'set replaces all values',
      { set: { A: '1' } },
      [
        ['a', '2'],
        ['a', '3'],
      ],
      ['A: 1'],
    ],
    ['set adds where there is none', { set: { a: '1' } }, [], ['a: 1']],
    ['add keeps what is there', { add: { a: '1' } }, [['a', '2']], ['a: 2', 'a: 1']],
    [
      'remove takes all values',
      { remove: ['A'] },
      [
        ['a', '2'],
        ['a', '3'],
        ['b', '4'],
      ],
      ['b: 4'],
    ],
    [
      'remove, then set, then add',
      { remove: ['a'], set: { b: '1' }, add: { a: '2' } },
      [
        ['a', '0'],
        ['b', '0'],
      ],
      ['b: 1', 'a: 2'],
    ],
  ] as const) {
    it(what, async () => {
      const program = programOf({
        routes: [{ policies: { requestHeaders: changes, responseHeaders: changes } }],
      })
      const { exchange } = await decide(program)
      assert.deepEqual(applied(exchange.requestEdit, before), after)
      assert.deepEqual(applied(exchange.responseEdit, before), after)
    })
  }

  it('a request passes the route before the backend, a response the backend before the route', async () => {
    const own = (value: string) => ({ set: { x: value } })
    const backend = hostBackend('up', [
      ...policies({ requestHeaders: own('backend') }, 'backend', 'backend'),
      ...policies({ responseHeaders: own('backend') }, 'backend', 'backend'),
    ])
    const route = { requestHeaders: own('route'), responseHeaders: own('route') }
    const program = programOf({ routes: [{ policies: route }], backends: [backend] })
    const { exchange } = await decide(program)
    assert.deepEqual(applied(exchange.requestEdit, []), ['x: backend'])
    assert.deepEqual(applied(exchange.responseEdit, []), ['x: route'])
  })

  it('repeated edits are one object, so that they are rendered once', async () => {
    const backend = hostBackend(
      'up',
      policies({ requestHeaders: { add: { b: '2' } } }, 'backend', 'backend'),
    )
    const program = programOf({
      routes: [{ policies: { requestHeaders: { add: { a: '1' } } } }],
      backends: [backend],
    })
    const [one, two] = [await decide(program), await decide(program)]
    assert.deepEqual(applied(one.exchange.requestEdit, []), ['a: 1', 'b: 2'])
    assert.equal(one.exchange.requestEdit, two.exchange.requestEdit)
  })

  it('local responses get the headers too', async () => {
    const program = programOf({
      gateway: {
        responseHeaders: { set: { x: '1' } },
        authorization: { rules: [{ deny: 'true' }] },
      },
    })
    const { exchange, reply } = await decide(program)
    assert.equal(reply?.status, 403)
    assert.deepEqual(applied(exchange.responseEdit, []), ['x: 1'])
  })
})
