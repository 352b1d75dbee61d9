import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import OpenAI from 'openai'
import { snapshotOf } from '../../src/controller/cluster/snapshot.ts'
import { readManifests, withClasses } from '../../src/controller/manifests.ts'
import { translate } from '../../src/controller/translate/translate.ts'
import { type Deciding, freePort, settingsOf, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'

/* ProxyModels as a controller delivers them, called over sockets. */

const CONTROLLER = 'portcullis.dev/controller'

let openai: ModelProvider
let anthropic: ModelProvider
let running: Deciding
let port = 0

const manifests = () => `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: apps }
spec: { gatewayClassName: portcullis, listeners: [{ name: http, protocol: HTTP, port: ${port} }] }
---
apiVersion: v1
kind: Secret
metadata: { name: key, namespace: apps }
stringData: { Authorization: sk-provider }
---
apiVersion: portcullis.dev/v1alpha1
kind: ProxyModel
metadata: { name: gpt-x, namespace: apps }
spec:
  parentRefs: [{ name: edge }]
  provider: OpenAI
  baseURL: http://127.0.0.1:${openai.port}/v1
  policies:
    auth: { secretRef: { name: key } }
    authorization: { action: Deny, policy: { matchExpressions: ["request.headers['x-team'] == 'red'"] } }
---
apiVersion: portcullis.dev/v1alpha1
kind: ProxyModel
metadata: { name: claude-x, namespace: apps }
spec:
  parentRefs: [{ name: edge }]
  visibility: Internal
  provider: Anthropic
  baseURL: http://127.0.0.1:${anthropic.port}
  policies: { auth: { secretRef: { name: key } } }
---
apiVersion: portcullis.dev/v1alpha1
kind: ProxyModel
metadata: { name: any, namespace: apps }
spec:
  parentRefs: [{ name: edge }]
  virtualModel: { failover: { targets: [{ model: gpt-x, priority: 0 }, { model: claude-x, priority: 1 }] } }
---
apiVersion: portcullis.dev/v1alpha1
kind: ProxyModel
metadata: { name: broken, namespace: apps }
spec: { parentRefs: [{ name: edge }], provider: Azure, azure: { resourceName: "no name" } }
`

const client = (headers: Record<string, string> = {}) =>
  new OpenAI({
    ...{ apiKey: 'sk-client', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 },
    defaultHeaders: headers,
  })

async function ask(model: string, headers: Record<string, string> = {}) {
  const messages = [{ role: 'user', content: 'hello' }] as const
  const made = client(headers).chat.completions.create({ model, messages: [...messages] })
  return made.then(
    ({ choices }) => choices[0]?.message.content,
    (error) => (error instanceof OpenAI.APIError ? error.status : error),
  )
}

describe('ProxyModels', () => {
  before(async () => {
    ;[openai, anthropic] = await Promise.all([
      startModelProvider('openai'),
      startModelProvider('anthropic'),
    ])
    port = await freePort()
    const { objects } = readManifests([{ file: 'models.yaml', text: manifests() }])
    const options = { controllerName: CONTROLLER, settings: settingsOf('{}') }
    const { models } = translate(snapshotOf(withClasses(objects, CONTROLLER)), options)
    running = await startDeciding('{}')
    const applied = await running.gateway.apply(models.get('apps/edge') ?? assert.fail())
    assert.ok(applied.isApplied, JSON.stringify(applied.diagnostics))
  })

  after(async () => {
    await running.stop()
    await Promise.all([openai.close(), anthropic.close()])
  })

  it('are requested by name, with the key of the Secret', async () => {
    assert.equal(await ask('gpt-x'), 'Grüße')
    assert.deepEqual(openai.arrived.at(-1)?.headers.authorization, 'Bearer sk-provider')
  })

  it('apply their own rules', async () => {
    assert.equal(await ask('gpt-x', { 'x-team': 'red' }), 403)
  })

  it('that are internal are reachable only through virtual ones', async () => {
    assert.equal(await ask('claude-x'), 404)
    openai.behaviour = { status: 503 }
    assert.equal(await ask('any'), 'Grüße')
    assert.equal(anthropic.arrived.length, 1)
    openai.behaviour = {}
  })

  it('that are invalid reject requests for them, and nothing else', async () => {
    const status = await ask('broken')
    assert.ok(typeof status === 'number' && status >= 400, String(status))
    assert.equal(await ask('gpt-x'), 'Grüße')
  })

  it('are listed, except for internal ones', async () => {
    const { data } = await client().models.list()
    const names = data.map(({ id }) => id)
    assert.ok(names.includes('gpt-x') && names.includes('any'), names.join())
    assert.ok(!names.includes('claude-x'), names.join())
  })
})
