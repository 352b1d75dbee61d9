import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  keySetText,
  signerOf,
  tokenOf,
} from '../../src/policies/jwt-authentication/fixtures/tokens.ts'
import { KnownItems } from '../../src/sources/file/known-items.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Provider, startProvider } from './providers.ts'

const SIGNER = signerOf('ES256')
const JWT = { issuer: 'https://issuer.example', audiences: ['a'], jwks: keySetText(SIGNER) }
const bearer = (claims: object) => ({
  authorization: `Bearer ${tokenOf(SIGNER, { exp: 4_000_000_000, ...claims })}`,
})

describe('routes that delegate to groups', () => {
  const backends: Provider[] = []
  let running: Deciding | undefined
  let port = 0

  before(async () => {
    port = await freePort()
    for (const name of ['one', 'two', 'three']) backends.push(await startProvider(name))
  })
  after(async () => {
    await running?.stop()
    for (const backend of backends) await backend.close()
  })

  const to = (index: number) => [{ host: `127.0.0.1:${backends[index]?.port}` }]
  const below = (pathPrefix: string, more: object = {}) => [{ path: { pathPrefix }, ...more }]
  const delegating = (routeGroup: string) => [{ routeGroup }]

  async function serve(config: object): Promise<void> {
    const text = JSON.stringify({ gateways: { default: { port } }, ...config })
    if (running === undefined) running = await startDeciding(text)
    else await running.apply(text)
  }

  /** The name of the backend that responds, or the status. */
  async function asks(path: string, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    await response.text()
    return response.headers.get('x-served-by') ?? response.status
  }

  it('match if both match; a request that no route of the group matches is not found', async () => {
    await serve({
      routes: [
        { name: 'team', matches: below('/team'), backends: delegating('team') },
        { name: 'rest', backends: to(2) },
      ],
      routeGroups: [
        {
          name: 'team',
          routes: [
            { name: 'foo', matches: below('/team/foo'), backends: to(0) },
            { name: 'bar', matches: [{ path: { exact: '/team/bar' } }], backends: to(1) },
          ],
        },
      ],
    })
    const wanted = { '/team/foo': 'one', '/team/foo/x': 'one', '/team/bar': 'two' }
    for (const [path, who] of Object.entries(wanted)) assert.equal(await asks(path), who, path)
    // Another route would serve these, but the team's route matches them first.
    for (const path of ['/team', '/team/other', '/team/bar/x', '/team/food']) {
      assert.equal(await asks(path), 404, path)
    }
    assert.equal(await asks('/teams'), 'three')
  })

  it('match headers, queries and methods of both', async () => {
    const matches = below('/team', {
      headers: [{ name: 'x-team', value: { exact: 'blue' } }],
      query: [{ name: 'env', value: { exact: 'prod' } }],
    })
    const role = { headers: [{ name: 'x-role', value: { exact: 'admin' } }] }
    await serve({
      routes: [{ name: 'team', matches, backends: delegating('team') }],
      routeGroups: [
        {
          name: 'team',
          routes: [
            { matches: below('/team/foo', role), backends: to(0) },
            { matches: below('/team/bar', { method: 'GET' }), backends: to(1) },
          ],
        },
      ],
    })
    const blue = { 'x-team': 'blue' }
    assert.equal(await asks('/team/foo?env=prod', { ...blue, 'x-role': 'admin' }), 'one')
    assert.equal(await asks('/team/bar?env=prod', blue), 'two')
    assert.equal(await asks('/team/foo?env=prod', blue), 404)
    assert.equal(await asks('/team/foo', { ...blue, 'x-role': 'admin' }), 404)
    assert.equal(await asks('/team/bar?env=prod', { 'x-team': 'red' }), 404)
  })

  it('work over several levels, and one group may serve two routes', async () => {
    const orders = { name: 'orders', matches: below('/api/orders'), backends: delegating('orders') }
    await serve({
      routes: [
        { name: 'api', matches: below('/api'), backends: delegating('api') },
        { name: 'again', hostnames: ['again.test'], backends: delegating('orders') },
      ],
      routeGroups: [
        { name: 'api', routes: [{ matches: below('/api/users'), backends: to(0) }, orders] },
        { name: 'orders', routes: [{ matches: below('/api/orders/list'), backends: to(1) }] },
      ],
    })
    assert.equal(await asks('/api/users'), 'one')
    assert.equal(await asks('/api/orders/list'), 'two')
    assert.equal(await asks('/api/orders/other'), 404)
    assert.equal(await asks('/api/orders/list', { host: 'again.test' }), 'two')
  })

  it('apply the policies of both: the inner one takes precedence, and rules of all levels apply', async () => {
    const headers = (name: string) => ({ requestHeaderModifier: { set: { 'x-from': name } } })
    const rule = (require: string) => ({ authorization: { rules: [{ require }] } })
    await serve({
      routes: [
        {
          name: 'team',
          matches: below('/team'),
          policies: { jwtAuth: JWT, ...headers('parent'), ...rule("jwt.sub == 'ann'") },
          backends: delegating('team'),
        },
      ],
      routeGroups: [
        {
          name: 'team',
          routes: [
            { matches: below('/team/foo'), backends: to(0) },
            { matches: below('/team/bar'), policies: headers('child'), backends: to(1) },
            {
              matches: below('/team/deep'),
              policies: rule("jwt.team == 'blue'"),
              backends: delegating('deep'),
            },
          ],
        },
        {
          name: 'deep',
          routes: [{ policies: rule("jwt.role == 'admin'"), backends: to(2) }],
        },
      ],
    })
    const ann = bearer({ iss: JWT.issuer, aud: 'a', sub: 'ann', team: 'blue', role: 'admin' })
    assert.equal(await asks('/team/foo'), 401)
    assert.equal(await asks('/team/other'), 401)
    assert.equal(await asks('/team/foo', ann), 'one')
    assert.equal(backends[0]?.arrived.at(-1)?.headers['x-from'], 'parent')
    assert.equal(await asks('/team/bar', ann), 'two')
    assert.equal(backends[1]?.arrived.at(-1)?.headers['x-from'], 'child')
    assert.equal(await asks('/team/deep', ann), 'three')
    for (const [name, value] of [
      ['sub', 'bob'],
      ['team', 'red'],
      ['role', 'user'],
    ] as const) {
      const claims = { iss: JWT.issuer, aud: 'a', sub: 'ann', team: 'blue', role: 'admin' }
      assert.equal(await asks('/team/deep', bearer({ ...claims, [name]: value })), 403, name)
    }
  })

  const errorsOf = (config: object) =>
    loadText(JSON.stringify({ gateways: { default: { port } }, ...config }), 'gateway.yaml', {
      environment: {},
    }).result.diagnostics.map(({ code, message, hint }) => `${code} ${message} ${hint ?? ''}`)
  const group = (name: string, ...routes: object[]) => ({ name, routes })

  for (const [what, config, pattern] of [
    [
      'an unknown group',
      {
        routes: [{ backends: delegating('x') }],
        routeGroups: [group('y', { backends: [] })],
      },
      /PC0320 unknown route group `x` available: y/,
    ],
    [
      'a group that leads back to itself',
      {
        routes: [{ backends: delegating('a') }],
        routeGroups: [
          group('a', { backends: delegating('b') }),
          group('b', { backends: delegating('a') }),
        ],
      },
      /PC0320 route group `a` delegates to itself a → b → a/,
    ],
    [
      'a route that is not below the other',
      {
        routes: [{ matches: below('/team'), backends: delegating('a') }],
        routeGroups: [group('a', { matches: below('/teams'), backends: [{ host: 'a:1' }] })],
      },
      /PC0321 this route is unreachable: its path is not below `\/team`/,
    ],
    [
      'another method',
      {
        routes: [{ matches: [{ method: 'GET' }], backends: delegating('a') }],
        routeGroups: [group('a', { matches: [{ method: 'PUT' }], backends: [{ host: 'a:1' }] })],
      },
      /PC0321/,
    ],
    [
      'a parent with an exact path',
      {
        routes: [{ matches: [{ path: { exact: '/a' } }], backends: delegating('a') }],
        routeGroups: [group('a', { backends: [{ host: 'a:1' }] })],
      },
      /PC0321 a route that delegates must match by `pathPrefix`/,
    ],
    [
      'a group beside other backends',
      {
        routes: [{ backends: [...delegating('a'), { host: 'b:1' }] }],
        routeGroups: [group('a', { backends: [{ host: 'a:1' }] })],
      },
      /PC02/,
    ],
    [
      'a group that nobody names',
      { routes: [{ backends: [{ host: 'a:1' }] }], routeGroups: [group('a', { backends: [] })] },
      /PC0322 no route delegates to route group `a`/,
    ],
    [
      'hostnames of a child',
      {
        routes: [{ backends: delegating('a') }],
        routeGroups: [group('a', { hostnames: ['x.test'], backends: [{ host: 'a:1' }] })],
      },
      /PC0210 unknown field `hostnames`/,
    ],
    [
      'a group at a TCP route',
      { tcpRoutes: [{ backends: delegating('a') }] },
      /PC0219 `routeGroup` is not supported/,
    ],
  ] as const) {
    it(`${what} is reported`, () => {
      const all = errorsOf(config)
      assert.ok(
        all.some((one) => pattern.test(one)),
        all.join('\n'),
      )
    })
  }

  it('a change of the group takes effect, although the route is unchanged', () => {
    const known = new KnownItems()
    const hostOf = (own: string) => {
      const text = `gateways:\n  default: { port: ${port} }\nroutes:\n- name: a\n  backends: [{ routeGroup: g }]\nrouteGroups:\n- name: g\n  routes:\n  - backends: [{ host: ${own} }]\n`
      const { value } = loadText(text, 'gateway.yaml', { environment: {}, known }).result
      const [backend] = value?.backends ?? []
      return backend?.kind === 'host' ? JSON.stringify(backend.endpoints) : undefined
    }
    assert.match(hostOf('first:80') ?? '', /first/)
    assert.match(hostOf('second:80') ?? '', /second/)
  })
})
