import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, programOf } from '../../../test/program/models.ts'

const ASKED = {
  method: 'POST',
  url: '/a/b?c=d',
  host: 'shop.example:8443',
  headers: { host: 'shop.example:8443', 'x-in': 'v', 'content-type': 'text/plain' },
}

async function changed(transformations: object, asked: object = {}) {
  const program = programOf({ routes: [{ policies: { transformations } }] })
  assert.deepEqual(program.diagnostics, [])
  const { exchange } = await decide(program, { ...ASKED, ...asked })
  const { path, search, host, requestEdit, metadata } = exchange
  return {
    line: `${path}${search}`,
    host,
    added: requestEdit.added,
    removed: requestEdit.removed,
    metadata,
  }
}
const set = (name: string, value: string) => ({ request: { set: { [name]: value } } })

describe('transformations of a request', () => {
  for (const [value, line] of [
    ["'/x'", '/x'],
    ["'/x?y=z'", '/x?y=z'],
    ["'/x?'", '/x?'],
    ["'/' + request.headers['x-in']", '/v'],
    ["'/ü€?ä'", '/%C3%BC%E2%82%AC?%C3%A4'],
    ["'/a?b?c'", '/a?b?c'],
    // Not paths, or values without a text: the path is unchanged.
    ["'x'", '/a/b?c=d'],
    ["''", '/a/b?c=d'],
    ["'/x y'", '/a/b?c=d'],
    ["'/x#y'", '/a/b?c=d'],
    ["'/x?y#z'", '/a/b?c=d'],
    ["'/x\\r\\ny: z'", '/a/b?c=d'],
    ['7', '/a/b?c=d'],
    ['null', '/a/b?c=d'],
    ["request.headers['x-absent']", '/a/b?c=d'],
  ] as const) {
    it(`:path ${value}: ${line}`, async () => {
      const { line: own, host } = await changed(set(':path', value))
      assert.deepEqual([own, host], [line, ''])
    })
  }

  for (const [value, host] of [
    ["'other.example'", 'other.example'],
    ["'other.example:65535'", 'other.example:65535'],
    ["'[::1]:80'", '[::1]:80'],
    ["'10.0.0.1'", '10.0.0.1'],
    ["'a b'", ''],
    ["'a/b'", ''],
    ["'a@b'", ''],
    ["'a:123456'", ''],
    ["'a:'", ''],
    ["''", ''],
    ['null', ''],
    ["request.headers['x-absent']", ''],
  ] as const) {
    it(`:authority ${value}: ${host === '' ? 'unchanged' : host}`, async () => {
      const { host: own, line } = await changed(set(':authority', value))
      assert.deepEqual([own, line], [host, '/a/b?c=d'])
    })
  }

  for (const [value, text] of [
    ["'x'", 'x'],
    ["'a\\tb'", 'a\tb'],
    ["'é'", 'é'],
    ["'€'", '€'],
    ["''", ''],
    ['7', '7'],
    ['1.5', '1.5'],
    ['true', 'true'],
    ["['a', 1]", '["a",1]'],
    ["{'a': 1}", '{"a":1}'],
    ["b'bytes'", 'bytes'],
    ["b'null'", 'null'],
    ["'null'", 'null'],
    ["request.headers['x-in']", 'v'],
    ['null', undefined],
    ["' x'", undefined],
    ["'x '", undefined],
    ["'a\\r\\nb: c'", undefined],
    ["'a\\u0000'", undefined],
    ["request.headers['x-absent']", undefined],
  ] as const) {
    it(`a header with the value ${value}: ${text === undefined ? 'none' : `\`${text}\``}`, async () => {
      const header = text === undefined ? [] : [['x-new', text]]
      const replaced = await changed(set('x-new', value))
      assert.deepEqual([replaced.added, replaced.removed], [header, ['x-new']])
      const further = await changed({ request: { add: { 'x-new': value } } })
      // The client's own header must not take the place of one that cannot be computed.
      assert.deepEqual(
        [further.added, further.removed],
        [header, text === undefined ? ['x-new'] : []],
      )
    })
  }

  it('see the message before any of the changes', async () => {
    const { line, host, added, metadata } = await changed({
      request: {
        set: { ':path': "'/x'", ':authority': "'h'", 'x-in': "'new'", 'x-path': 'request.path' },
        add: { 'x-old': "request.headers['x-in'] + request.host" },
        metadata: { seen: "request.headers['x-in']", none: "request.headers['x-absent']" },
      },
    })
    assert.deepEqual([line, host], ['/x', 'h'])
    assert.deepEqual(Object.fromEntries(added), {
      'x-in': 'new',
      'x-path': '/a/b',
      'x-old': 'vshop.example:8443',
    })
    assert.deepEqual(metadata, { seen: 'v' })
  })

  it('remove headers last, and those about the bytes of a replaced body', async () => {
    const { added, removed } = await changed({
      request: { set: { 'x-a': "'1'", 'x-b': "'2'" }, remove: ['x-a', 'x-in'], body: "'new'" },
    })
    assert.deepEqual(added, [['x-b', '2']])
    assert.deepEqual([...removed].sort(), [
      ...['content-digest', 'content-encoding', 'content-md5', 'digest', 'repr-digest'],
      ...['x-a', 'x-b', 'x-in'],
    ])
    assert.deepEqual((await changed({ request: { remove: ['x-in'] } })).removed, ['x-in'])
  })

  it('of the first entry whose condition is true apply; one that fails is not true', async () => {
    const entry = (condition: string | undefined, value: string) => ({
      ...(condition === undefined ? {} : { condition }),
      ...set('x-new', `'${value}'`),
    })
    const conditional = [
      entry("request.headers['x-absent'] == 'v'", 'failed'),
      entry("request.method == 'GET'", 'get'),
      entry("request.method in ['GET', 'POST']", 'both'),
    ]
    for (const [method, more, expected] of [
      ['GET', [], [['x-new', 'get']]],
      ['POST', [], [['x-new', 'both']]],
      ['PUT', [], []],
      ['PUT', [entry(undefined, 'rest')], [['x-new', 'rest']]],
    ] as const) {
      const { added } = await changed({ conditional: [...conditional, ...more] }, { method })
      assert.deepEqual(added, expected, method)
    }
  })

  for (const [what, response, removed, added] of [
    ['replaces its body', { body: "'x'" }, ['if-range', 'range'], []],
    [
      'reads its body',
      { set: { 'x-a': 'string(response.body)' } },
      ['accept-encoding', 'if-range', 'range'],
      [['accept-encoding', 'identity']],
    ],
    ['changes its head', { set: { 'x-a': "'x'" } }, [], []],
  ] as const) {
    it(`of a response that ${what} request ${removed.length === 0 ? 'what the client does' : 'all of it'}`, async () => {
      const own = await changed({ response })
      assert.deepEqual([[...own.removed].sort(), own.added], [removed, added])
    })
  }
})
