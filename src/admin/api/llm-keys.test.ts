import assert from 'node:assert/strict'
import { it } from 'node:test'
import { loadText } from '../../sources/file/load.ts'
import { ENDPOINTS } from './index.ts'

const HASH = `sha256:${'ab'.repeat(32)}`

it('lists keys and budgets at every attachment point, without key values', async () => {
  const { result } = loadText(
    `gateways:
  default:
    port: 4000
    policies:
      apiKey:
        keys:
        - { keyHash: '${HASH}', metadata: { owner: alice }, expires: '2020-01-01T00:00:00Z' }
routes:
- name: api
  policies:
    authentication:
      anyOf:
      - apiKey:
          keys: [{ key: a-long-plain-key, metadata: { owner: bob }, allowedModels: [small] }]
  backends: [{ host: 127.0.0.1:1 }]
llm:
  policies:
    budgets:
    - { usd: '2.5', per: Day, key: apiKey.owner }
    - { tokens: 1000, per: Minute, models: [small*] }
  models:
  - name: small
    provider: openAI
    params: { apiKey: x-secret-x }
`,
    'gateway.yaml',
    { environment: {} },
  )
  const endpoint = ENDPOINTS.find(({ path }) => path === '/api/llm/keys')
  const use = { callers: 2, used: 1.5, maxUsed: 1, ends: '2026-11-17T00:00:00.000Z' }
  const budgetUse = async () => [use]
  const deps = { status: () => ({ model: result.value }), secrets: [], budgetUse }
  const reply = await endpoint?.run({} as never, deps as never)
  assert.deepEqual(reply?.body, {
    keys: [
      {
        policy: 'gateway:default',
        metadata: { owner: 'alice' },
        expires: '2020-01-01T00:00:00Z',
        isExpired: true,
        allowedModels: null,
      },
      {
        policy: 'route:api',
        metadata: { owner: 'bob' },
        expires: null,
        isExpired: false,
        allowedModels: ['small'],
      },
    ],
    budgets: [
      {
        policy: 'route:llm',
        measure: 'usd',
        amount: 2.5,
        per: 'Day',
        key: 'apiKey.owner',
        models: null,
        use,
      },
      {
        policy: 'route:llm',
        measure: 'tokens',
        amount: 1000,
        per: 'Minute',
        key: null,
        models: ['small*'],
        use: null,
      },
    ],
  })
  assert.doesNotMatch(JSON.stringify(reply), /abab|plain|x-secret/)
})
