import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import OpenAI from 'openai'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type StatefulProvider, startStatefulProvider } from './stateful-provider.ts'

/*
 * Providers store responses, conversations and items for one account, which all clients of the
 * gateway share: an ID must work for the client that got it, and for no other client.
 */

let one: StatefulProvider
let two: StatefulProvider
let running: Deciding
/** A route to a backend with two providers, and the `llm` section. */
let port = 0
let llmPort = 0

const KEYS = { alice: 'sk-alice', bob: 'sk-bob' }
const SESSION_KEY = '5a'.repeat(32)

type Who = keyof typeof KEYS

const client = (who: Who, at = port) =>
  new OpenAI({ apiKey: KEYS[who], baseURL: `http://127.0.0.1:${at}/v1`, maxRetries: 0 })

const provider = (name: string, { port: own }: StatefulProvider, policies: object = {}) => ({
  name,
  provider: { openAI: {} },
  hostOverride: `127.0.0.1:${own}`,
  policies: { backendAuth: { key: 'sk-provider' }, ...policies },
})

const apiKey = {
  keys: Object.entries(KEYS).map(([user, key]) => ({ key, metadata: { user } })),
}

function config({ backend = {} }: { backend?: object } = {}): string {
  const params = { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${one.port}` }
  return JSON.stringify({
    config: { session: { key: SESSION_KEY } },
    gateways: { default: { port }, models: { port: llmPort } },
    backends: [
      {
        name: 'models',
        ai: { groups: [{ providers: [provider('one', one), provider('two', two)] }] },
        policies: backend,
      },
    ],
    routes: [
      {
        name: 'all',
        gateways: ['default'],
        policies: { apiKey },
        backends: [{ backend: 'models' }],
      },
    ],
    llm: {
      gateways: ['models'],
      policies: { apiKey },
      models: [
        { name: 'gpt-x', provider: 'openAI', params },
        {
          ...{ name: 'gpt-y', provider: 'openAI', params },
          authorization: { rules: ["apiKey.user == 'alice'"] },
        },
      ],
    },
  })
}

const isNotFound = (error: unknown) => error instanceof OpenAI.NotFoundError
const HELLO = { model: 'gpt-x', input: 'hello' }

/** Every ID that the two providers store: no client may see any of them. */
function rawIds(): readonly string[] {
  return [...one.stored.keys(), ...two.stored.keys()]
}

function assertSealed(value: unknown): void {
  const text = JSON.stringify(value)
  for (const id of rawIds()) {
    assert.ok(!text.includes(`"${id}"`), `${id} is shown`)
  }
}

describe('IDs of objects that providers store', () => {
  before(async () => {
    ;[one, two] = await Promise.all([startStatefulProvider('a'), startStatefulProvider('b')])
    port = await freePort()
    llmPort = await freePort()
    running = await startDeciding(config(), 'json')
  })

  after(async () => {
    await running.stop()
    await Promise.all([one.close(), two.close()])
  })

  beforeEach(() => {
    for (const { arrived, stored } of [one, two]) {
      arrived.length = 0
      stored.clear()
    }
  })

  it('a response continues one of the same client, at the provider that stores it', async () => {
    // Each provider rejects IDs that it did not create, so a wrong choice is detected.
    for (let i = 0; i < 8; i++) {
      const first = await client('alice').responses.create(HELLO)
      const next = await client('alice').responses.create({
        ...{ ...HELLO, previous_response_id: first.id },
      })
      assert.equal(next.previous_response_id, first.id)
      assertSealed([first, next])
    }
  })

  it('text that is not an ID stays as the provider wrote it', async () => {
    const made = await client('alice').responses.create(HELLO)
    assert.deepEqual(made.metadata, { id: 'msg_of_the_client' })
    assert.equal(made.output_text, 'Grüße "id":"msg_1"')
    assert.equal((made as unknown as Record<string, unknown>)['x-unknown'], 'kept')
  })

  it('streams have the same IDs, wherever they are split', async () => {
    const stream = await client('alice').responses.create({ ...HELLO, stream: true })
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    for await (const event of stream) events.push(event)
    assert.equal(events.length, 5)
    assertSealed(events)
    const delta = events.find(({ type }) => type === 'response.output_text.delta')
    const item = events.find(({ type }) => type === 'response.output_item.done')
    assert.ok(delta?.type === 'response.output_text.delta')
    assert.ok(item?.type === 'response.output_item.done')
    assert.equal(delta.delta, 'Grüße "item_id":"x"')
    assert.equal(delta.item_id, item.item.id)
    const last = events.at(-1)
    assert.ok(last?.type === 'response.completed')
    const next = await client('alice').responses.create({
      ...{ ...HELLO, previous_response_id: last.response.id },
    })
    assert.equal(next.status, 'completed')
    const read = await client('alice').responses.retrieve(last.response.id)
    assert.equal(read.id, last.response.id)
  })

  it('the IDs of another client, raw IDs and modified ones are all unknown', async () => {
    const own = await client('alice').responses.create(HELLO)
    const raw = rawIds().find((id) => id.startsWith('resp')) as string
    const before = one.arrived.length + two.arrived.length
    const last = own.id.endsWith('A') ? 'B' : 'A'
    const changed = `${own.id.slice(0, -1)}${last}`
    const other = own.id.replace(/^resp_(\w)/, 'resp_$1x')
    const said: string[] = []
    for (const [who, id] of [
      ['bob', own.id],
      ['bob', raw],
      ['alice', raw],
      ['alice', changed],
      ['alice', other],
      ['bob', 'resp_nobody'],
    ] as const) {
      const { responses } = client(who)
      for (const attempt of [
        () => responses.create({ ...HELLO, previous_response_id: id }),
        () => responses.create({ ...HELLO, previous_response_id: id, stream: true }),
        () => responses.retrieve(id),
        () => responses.retrieve(id, { stream: true }),
        () => responses.cancel(id),
        () => responses.delete(id),
        async () => await responses.inputItems.list(id),
        () => responses.create({ ...HELLO, conversation: id }),
        () => responses.create({ ...HELLO, conversation: { id } }),
        () => responses.create({ ...HELLO, input: [{ type: 'item_reference', id }] }),
        // The type of a reference is optional.
        () => responses.create({ ...HELLO, input: [{ id } as never] }),
        () => responses.create({ ...HELLO, input: [{ type: 'reasoning', id, summary: [] }] }),
        () => client(who).conversations.retrieve(id),
        () => client(who).conversations.items.retrieve('msg_1', { conversation_id: id }),
      ]) {
        await assert.rejects(attempt(), (error) => {
          assert.ok(isNotFound(error), `${who} ${id} ${attempt}: ${error}`)
          const { message, code } = error as InstanceType<typeof OpenAI.NotFoundError>
          assert.notEqual(code, 'upstream')
          said.push(message.replaceAll(id, 'ID').replace(/\(request .*\)/, ''))
          return true
        })
      }
    }
    assert.equal(one.arrived.length + two.arrived.length, before, 'no provider was called')
    // Six kinds of bad IDs, and one message for each attempt.
    assert.equal(new Set(said).size, new Set(said.slice(0, said.length / 6)).size)
  })

  it('other paths to the same objects are not served', async () => {
    const own = await client('alice').responses.create(HELLO)
    const raw = rawIds().find((id) => id.startsWith('resp')) as string
    const before = one.arrived.length + two.arrived.length
    for (const [method, path] of [
      ['GET', '/v1/responses'],
      ['GET', '/v1/responses/'],
      ['GET', `/v1/responses%2F${raw}`],
      ['GET', `/v1/responses/${raw}%2Fcancel`],
      ['GET', `/v1//responses/${raw}`],
      ['GET', `/v1/Responses/${raw}`],
      ['GET', `/v1/x/../responses/${raw}`],
      ['GET', `/v1/%72esponses/${raw}`],
      ['GET', `/v1/responses/${own.id}/x`],
      ['GET', `/v1/responses/${own.id}/../${raw}`],
      ['GET', '/v1/conversations'],
      ['GET', '/v1/containers'],
      ['GET', '/v1/containers/cntr_1/files/f/content'],
    ] as const) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        ...{ method, headers: { authorization: `Bearer ${KEYS.alice}` } },
      })
      // Ambiguous paths are rejected earlier.
      assert.equal(response.status, /%2F/.test(path) ? 400 : 404, path)
      await response.body?.cancel()
    }
    assert.equal(one.arrived.length + two.arrived.length, before)
  })

  it('a client reads, lists, cancels and deletes what it created in the background', async () => {
    const { responses } = client('alice')
    const made = await responses.create({ ...HELLO, background: true })
    assert.equal(made.status, 'queued')
    const read = await responses.retrieve(made.id)
    assert.equal(read.id, made.id)
    const events: unknown[] = []
    for await (const event of await responses.retrieve(made.id, { stream: true })) {
      events.push(event)
    }
    assertSealed(events)
    const items = await responses.inputItems.list(made.id, { after: made.output[0]?.id as string })
    assertSealed(items.data)
    const urls = [...one.arrived, ...two.arrived].map(({ url }) => url)
    assert.ok(
      urls.some((url) => /input_items\?after=msg_\w+$/.test(url)),
      urls.join(' '),
    )
    const cancelled = await responses.cancel(made.id)
    assert.deepEqual([cancelled.id, cancelled.status], [made.id, 'cancelled'])
    await responses.delete(made.id)
    await assert.rejects(responses.retrieve(made.id), isNotFound)
  })

  it('items are sent back: as references, and complete', async () => {
    const { responses } = client('alice')
    const made = await responses.create(HELLO)
    const [item] = made.output
    assert.ok(item?.type === 'message')
    const reference = { type: 'item_reference', id: item.id } as const
    await responses.create({ ...HELLO, input: [reference] })
    await responses.create({ ...HELLO, input: [item, { role: 'user', content: 'more' }] })
    // A complete item is accepted from anyone, without its foreign ID.
    const foreign = { ...item, id: 'msg_other' }
    await responses.create({ ...HELLO, input: [foreign, { role: 'user', content: 'more' }] })
    const sent = [...one.arrived, ...two.arrived].map(({ body }) => body)
    assert.ok(!sent.some((body) => body.includes('msg_other')))
  })

  it('conversations belong to the client that started them', async () => {
    const { conversations, responses } = client('alice')
    for (let i = 0; i < 4; i++) {
      const { id } = await conversations.create({})
      assertSealed(id)
      const made = await responses.create({ ...HELLO, conversation: id })
      assert.equal(made.conversation?.id, id)
      const [item] = made.output
      await conversations.items.retrieve(item?.id as string, { conversation_id: id })
      await assert.rejects(client('bob').conversations.retrieve(id), isNotFound)
      await conversations.delete(id)
    }
  })

  it('the rules of a model apply to its stored responses', async () => {
    const alice = client('alice', llmPort).responses
    const made = await alice.create({ ...HELLO, model: 'gpt-y' })
    assert.equal((await alice.retrieve(made.id)).id, made.id)
    await assert.rejects(client('bob', llmPort).responses.retrieve(made.id), isNotFound)
    // An ID of one model is not valid for a model of another backend.
    await assert.rejects(client('alice', port).responses.retrieve(made.id), isNotFound)
    const denying = config().replace("apiKey.user == 'alice'", 'false')
    await running.apply(denying)
    try {
      await assert.rejects(alice.retrieve(made.id), OpenAI.PermissionDeniedError)
    } finally {
      await running.apply(config())
    }
  })

  it('responses that are guarded cannot be read past their guards', async () => {
    const made = await client('alice').responses.create({ ...HELLO, background: true })
    const guardrails = { response: [{ regex: { rules: [{ pattern: 'Gr' }] } }] }
    await running.apply(config({ backend: { guardrails } }))
    try {
      await assert.rejects(client('alice').responses.retrieve(made.id), OpenAI.BadRequestError)
    } finally {
      await running.apply(config())
    }
  })

  it('IDs survive a restart of the gateway', async () => {
    const made = await client('alice').responses.create(HELLO)
    await running.stop()
    running = await startDeciding(config(), 'json')
    assert.equal((await client('alice').responses.retrieve(made.id)).id, made.id)
  })
})
