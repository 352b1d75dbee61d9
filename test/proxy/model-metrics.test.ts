import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { type Running, startRunning } from './running.ts'
import { until } from './whole-gateway.ts'

let first: ModelProvider
let second: ModelProvider
let running: Running
let port = 0

const MESSAGE = {
  model: 'claude-x',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'hi' }],
}

/** The sections after `config`. */
function sections(config: object): string {
  const lines = Object.entries(config).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
  return lines.join('')
}

async function message(body: object): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  })
  await response.text()
  return response.status
}

interface Served {
  readonly policies?: object
  /** Policies of providers, by name. */
  readonly rules?: Readonly<Record<string, object>>
}

/** Two providers: the second one is used if the first fails. */
function configOf({ policies = {}, rules = {} }: Served = {}): string {
  const groups = [
    { name: 'first', of: first },
    { name: 'second', of: second },
  ].map(({ name, of }) => ({
    providers: [
      {
        name,
        provider: { anthropic: {} },
        hostOverride: `127.0.0.1:${of.port}`,
        policies: { backendAuth: { key: 'sk-provider' }, ...rules[name] },
      },
    ],
  }))
  return sections({
    gateways: { default: { port } },
    backends: [{ name: 'models', ai: { groups }, policies }],
    routes: [{ name: 'chat', backends: [{ backend: 'models' }] }],
  })
}

describe('scraped model metrics', () => {
  before(async () => {
    first = await startModelProvider('anthropic')
    second = await startModelProvider('anthropic')
    port = await free()
    running = await startRunning(configOf())
  })

  after(async () => {
    await running?.stop()
    for (const provider of [first, second]) await provider.close()
  })

  it('also have the names that OpenTelemetry defines', async () => {
    assert.equal(await message(MESSAGE), 200)
    assert.equal(await message({ ...MESSAGE, stream: true }), 200)
    const labels =
      'gen_ai_operation_name="chat",gen_ai_provider_name="anthropic",gen_ai_request_model="other"'
    const count = (name: string, more = '') => running.metric(`${name}_count{${labels}${more}}`)
    await until(
      'the second call',
      async () => (await count('gen_ai_client_operation_duration_seconds')) === 2,
    )
    assert.equal(await count('gen_ai_server_time_to_first_token_seconds'), 1)
    assert.equal(await count('gen_ai_server_time_per_output_token_seconds'), 1)
    const sums = { input: 18, output: 6 }
    for (const [type, sum] of Object.entries(sums)) {
      const more = `,gen_ai_token_type="${type}"`
      assert.equal(await count('gen_ai_client_token_usage', more), 2)
      const series = `gen_ai_client_token_usage_sum{${labels}${more}}`
      assert.equal(await running.metric(series), sum)
    }
    assert.match(await running.metrics(), /^# TYPE gen_ai_client_token_usage histogram$/m)
  })

  describe('count failovers', () => {
    const failovers = (reason: string) =>
      running.metric(
        `portcullis_llm_failovers_total{route="chat",provider="first",reason="${reason}"}`,
      )

    for (const [reason, behaviour] of [
      ['status', { status: 500 }],
      ['rate-limited', { status: 429 }],
      ['reset', { dies: 'at-once' }],
    ] as const) {
      it(`by the reason: ${reason}`, async () => {
        await running.reload(configOf())
        first.behaviour = behaviour
        assert.equal(await message(MESSAGE), 200)
        await until(reason, async () => (await failovers(reason)) === 1)
        first.behaviour = {}
      })
    }

    it('of providers that a rule denies', async () => {
      const denied = { authorization: { rules: [{ deny: 'true' }] } }
      await running.reload(configOf({ rules: { first: denied } }))
      assert.equal(await message(MESSAGE), 200)
      await until('the denial', async () => (await failovers('authorization')) === 1)
    })

    it('only if another provider is called', async () => {
      const denied = { authorization: { rules: [{ deny: 'true' }] } }
      await running.reload(configOf({ rules: { second: denied } }))
      const before = await failovers('status')
      const calls = 'portcullis_llm_requests_total'
      const counted = await running.total(calls)
      first.behaviour = { status: 500 }
      assert.equal(await message(MESSAGE), 500)
      first.behaviour = {}
      await until('the call', async () => (await running.total(calls)) === counted + 1)
      assert.equal(await failovers('status'), before)
    })
  })

  describe('count the outcomes of guards', () => {
    const rules = [{ pattern: 'secret', name: 'SECRET' }]
    const said = (content: string) => ({ ...MESSAGE, messages: [{ role: 'user', content }] })
    const checks = async (phase: string, outcome: string) => {
      const scraped = await running.metrics()
      const labels = `phase="${phase}",outcome="${outcome}"}`
      const lines = scraped
        .split('\n')
        .filter((line) => line.startsWith('portcullis_llm_guard_checks_total{'))
      return lines
        .filter((line) => line.includes(labels))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    }

    it('for requests and responses, streamed or not', async () => {
      const guardrails = {
        request: [{ regex: { rules } }],
        response: [{ regex: { action: 'reject', rules: [{ pattern: 'never said' }] } }],
      }
      await running.reload(configOf({ policies: { guardrails } }))
      assert.equal(await message(said('nothing')), 200)
      assert.equal(await message({ ...said('a secret'), stream: true }), 200)
      await until('both', async () => (await checks('response', 'passed')) === 2)
      assert.equal(await checks('request', 'passed'), 1)
      assert.equal(await checks('request', 'masked'), 1)
    })

    it('for calls that they reject and that reach no provider', async () => {
      const guardrails = { request: [{ regex: { action: 'reject', rules } }] }
      await running.reload(configOf({ policies: { guardrails } }))
      assert.equal(await message(said('a secret')), 403)
      await until('the rejection', async () => (await checks('request', 'rejected')) === 1)
    })

    it('for services that do not respond', async () => {
      const webhook = { target: { host: '127.0.0.1:1' } }
      await running.reload(configOf({ policies: { guardrails: { request: [{ webhook }] } } }))
      assert.equal(await message(said('nothing')), 503)
      await until('the failure', async () => (await checks('request', 'error')) === 1)
    })
  })
})
