import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { Deployer, type LiveObject } from './deployer.ts'
import type { ProxyParameters } from './parameters.ts'
import type { DeployedGateway } from './render.ts'

type Stored = LiveObject & Record<string, unknown>

/** A minimal API server: it fills in defaults and writes some values in its own form. */
class FakeApi {
  readonly objects = new Map<string, Stored>()
  /** The objects that the watches have seen; as late as the test needs. */
  seen = new Map<string, Stored>()
  readonly requests: string[] = []
  fails: string | undefined
  #version = 0

  request = async (method: string, path: string, options: { body?: unknown } = {}) => {
    const [, key = ''] = /([a-z]+\/[^/?]+)(\?|$)/.exec(path) ?? []
    this.requests.push(`${method} ${key}`)
    if (this.fails !== undefined && key.startsWith(this.fails)) {
      return { status: 403, body: { message: `${key} is forbidden` } }
    }
    if (method === 'GET') {
      this.requests.pop()
      const found = this.objects.get(key)
      return found ? { status: 200, body: found } : { status: 404, body: {} }
    }
    if (method === 'DELETE') {
      this.objects.delete(key)
      return { status: 200, body: {} }
    }
    this.write(key, JSON.parse(JSON.stringify(options.body)))
    return { status: 200, body: this.objects.get(key) }
  }

  write(key: string, object: Stored): void {
    const text = JSON.stringify(object).replaceAll('"1000m"', '"1"')
    // As in a list: objects do not contain their kind.
    const { metadata, apiVersion: __, kind: ___, ...rest } = JSON.parse(text) as Stored
    const before = this.objects.get(key)
    const spec = rest['spec'] as object | undefined
    const filled = { ...rest, ...(spec && { spec: { revisionHistoryLimit: 10, ...spec } }) }
    const { resourceVersion: _, ...plain } = before?.metadata ?? {}
    if (
      before &&
      JSON.stringify({ ...filled, metadata: { uid: key, ...metadata } }) ===
        JSON.stringify({ ...before, metadata: plain })
    )
      return
    const resourceVersion = `${++this.#version}`
    this.objects.set(key, { ...filled, metadata: { uid: key, ...metadata, resourceVersion } })
  }

  live = (kind: string, _: string, name: string) => this.seen.get(`${kind.toLowerCase()}s/${name}`)

  /** Brings the watches up to date. */
  catchUp(): void {
    this.seen = new Map(this.objects)
  }

  edit(key: string, change: (object: Stored) => object): void {
    const object = this.objects.get(key) as Stored
    this.write(key, JSON.parse(JSON.stringify(change(object))))
    this.catchUp()
  }
}

const GATEWAY: DeployedGateway = {
  name: 'web',
  namespace: 'shop',
  uid: 'u-1',
  className: 'portcullis',
  ports: [80],
  addresses: [],
}
const OPTIONS = {
  image: { registry: 'r', repository: 'proxy', tag: 'v1' },
  xdsAddress: 'https://portcullis:9978',
  xdsCa: 'certificates',
}
const ODD: ProxyParameters = { resources: { requests: { cpu: '1000m' } } }
const ALL = 6

describe('deploying a Gateway', () => {
  let api = new FakeApi()
  let deployer = new Deployer({ client: api, live: api.live })
  const deploy = (
    gateway: Partial<DeployedGateway> = {},
    parameters: readonly ProxyParameters[] = [ODD],
    options: Partial<typeof OPTIONS> = {},
  ) => deployer.deploy({ ...GATEWAY, ...gateway }, parameters, { ...OPTIONS, ...options })
  beforeEach(() => {
    api = new FakeApi()
    deployer = new Deployer({ client: api, live: api.live })
  })

  it('applies everything once, and nothing if nothing changed', async () => {
    assert.equal((await deploy()).applied.length, ALL)
    api.catchUp()
    api.requests.length = 0
    for (let count = 0; count < 10; count++) await deploy()
    assert.deepEqual(api.requests, [])
  })

  it('a new process applies at most what the server normalizes, and that once', async () => {
    await deploy()
    api.catchUp()
    const before = JSON.stringify([...api.objects])
    deployer = new Deployer({ client: api, live: api.live })
    assert.deepEqual((await deploy()).applied, ['Deployment shop/web'])
    assert.equal(JSON.stringify([...api.objects]), before, 'which changes nothing')
    assert.deepEqual((await deploy()).applied, [])
  })

  it('applies only differences', async () => {
    await deploy()
    api.catchUp()
    assert.deepEqual((await deploy({ ports: [80, 443] })).applied, ['Service shop/web'])
    api.catchUp()
    const { applied } = await deploy({ ports: [80, 443] }, [{ logging: { level: 'debug' } }])
    assert.deepEqual(applied, ['ConfigMap shop/web', 'Deployment shop/web'])
  })

  it('writes nothing again while the watches lag', async () => {
    await deploy()
    api.catchUp()
    await deploy({ ports: [81] })
    api.requests.length = 0
    for (let count = 0; count < 3; count++) await deploy({ ports: [81] })
    assert.deepEqual(api.requests, [])
  })

  it('restores changed fields, and leaves foreign fields alone', async () => {
    await deploy()
    api.catchUp()
    api.edit('services/web', ({ spec, ...rest }) => ({
      ...rest,
      spec: { ...(spec as object), ports: [] },
    }))
    assert.deepEqual((await deploy()).applied, ['Service shop/web'])
    api.catchUp()
    api.edit('deployments/web', ({ spec, ...rest }) => ({
      ...rest,
      spec: { ...(spec as object), replicas: 5 },
      status: { replicas: 5 },
    }))
    assert.deepEqual((await deploy()).applied, [])
  })

  it('never modifies a foreign object', async () => {
    api.write('services/web', { metadata: { uid: 'theirs' } } as Stored)
    api.catchUp()
    const { failures, applied } = await deploy()
    assert.match(failures.join(), /^Service shop\/web: an object with this name exists/)
    assert.equal(applied.length, ALL - 1)
    const { deleted } = await deploy({ ports: [] })
    assert.deepEqual(deleted, [])
    assert.ok(!api.requests.some((request) => request.endsWith('services/web')))
  })

  it('deletes what is no longer needed', async () => {
    const budget = { podDisruptionBudget: { spec: { minAvailable: 1 } } }
    await deploy({}, [budget])
    api.catchUp()
    const { xdsCa: _, ...plain } = OPTIONS
    const { applied, deleted } = await deployer.deploy(
      { ...GATEWAY, ports: [] },
      [{ workload: { kind: 'DaemonSet' } }],
      plain,
    )
    assert.deepEqual(applied, ['DaemonSet shop/web'])
    assert.deepEqual([...deleted].sort(), [
      'ConfigMap shop/web-xds-ca',
      'Deployment shop/web',
      'PodDisruptionBudget shop/web',
      'Service shop/web',
    ])
  })

  it('keeps an existing session key', async () => {
    await deploy()
    const key = () => api.objects.get('secrets/web-session-key')?.data?.['key']
    const first = key()
    assert.match(Buffer.from(first ?? '', 'base64').toString(), /^[0-9a-f]{64}$/)
    // Not even while the watches are late.
    await deploy({ labels: { a: 'b' } })
    assert.equal(key(), first)
    api.catchUp()
    deployer = new Deployer({ client: api, live: api.live })
    await deploy({ labels: { a: 'c' } })
    assert.equal(key(), first)
    await deploy({ name: 'other' })
    assert.notEqual(api.objects.get('secrets/other-session-key')?.data?.['key'], first)
  })

  it('continues after a failure, reports it and retries', async () => {
    api.fails = 'deployments'
    const { failures, applied } = await deploy()
    assert.deepEqual(failures, ['Deployment shop/web: deployments/web is forbidden'])
    assert.equal(applied.length, ALL - 1)
    api.catchUp()
    api.fails = undefined
    assert.deepEqual((await deploy()).applied, ['Deployment shop/web'])
  })

  it('never adopts an object that the watches do not see', async () => {
    // They see only objects that are labelled as a Gateway's.
    api.write('serviceaccounts/web', { metadata: { uid: 'theirs' } } as Stored)
    const { failures, applied } = await deploy()
    assert.match(
      failures.join(),
      /^ServiceAccount shop\/web: .* that the controller does not manage/,
    )
    assert.equal(applied.length, ALL - 1)
    assert.ok(!api.requests.includes('PATCH serviceaccounts/web'))
  })

  it('keeps a session key that the watches have not seen yet', async () => {
    await deploy()
    const key = () => api.objects.get('secrets/web-session-key')?.data?.['key']
    const first = key()
    deployer = new Deployer({ client: api, live: api.live })
    await deploy({ labels: { a: 'b' } })
    assert.equal(key(), first)
  })
})
