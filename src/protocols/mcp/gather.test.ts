import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type ArrivedMessage,
  type EndpointPlan,
  ScriptedServers,
  type ServerReply,
} from '../../../test/program/scripted-servers.ts'

/** Two servers, `a` and `b`: `b` does as the test says. */
function two(
  b: (message: ArrivedMessage) => ServerReply,
  plan: Partial<EndpointPlan> = {},
  a: (message: ArrivedMessage) => ServerReply = good('a'),
): ScriptedServers {
  return new ScriptedServers({ names: ['a', 'b'], ...plan }, (message) =>
    message.server === 'a' ? a(message) : b(message),
  )
}

const good =
  (name: string, more: object = {}) =>
  ({ body }: ArrivedMessage): ServerReply => {
    switch (body?.method) {
      case 'initialize': {
        const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, ...more }
        return { result, headers: { 'mcp-session-id': `session-of-${name}` } }
      }
      case 'tools/list':
        return { result: { tools: [{ name: `${name}-tool` }] } }
      case undefined:
        return { status: 202 }
      default:
        return { result: {} }
    }
  }

const toolsIn = ({ body }: { body: { result?: { tools: { name: string }[] } } }) =>
  body.result?.tools.map(({ name }) => name)

describe('a request to several servers', () => {
  it('has the results of all of them', async () => {
    const { body, status } = await two(good('b')).request('tools/list')
    assert.deepEqual([status, toolsIn({ body })], [200, ['a_a-tool', 'b_b-tool']])
  })

  const unsupported = {
    code: -32022,
    message: 'Unsupported protocol version',
    data: { supported: ['2025-06-18'], requested: '2099-01-01' },
  }
  for (const [what, reply, expected] of [
    [
      'reports which revisions it speaks',
      { status: 400, error: unsupported },
      { status: 400, error: unsupported },
    ],
    [
      'fails with another error',
      { status: 400, error: { code: -32600, message: 'm' } },
      { status: 502, error: { code: -32603, message: 'Server `b` failed.' } },
    ],
    [
      'fails with a result',
      { status: 400, result: { code: -32022 } },
      { status: 502, error: { code: -32603, message: 'Server `b` failed.' } },
    ],
    [
      'fails with an error that is no object',
      { status: 500, text: '{"jsonrpc":"2.0","id":1,"error":null}' },
      { status: 500, error: { code: -32603, message: 'Server `b` failed.' } },
    ],
    [
      'fails with a text',
      { status: 503, text: 'overloaded' },
      { status: 503, error: { code: -32603, message: 'Server `b` failed.' } },
    ],
    [
      'does not respond in time',
      { failure: 'timeout' },
      { status: 504, error: { code: -32603, message: 'Server `b` failed.' } },
    ],
    [
      'cannot be reached',
      { failure: 'connect-rejected' },
      { status: 503, error: { code: -32603, message: 'Server `b` failed.' } },
    ],
    [
      'rejects it',
      { error: { code: -32602, message: 'no' } },
      { status: 200, error: { code: -32602, message: 'no' } },
    ],
    [
      'sends nothing',
      { status: 200, text: '' },
      { status: 502, error: { code: -32603, message: 'Server `b` failed.' } },
    ],
    [
      'sends the response to another request',
      { status: 200, text: '{"jsonrpc":"2.0","id":99,"result":{"tools":[]}}' },
      { status: 502, error: { code: -32603, message: 'Server `b` failed.' } },
    ],
  ] as const) {
    it(`fails if one of them ${what}`, async () => {
      for (const method of ['tools/list', 'logging/setLevel']) {
        const { status, body } = await two(() => reply).request(method)
        assert.deepEqual(
          [status, body],
          [expected.status, { jsonrpc: '2.0', id: 1, error: expected.error }],
        )
      }
    })

    it(`has the results of the others if one of them ${what} and may fail`, async () => {
      const servers = two(() => reply, { options: { failureMode: 'FailOpen' } })
      assert.deepEqual(toolsIn(await servers.request('tools/list')), ['a_a-tool'])
      const failing = two(
        () => reply,
        { options: { failureMode: 'FailOpen' } },
        () => reply,
      )
      assert.equal((await failing.request('tools/list')).status, expected.status)
    })
  }

  it('ignores servers that do not know the method, unless none does', async () => {
    const unknown = () => ({ error: { code: -32601, message: 'Method not found' } })
    for (const method of ['tools/list', 'logging/setLevel']) {
      const { status, body } = await two(unknown).request(method)
      assert.equal(status, 200)
      assert.ok('result' in body, JSON.stringify(body))
    }
    const { body } = await two(unknown, {}, unknown).request('tools/list')
    assert.deepEqual(body.result, { tools: [] })
  })

  it('fails once the session ID of one server is unknown', async () => {
    const servers = two(good('b'))
    const session = await servers.begin()
    servers.respondWith = () => ({ status: 404, text: '{}' })
    const { status, detail } = await servers.request('tools/list', {}, session)
    assert.deepEqual([status, detail], [502, 'a: server-error'])
  })
})

describe('the handshake with several servers', () => {
  it('agrees on the oldest revision, and gives the client one session for all', async () => {
    const servers = two(
      good('b', {
        protocolVersion: '2025-03-26',
        capabilities: { prompts: {} },
        instructions: 'Be nice.',
      }),
    )
    const { body, headers } = await servers.request('initialize', {})
    assert.deepEqual(body.result, {
      protocolVersion: '2025-03-26',
      capabilities: { tools: {}, prompts: {} },
      serverInfo: { name: 'portcullis', version: '1' },
      instructions: '# b\n\nBe nice.',
    })
    const session = { 'mcp-session-id': headers['mcp-session-id'] ?? '' }
    servers.arrived.length = 0
    await servers.request('logging/setLevel', {}, session)
    assert.deepEqual(
      servers.arrived.map(({ server, headers: own }) => [
        server,
        own['mcp-session-id'],
        own['mcp-protocol-version'],
      ]),
      [
        ['a', 'session-of-a', '2025-06-18'],
        ['b', 'session-of-b', '2025-03-26'],
      ],
    )
  })

  it('has a session if any of the servers has one, and none otherwise', async () => {
    const plain = (message: ArrivedMessage) => ({ ...good('x')(message), headers: {} })
    assert.ok('mcp-session-id' in (await two(good('b'), {}, plain).begin()))
    assert.deepEqual(await two(plain, {}, plain).begin(), {})
  })

  it('leaves out servers that failed and may fail, in the whole session', async () => {
    const failing = () => ({ status: 500, text: '' })
    const servers = two(failing, { options: { failureMode: 'FailOpen' } })
    const session = await servers.begin()
    servers.respondWith = (message) => good(message.server)(message)
    assert.deepEqual(toolsIn(await servers.request('tools/list', {}, session)), ['a_a-tool'])
    assert.deepEqual(toolsIn(await servers.request('tools/list')), ['a_a-tool', 'b_b-tool'])
  })
})

describe('the handshake with one server', () => {
  it('gives the client a session if the server has one', async () => {
    for (const hasSession of [true, false]) {
      const servers = new ScriptedServers({ names: ['a'] }, (message) => ({
        ...good('a')(message),
        ...(hasSession ? {} : { headers: {} }),
      }))
      const session = await servers.begin()
      assert.equal('mcp-session-id' in session, hasSession)
      await servers.request('logging/setLevel', {}, session)
      const { headers } = servers.arrived.at(-1) ?? assert.fail()
      assert.equal(headers['mcp-session-id'], hasSession ? 'session-of-a' : undefined)
    }
  })
})

describe('a notification to several servers', () => {
  it('reaches all of them, and has no other response than 202', async () => {
    for (const reply of [
      good('b'),
      () => ({ status: 500, text: 'no' }),
      () => ({ failure: 'x' }),
    ]) {
      const servers = two(reply)
      const { status, text } = await servers.send({
        jsonrpc: '2.0',
        method: 'notifications/initialized',
      })
      assert.deepEqual([status, text], [202, ''])
      assert.deepEqual(servers.methods, [
        'a notifications/initialized',
        'b notifications/initialized',
      ])
    }
  })
})

describe('a list of several servers with pages', () => {
  const paged = ({ server, body }: ArrivedMessage): ServerReply => {
    if (body.method !== 'tools/list') return { result: {} }
    const page = Number(body.params?.cursor ?? 0)
    // `a` has three pages and `b` two.
    const last = server === 'a' ? 2 : 1
    const next = page < last ? { nextCursor: `${page + 1}` } : {}
    return { result: { tools: [{ name: `t${page}` }], ...next } }
  }

  it('has a cursor for the servers that have more, until none has', async () => {
    const servers = two(paged, {}, paged)
    const pages: unknown[] = []
    let cursor: string | undefined
    do {
      const { body } = await servers.request('tools/list', cursor === undefined ? {} : { cursor })
      pages.push(toolsIn({ body }))
      cursor = body.result.nextCursor
    } while (cursor !== undefined && pages.length < 9)
    assert.deepEqual(pages, [['a_t0', 'b_t0'], ['a_t1', 'b_t1'], ['a_t2']])
  })

  it('rejects cursors that the gateway did not issue', async () => {
    for (const cursor of ['x', '', 7, null, {}]) {
      const servers = two(paged, {}, paged)
      const { status, body } = await servers.request('tools/list', { cursor })
      assert.deepEqual([status, body.error?.code], [200, -32602], JSON.stringify(cursor))
      assert.equal(servers.arrived.length, 0)
    }
  })
})

describe('a list of servers without prefixes', () => {
  const named =
    (...names: string[]) =>
    (): ServerReply => ({
      result: { tools: names.map((name) => ({ name })) },
    })
  const options = { prefixMode: 'Never' }

  it('has each name once, of the first server that offers it', async () => {
    const servers = two(named('x', 'z'), { options }, named('x', 'y'))
    assert.deepEqual(toolsIn(await servers.request('tools/list')), ['x', 'y', 'z'])
  })

  it('has only items that the rules show, and hides them from the others', async () => {
    const seen: string[] = []
    const shows = (_: unknown, { tool }: { tool?: { target: string; name: string } }) => {
      seen.push(`${tool?.target} ${tool?.name}`)
      return tool?.name !== 'x'
    }
    const rules = { isGuarded: true, shows }
    const servers = two(named('x', 'z'), { options, rules }, named('x', 'y'))
    assert.deepEqual(toolsIn(await servers.request('tools/list')), ['y', 'z'])
    assert.deepEqual(seen, ['a x', 'a y', 'b z'])
  })
})
