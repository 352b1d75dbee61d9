import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Files, routesOf, TestProxy } from '../xds/fixtures/delivery.ts'
import { loadAuthority, type SecretClient, startDelivery } from './delivery-server.ts'

interface Secret {
  metadata: { resourceVersion: string }
  data: Record<string, string>
}

/** An API server that has one Secret and accepts the tokens `NAMESPACE:ACCOUNT`. */
class FakeApi implements SecretClient {
  secret: Secret | undefined
  writes = 0
  /** Called before a write: another replica may be faster. */
  meanwhile = () => {}

  request = async (method: string, path: string, { body }: { body?: unknown } = {}) => {
    if (path.endsWith('/tokenreviews')) {
      const { spec } = body as { spec: { token: string } }
      const user = { username: `system:serviceaccount:${spec.token}` }
      const status = { authenticated: true, audiences: ['portcullis'], user }
      return { status: 201, body: { status } }
    }
    if (method === 'GET') {
      const { secret } = this
      return secret ? { status: 200, body: structuredClone(secret) } : { status: 404, body: {} }
    }
    this.meanwhile()
    this.meanwhile = () => {}
    const written = body as Secret
    const { resourceVersion = '0' } = written.metadata
    const current = this.secret?.metadata.resourceVersion ?? '0'
    if (method === 'POST' ? this.secret !== undefined : resourceVersion !== current) {
      return { status: 409, body: {} }
    }
    const data = { ...this.secret?.data, ...written.data }
    for (const [name, value] of Object.entries(data)) if (value === null) delete data[name]
    this.writes++
    this.secret = { metadata: { resourceVersion: `${this.writes}` }, data }
    return { status: 200, body: {} }
  }
}

const files = new Files()
after(() => files.remove())
const HOSTS = ['localhost']
const DAY = 24 * 60 * 60 * 1000
const YEAR = 365 * DAY

describe('the Secret of the controller', () => {
  it('is written once, by the first replica', async () => {
    const api = new FakeApi()
    let first: Promise<unknown> | undefined
    const now = Date.now()
    api.meanwhile = () => {
      const { secret } = api
      assert.equal(secret, undefined)
      first = loadAuthority(api, 'system', HOSTS, now)
    }
    const second = await loadAuthority(api, 'system', HOSTS, now)
    const { trust } = (await first) as typeof second
    const third = await loadAuthority(api, 'system', HOSTS, now)
    assert.equal(api.writes, 1)
    assert.equal(third.trust, trust)
    assert.equal(second.trust, trust)
  })

  it('changes when the authority is replaced', async () => {
    const api = new FakeApi()
    const now = Date.now()
    await loadAuthority(api, 'system', HOSTS, now)
    const both = await loadAuthority(api, 'system', HOSTS, now + 9.5 * YEAR)
    assert.equal(both.trust.split('BEGIN').length - 1, 2)
    await loadAuthority(api, 'system', HOSTS, now + 9.5 * YEAR + 2 * DAY)
    assert.deepEqual(Object.keys(api.secret?.data ?? {}).sort(), [
      'ca.crt',
      'ca.key',
      'made-by-portcullis',
      'previous.crt',
    ])
  })

  it('if unusable, stops the start with its name', async () => {
    const api = new FakeApi()
    api.secret = { metadata: { resourceVersion: '1' }, data: { 'ca.key': '' } }
    await assert.rejects(loadAuthority(api, 'system', HOSTS, Date.now()), /portcullis-xds-cert/)
    assert.equal(api.writes, 0)
  })
})

describe('delivery from a controller', () => {
  it('serves the proxy of a Gateway with its token, over TLS that the proxy trusts', async () => {
    const api = new FakeApi()
    const delivery = await startDelivery({
      client: api,
      namespace: 'localhost',
      serviceName: 'x',
      port: 0,
      host: '127.0.0.1',
      mode: 'tls',
      gatewayOf: (namespace, account) => `${namespace}/${account}`,
    })
    assert.match(delivery.address, /^https:\/\/x\.localhost\.svc:\d+$/)
    delivery.publications.publish('shop/web', routesOf('one'))
    const proxy = new TestProxy({
      // No resolver here knows names of Services.
      address: delivery.address.replace('x.localhost.svc', '127.0.0.1'),
      serverName: 'x.localhost.svc',
      caFile: files.write('ca', delivery.trust() ?? ''),
      tokenFile: files.write('token', 'shop:web'),
    })
    await proxy.until(() => proxy.routes === 'one' || proxy.lost.length > 2)
    assert.equal(proxy.routes, 'one', proxy.lost.join())
    await proxy.stop()
    await delivery.close()
  })
})
