import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-calls-'))
after(() => rmSync(FOLDER, { recursive: true }))

interface Parts {
  /** Providers, with their options and rules. */
  readonly providers?: readonly (readonly [kind: string, options?: object, rules?: object[]])[]
  /** Policies of the route. */
  readonly policies?: object
  readonly path?: string
}

let count = 0
function file({ providers = [['openAI']], policies, path }: Parts): string {
  const name = join(FOLDER, `${count++}.yaml`)
  const all = providers.map(([kind, options = {}, rules], index) => ({
    name: `p${index}`,
    provider: { [kind]: options },
    hostOverride: '127.0.0.1:9000',
    ...(rules === undefined ? {} : { policies: { authorization: { rules } } }),
  }))
  const route = {
    name: 'api',
    ...(path === undefined ? {} : { matches: [{ path: { exact: path } }] }),
    ...(policies === undefined ? {} : { policies }),
    backends: [{ ai: { groups: [{ providers: all }] } }],
  }
  writeFileSync(name, JSON.stringify({ gateways: { default: { port: 4000 } }, routes: [route] }))
  return name
}

interface Difference {
  readonly kind: string
  readonly example: { method: string; path: string; message?: { about: string; body: string } }
}

async function diffed(before: Parts, now: Parts) {
  const files = [file(before), file(now)]
  const { code, out } = await runWith(['diff', ...files, '--json', '--fail-on-newly-admitted'])
  const { differences, untold } = JSON.parse(out) as {
    differences: readonly Difference[]
    untold: readonly { why: string }[]
  }
  const calls = differences.map(({ kind, example: { method, path, message } }) =>
    [kind, method, path, ...(message === undefined ? [] : [message.about])].join(' '),
  )
  return { code, calls, untold: untold.map(({ why }) => why), differences }
}

const CHAT = 'POST /v1/chat/completions'
const COUNT = 'POST /v1/messages/count_tokens'
const about = (...rules: object[]): Parts => ({ providers: [['openAI', {}, rules]] })
const NOT_A_CALL = 'GET /'

/** Edits, and the requests that they change in one direction; nothing about them is unknown. */
const EDITS: Readonly<Record<string, readonly [old: Parts, now: Parts, refused: string[]]>> = {
  'a first rule about the model': [
    {},
    about({ allow: "llm.requestModel == 'b'" }),
    [`${CHAT} model other`, NOT_A_CALL],
  ],
  'one model fewer': [
    about({ allow: "llm.requestModel in ['b', 'c']" }),
    about({ allow: "llm.requestModel == 'b'" }),
    [`${CHAT} model c`],
  ],
  'a rule in other words': [
    about({ allow: "llm.requestModel == 'b' || llm.requestModel == 'c'" }),
    about({ allow: "llm.requestModel in ['c', 'b']" }),
    [],
  ],
  'a limit of a parameter': [
    about({ allow: "llm.requestModel == 'b'" }),
    about({ allow: "llm.requestModel == 'b' && llm.params.max_tokens < 100" }),
    [`${CHAT} model b`],
  ],
  'a Deny of streams': [
    about({ allow: "llm.requestModel == 'b'" }),
    about({ allow: "llm.requestModel == 'b'" }, { deny: 'llm.streaming' }),
    [`${CHAT} model b`],
  ],
  'a rule about the API that clients use': [
    about({ deny: "llm.requestModel == 'b'" }),
    about({ deny: "llm.requestModel == 'b'" }, { deny: "request.path == '/v1/messages'" }),
    ['POST /v1/messages model other'],
  ],
  'another name of the model at the provider': [
    { providers: [['openAI', { model: 'm' }]] },
    { providers: [['openAI', { model: 'n' }]] },
    [],
  ],
  'a first name of the model at the provider': [
    {},
    { providers: [['openAI', { model: 'm' }]] },
    [],
  ],
  'a provider with the same API': [{ providers: [['openAI'], ['openAI']] }, {}, []],
  'a provider with another API': [
    { providers: [['openAI'], ['anthropic']] },
    {},
    [`${COUNT} model any`],
  ],
  'a first budget': [
    {},
    { policies: { budgets: [{ requests: 5, per: 'Hour' }] } },
    [`${CHAT} model any`, NOT_A_CALL],
  ],
  'a lower budget': [
    { policies: { budgets: [{ tokens: 9, per: 'Hour' }] } },
    { policies: { budgets: [{ tokens: 5, per: 'Hour' }] } },
    [`${CHAT} model any`],
  ],
  'a first rate limit': [
    {},
    { policies: { localRateLimit: { requests: 5, unit: 'Hours' } } },
    [`${CHAT} model any`],
  ],
  'a first rule about the model on a path of calls': [
    { path: '/v1/messages' },
    { ...about({ allow: "llm.requestModel == 'b'" }), path: '/v1/messages' },
    ['POST /v1/messages model other', 'GET /v1/messages'],
  ],
}

describe('portcullis diff of calls to models', () => {
  for (const [what, [old, now, refused]] of Object.entries(EDITS)) {
    it(`${what}: analyzed in both directions, with real calls`, async () => {
      const found = await diffed(old, now)
      assert.deepEqual(found.untold, [])
      assert.deepEqual(found.calls.toSorted(), refused.map((one) => `refused ${one}`).toSorted())
      assert.equal(found.code, 0)
      const back = await diffed(now, old)
      assert.deepEqual(back.untold, [])
      assert.deepEqual(back.calls.toSorted(), refused.map((one) => `admitted ${one}`).toSorted())
      assert.equal(back.code, refused.length === 0 ? 0 : 1)
    })
  }

  it('replaces a provider: calls that only one of the two serves', async () => {
    const { calls, untold } = await diffed({}, { providers: [['anthropic']] })
    assert.deepEqual(untold, [])
    assert.deepEqual(calls, [
      `admitted ${COUNT} model any`,
      'refused POST /v1/embeddings model any',
    ])
  })

  it('does not call a limit proven that counts elsewhere', async () => {
    const limit = { localRateLimit: { requests: 5, unit: 'Hours' } }
    const { untold } = await diffed(
      { policies: limit },
      {
        policies: {
          localRateLimit: {
            conditional: [{ condition: "'x' in request.headers", ...limit.localRateLimit }],
          },
        },
      },
    )
    assert.ok(untold.length > 0)
    assert.ok(
      untold.every((why) => why.startsWith('`localRateLimit` differs')),
      untold.join(),
    )
  })
})
