import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { free } from './doorstep.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'
import { type Running, startRunning } from './running.ts'
import { until } from './whole-gateway.ts'

let anthropic: ModelProvider
let running: Running
let port = 0

const MESSAGE = {
  model: 'claude-x',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'hi' }],
}

/** What stands behind `config`. */
function sections(config: object): string {
  const lines = Object.entries(config).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
  return lines.join('')
}

async function message(body: object): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  })
  await answer.text()
  return answer.status
}

describe('metrics of models, as they are scraped', () => {
  before(async () => {
    anthropic = await startModelProvider('anthropic')
    port = await free()
    running = await startRunning(
      sections({
        gateways: { default: { port } },
        backends: [
          {
            name: 'models',
            ai: {
              name: 'main',
              provider: { anthropic: {} },
              hostOverride: `127.0.0.1:${anthropic.port}`,
            },
            policies: { backendAuth: { key: 'sk-provider' } },
          },
        ],
        routes: [{ name: 'chat', backends: [{ backend: 'models' }] }],
      }),
    )
  })

  after(async () => {
    await running?.stop()
    await anthropic.close()
  })

  it('have the names that OpenTelemetry gave them, too', async () => {
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
})
